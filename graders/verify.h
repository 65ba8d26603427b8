// Proof that the grader works on this machine: every subject is graded again
// and again, and what comes of it is held against what it must fail.
#ifndef GRADERS_VERIFY_H
#define GRADERS_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graders/check.h"
#include "graders/claim.h"
#include "graders/subject.h"
#include "labgen/base/buf.h"
#include "labgen/base/error.h"

// One grading of one subject.
struct trial {
  enum verdict *verdicts;  // owned; for each check of the rubric
  char **texts;            // owned; what the check said
  double *measured;        // owned; for each limit of the rubric, -1: none
  struct explore_said said;
  long marks;
  double plain_cpu_s, watched_cpu_s;
  int64_t wall_ms;
  int64_t named_ms;  // until the first check failed; 0: none did
};

struct verify_spec {
  const struct course *course;
  const struct rubric *rubric;
  const struct subjects *subjects;
  const char *cache;    // of kernels
  const char *results;  // folder; a trial that is there is not made again
  int boots;            // trials of each subject
  int jobs;             // trials at once
  bool keep_unjudged;   // a trial with a check that was not judged is not made
                        // again
  enum effort effort;
  const char *const *only;  // subjects' ids, ends with NULL; NULL: all
  // Called for each trial that is there, with counts of all.
  void (*on_trial)(void *arg, const char *subject, size_t done, size_t total);
  void *arg;
};

struct verify_result {
  const struct rubric *rubric;
  const struct subjects *subjects;
  struct trial *
      *trials;  // [subject][0 .. boots); NULL: the subject was left out
  int boots;
};

// Makes all trials that are not in the results folder yet. Killed at any point,
// the next run goes on from there. LG_EHARNESS, LG_EIO, LG_EBUILD when the start
// does not compile.
int verify_run(const struct verify_spec *spec, struct verify_result *ret,
               struct error *err);

// Safe on a zeroed struct.
void verify_release(struct verify_result *v);

// How often a check had a verdict in a subject's trials.
int verify_count(const struct verify_result *v, size_t subject, size_t check,
                 enum verdict verdict);

// Whether a subject must fail a check.
bool verify_must_fail(const struct verify_result *v, size_t subject,
                      size_t check);

// How many of a subject's trials have a check that was not judged. Their marks
// say nothing.
int verify_unjudged(const struct verify_result *v, size_t subject);

// Appends a line for each thing that is not as declared, of the checks and of
// what the explorer says, and returns how many.
size_t verify_differences(const struct verify_result *v, struct buf *ret);

// The kill matrix, the spread of each count with its margins, and the
// differences: as text, as one HTML page, and as JSON.
void verify_text(const struct verify_result *v, struct buf *ret);
void verify_html(const struct verify_result *v, struct buf *ret);
void verify_json(const struct verify_result *v, struct buf *ret);

#endif
