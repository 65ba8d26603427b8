// What a program that runs a stranger's code gives up before it does.
#ifndef LABGEN_EXPLORE_CONFINE_H
#define LABGEN_EXPLORE_CONFINE_H

#include "labgen/base/error.h"

// From here on this process cannot start another, run another program, trace one
// or open a connection: such calls fail with EPERM, and calls in another
// instruction set's way end it. It cannot be undone. LG_EHARNESS where the
// kernel has no filters (seccomp(2)).
int confine(struct error *err);

#endif
