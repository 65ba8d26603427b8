// A course of twenty, s0 to s19, whose work is graded by labgen grade as it is
// run, for tests: the lab that ships, with another roster. Everything aborts the
// test when it cannot do its part.
#ifndef TESTS_LIB_EXAM_H
#define TESTS_LIB_EXAM_H

#include <jansson.h>
#include <stdbool.h>

#include "labgen/base/buf.h"
#include "labgen/lab/tree.h"
#include "labgen/repo/course.h"

// All owned; there is one at a time. `cache` of kernels outlives it.
struct exam {
  char *dir;                   // a new folder; the others but two are below
  char *lab, *work, *results;  // lab file, submissions, results
  char *program, *cache;
  struct course course;
};
extern struct exam exam;

void exam_set_up(void);
void exam_tear_down(void);

// Writes a file below the folder of submissions.
void exam_put(const char *name, const char *text);

// Hands in a tree of the course as a student's.
void exam_hand_in(const char *student, const struct tree *tree);

// Replaces the first `old` in a student's file.
void exam_change(const char *student, const char *file, const char *old,
                 const char *new);

// Hands in the reference with `before` in front of its kalloc(), and `inside`
// at the beginning of it.
void exam_hand_in_changed(const char *student, const char *before,
                          const char *inside);

struct ran {
  int status;
  struct buf text;  // both outputs
};

// Runs labgen grade with options (NULL ends them). `env` is the whole
// environment, or NULL.
struct ran exam_run_with(const char *const *env, const char *const *options);
#define EXAM_RUN_WITH(env, ...) \
  exam_run_with(env, (const char *const[]){__VA_ARGS__, NULL})

// Runs it and expects an exit status, and `part` (NULL: anything) in its words.
void exam_run_expecting(int status, const char *const *env, const char *part,
                        const char *const *options);
#define EXAM_RUN(status, ...)            \
  exam_run_expecting(status, NULL, NULL, \
                     (const char *const[]){__VA_ARGS__, NULL})

// A path in the results of a run with --only; "" is the class. Caller's.
char *exam_place(const char *student, const char *name);
char *exam_read(const char *student, const char *name);  // caller's

// A student's result.json; the caller's.
json_t *exam_result(const char *student);
const char *exam_verdict(const json_t *record, const char *check);

// These expect, and say what is there.
void exam_expect_verdict(const char *student, const char *check,
                         const char *verdict);
void exam_expect_text(const char *student, const char *file, const char *part,
                      bool there);

#endif
