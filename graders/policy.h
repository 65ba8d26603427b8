// What a submission changed, against what was handed out, and which of it is
// used.
#ifndef GRADERS_POLICY_H
#define GRADERS_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "graders/submission.h"
#include "labgen/base/buf.h"
#include "labgen/base/error.h"
#include "labgen/repo/course.h"

// How a file differs, and how much of it is used: number, words.
#define POLICY_CHANGES(X)      \
  X(POLICY_CHANGED, "changed") \
  X(POLICY_ADDED, "added")     \
  X(POLICY_REMOVED, "not there")
#define POLICY_USES(X)                                       \
  X(POLICY_USED, "used")                                     \
  X(POLICY_PARTS_USED, "only its permitted parts were used") \
  X(POLICY_NOT_USED, "not used")

enum policy_change {
#define POLICY_NUMBER(number, words) number,
  POLICY_CHANGES(POLICY_NUMBER)
};
enum policy_use {
  POLICY_USES(POLICY_NUMBER)
#undef POLICY_NUMBER
};

const char *policy_change_words(enum policy_change change);  // borrowed
const char *policy_use_words(enum policy_use use);           // borrowed

struct policy_file {
  char *path;  // owned; hostile
  enum policy_change change;
  enum policy_use use;
  struct buf parts;  // "kfree() changed, steal() added"; hostile
};

struct policy {
  size_t start;     // of course->chain, that it was held against
  bool by_history;  // the submission contains it; else it is the nearest
  struct policy_file *files;  // in the order of paths
  size_t count, room;
};

// Holds a submission's tree against the newest start that its history contains,
// or else the released start with the fewest differing files (the newest of
// these). Line ends do not count, nor does the handout. LG_EINPUT never: what
// cannot be taken apart is reported as a whole.
void policy_compare(const struct course *course, const struct submission *s,
                    struct policy *ret);

// Holds a tree against the one that was handed out, in the same way: for the
// clinic, where that is not a start. `start` and `by_history` say nothing.
void policy_compare_trees(const struct course *course, const struct tree *was,
                          const struct tree *is, struct policy *ret);

// Adds a line to *ret for each changed file that was not used, or not wholly,
// and that holds a name which the compiler's words are about.
void policy_explain(const struct policy *p, const struct tree *student,
                    const struct tree *course, const char *compiler_words,
                    struct buf *ret);

// Safe on a zeroed struct.
void policy_release(struct policy *p);

#endif
