// Running a command where it can do no harm: by bubblewrap, in namespaces of
// its own, without network, seeing only what it is shown.
#ifndef LABGEN_RUN_SANDBOX_H
#define LABGEN_RUN_SANDBOX_H

#include <stdbool.h>

#include "labgen/base/error.h"
#include "labgen/run/argv.h"

// What the command sees, under the same names as outside; paths are absolute.
// Besides: the programs and libraries of the system (/usr, and what belongs to
// it), read-only; an empty /tmp of 256 MiB; its own /proc; the harmless devices.
// Memory, CPU time and the size of files are bounded by struct child_limits.
struct sandbox {
  bool off;                      // no sandbox, because the user said so
  const char *const *read_only;  // files and folders, ends with NULL; or NULL
  const char *writable;          // one folder, or NULL
  const char *dir;  // where it starts; NULL: the writable folder, or /
};

// Adds to *ret_argv what runs `argv` in the sandbox, or, with the sandbox off,
// `argv` itself. To be started by child_start(), which cuts it off from the
// terminal. TERM ends bubblewrap, and that kills the command at once: set
// `ignore_term` when the command is to end by itself on TERM.
void sandbox_argv(const struct sandbox *sandbox, const char *const *argv,
                  struct argv *ret_argv);

// Whether sandboxes work here. LG_EHARNESS with what to do about it when not:
// bubblewrap is missing, or user namespaces are forbidden, as in many
// containers.
int sandbox_check(struct error *err);

#endif
