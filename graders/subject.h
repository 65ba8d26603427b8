// What the grader is proved on: the start, the reference, other designs, and
// every bug of the catalogue, each with the checks that it must fail.
#ifndef GRADERS_SUBJECT_H
#define GRADERS_SUBJECT_H

#include <stddef.h>

#include "graders/check.h"
#include "labgen/lab/schema.h"
#include "labgen/lab/tree.h"
#include "labgen/repo/course.h"

// Kinds of subjects: number, name.
#define SUBJECT_KINDS(X)            \
  X(SUBJECT_START, "start")         \
  X(SUBJECT_REFERENCE, "reference") \
  X(SUBJECT_CORRECT, "correct")     \
  X(SUBJECT_WASTEFUL, "wasteful")   \
  X(SUBJECT_BUG, "bug")

enum subject_kind {
#define SUBJECT_NUMBER(number, name) number,
  SUBJECT_KINDS(SUBJECT_NUMBER)
#undef SUBJECT_NUMBER
};

const char *subject_kind_name(enum subject_kind kind);  // borrowed

struct subject {
  struct place at;  // its file; no path: the reference
  const char *id, *title;
  enum subject_kind kind;
  struct tree tree;              // as a student would hand it in
  struct texts fails;            // checks that it must fail, and no others
  struct explore_claim explore;  // what the explorer must say of it
};

struct subjects {
  struct arena arena;
  struct subject *items;  // owned
  size_t count, room;
};

// Makes all of them, in the order of the kinds. The rubric has a folder of
// designs, ID.yaml files (schema: design_schema), and what the start must fail
// and the explorer must note of it; its texts are borrowed. Bugs take the first
// value of each parameter. LG_EINPUT, LG_ENOTFOUND, LG_EIO.
int subjects_make(const struct course *course, const struct rubric *rubric,
                  struct subjects *ret, struct error *err);

// Safe on a zeroed struct.
void subjects_release(struct subjects *s);

extern const struct schema design_schema;

#endif
