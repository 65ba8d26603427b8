// What the explorer must say of a subject, held against what it said.
#ifndef GRADERS_CLAIM_H
#define GRADERS_CLAIM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "graders/evidence.h"
#include "graders/explore/story.h"
#include "graders/subject.h"
#include "labgen/base/buf.h"

struct said {
  enum ex_kind kind;
  bool note;
  char *text;  // owned; a line
};

// Of one exploration.
struct explore_said {
  bool explored;     // as far as its bound; else nothing is known
  char *refused;     // owned; why the file cannot be explored at all, or NULL
  struct said *all;  // owned; each kind once, as finding and as note
  size_t count, room;
};

// Take from evidence, and from an exploration that was not cut off. The caller
// owns what comes (said_release()).
struct explore_said said_of_evidence(const struct evidence *e);
struct explore_said said_of_stories(const struct stories *s);
// Safe on a zeroed struct.
void said_release(struct explore_said *s);

// As JSON, and back: false, with *ret untouched, when it is something else. The
// caller owns both.
json_t *said_write(const struct explore_said *s);
bool said_read(const json_t *from, struct explore_said *ret);

// How many of the runs were explored, and how many of these said it.
int said_explored(const struct explore_said *const *runs, int count);
int said_count(const struct explore_said *const *runs, int count,
               enum ex_kind kind, bool note);
// Whether the subject's declaration has it.
bool said_is_claimed(const struct subject *s, enum ex_kind kind, bool note);

// Appends a line for each finding or note that some run has and the subject
// does not declare, for each that it declares and some run does not have, and
// for each name in the declaration that the explorer does not know; returns how
// many. Runs that were not explored count for nothing.
size_t claim_differences(const struct subject *s,
                         const struct explore_said *const *runs, int count,
                         struct buf *ret);

#endif
