// What a kernel that hangs is waiting for: gdb looks at the stacks of all harts.
#ifndef GRADERS_HANG_H
#define GRADERS_HANG_H

#include <stdbool.h>

#include "labgen/base/buf.h"

// Appends to *ret, for people: one sentence on who holds what and waits for
// what, every hart's stack with functions and lines, the harts' noff and
// intena, and the processes. `socket` is the running QEMU's gdb socket. The
// kernel is a stranger's, so gdb runs in a sandbox (labgen/run/sandbox.h) if
// `sandbox` says so. Where gdb cannot be run or says nothing, the text says so:
// a report that is missing costs nobody anything. The text holds bytes of the
// guest: hostile. Takes about half a second, and 10 at most.
void hang_report(const char *kernel, const char *socket, bool sandbox,
                 struct buf *ret);

#endif
