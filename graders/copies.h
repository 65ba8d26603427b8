// The clinic's kernels of a whole class, held against each other: every
// student's is written in its own words, so no two repaired ones are the same.
#ifndef GRADERS_COPIES_H
#define GRADERS_COPIES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "labgen/lab/roster.h"

struct copies {
  struct copy *kernels;  // owned; sorted by hash
  size_t count, room;
  bool clinic;  // any record has the clinic, judged or not
  long max;     // the most that any record is worth; 0: nothing was judged
};

// Goes through the records of all students below `results`. The roster is
// borrowed.
void copies_read(const char *results, const struct roster *roster,
                 struct copies *ret);

// A line for each kernel of the student's that another student handed in too,
// byte for byte; the caller's. Kernels that nobody changed do not count.
json_t *copies_of(const struct copies *c, const struct student *student);

// Safe on a zeroed struct.
void copies_release(struct copies *c);

#endif
