// The step from a struct child_spec to a running process; for child.c alone.
#ifndef LABGEN_RUN_SPAWN_H
#define LABGEN_RUN_SPAWN_H

#include "labgen/run/child.h"

struct spawned {
  pid_t pid;  // also its process group and session
  int pidfd;
  int in, out, err;  // our ends, non-blocking; err is -1 when merged
};

// Starts the process; LG_EHARNESS when that fails, and then nothing is left.
int spawn(const struct child_spec *spec, struct spawned *ret_spawned,
          struct error *err);

#endif
