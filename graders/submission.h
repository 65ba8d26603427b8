// One student's submission, read into memory: the lab's tree, the clinic's
// trees, and what the repository says of its history.
#ifndef GRADERS_SUBMISSION_H
#define GRADERS_SUBMISSION_H

#include <stdbool.h>
#include <stddef.h>

#include "graders/intake.h"
#include "labgen/base/buf.h"
#include "labgen/base/error.h"
#include "labgen/lab/tree.h"
#include "labgen/repo/course.h"
#include "labgen/repo/foreign.h"

// A branch of the clinic, as it came back.
struct submission_branch {
  size_t number;  // from 1
  struct tree tree;
};

struct submission {
  struct tree tree;  // no files where only clinic branches came
  // From a repository:
  bool repository;
  char *branch;  // owned; "" when no branch is checked out. Hostile
  struct object_id commit;
  struct foreign_history history;
  struct submission_branch *clinic;  // owned
  size_t clinic_count;
  struct when handed_in;  // by the platform; else the newest commit's time
  bool late;              // the platform says so
  struct buf notes;       // a line each; hostile
};

struct submission_spec {
  const struct intake *intake;
  const struct intake_claim *claim;
  struct course *course;
  const char *scratch;  // an empty folder for unpacking, the caller's to remove
};

// Reads what a student is graded on. Nothing in it is run or followed.
// LG_EREFUSED with the reason when it must not or cannot be read; LG_EIO,
// LG_EHARNESS. A hostile repository can make this process use much memory and
// time; the caller bounds both. *ret is untouched on failure.
int submission_read(const struct submission_spec *spec, struct submission *ret,
                    struct error *err);

// Safe on a zeroed struct.
void submission_release(struct submission *s);

#endif
