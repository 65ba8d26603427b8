// A student's answers.yaml: what is wrong with a kernel of the clinic.
#ifndef GRADERS_ANSWERS_H
#define GRADERS_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>

#include "labgen/base/buf.h"
#include "labgen/lab/arena.h"
#include "labgen/lab/bug.h"

// A file that is larger is not read.
#define ANSWERS_MAX_BYTES (16u << 10)

struct answers {
  struct arena arena;              // owns the texts, which are hostile
  const char *class_id;            // one of the closed list; NULL: none
  const char *function;            // without "()"; NULL: none
  long line;                       // 0: none
  const char *explanation, *seen;  // "" where there is none
};

// Reads the bytes of a file called answers.yaml. What is wrong is a line each in
// *ret_problems, "answers.yaml:LINE:COLUMN: ...", and is hostile; what else the
// file says counts all the same. `classes` is the closed list; with NULL, any
// name is one. *ret is released first and the caller's in any case
// (answers_release()).
void answers_read(const char *bytes, size_t len,
                  const struct bug_class *classes, size_t class_count,
                  struct answers *ret, struct buf *ret_problems);

// Whether a text says anything: it is not blank.
bool answers_says(const char *text);

// Safe on a zeroed struct.
void answers_release(struct answers *a);

#endif
