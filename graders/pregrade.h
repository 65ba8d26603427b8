// A student's own tree, held to the visible checks: the same gathering and the
// same judges as when staff grade it, with nothing that a student must not have.
#ifndef GRADERS_PREGRADE_H
#define GRADERS_PREGRADE_H

#include <stdbool.h>
#include <stddef.h>

#include "graders/check.h"
#include "graders/public.h"

struct pregrade_spec {
  const struct public_lab *lab;
  const char *dir;  // the student's working tree
  enum effort effort;
  // As in struct gather_spec.
  void (*on_progress)(void *arg, const char *doing);
  // Called when the explorer is through, with what it ran and found, or why it
  // did not.
  void (*on_explored)(void *arg, const char *words);
  // Called once for each check, as soon as it is certain what comes of it;
  // `clinic` as below. May be NULL.
  void (*on_check)(void *arg, const struct check_result *result, bool clinic);
  // Called at the end for each check of which more was seen by then; `lines` are
  // those that were not told with it.
  void (*on_more)(void *arg, const struct check_result *result,
                  const char *lines);
  void *arg;
};

struct pregrade_result {
  // A branch of the clinic: only what the test programs show is judged.
  bool clinic;
  struct buf notes;  // a line each: what was not used, and why
  struct evidence evidence;
  struct check_result *results;  // owned; those that are judged here
  size_t count;
};

// Judges the tree. A submission that does not compile or hangs is a result and
// no error. LG_EREFUSED when a file that is handed in is not in the tree;
// LG_EHARNESS when the course's own tree cannot be compiled here; LG_EIO. *ret
// is the caller's (pregrade_release()), and untouched on failure.
int pregrade(const struct pregrade_spec *spec, struct pregrade_result *ret,
             struct error *err);

// Safe on a zeroed struct.
void pregrade_release(struct pregrade_result *r);

// Reads the student's files of the lab into *ret: those of the start, and those
// that a submission may bring. Adds a line to *ret_notes for each file of the
// start that is not there. LG_EIO.
int pregrade_read(const struct public_lab *lab, const char *dir,
                  struct tree *ret, struct buf *ret_notes, struct error *err);

// Opens the course's tree, compiled, in the user's own cache
// ($XDG_CACHE_HOME/labgen, or ~/.cache/labgen). LG_EHARNESS, LG_EIO.
int pregrade_stock(const struct public_lab *lab, struct stock *ret,
                   struct error *err);

#endif
