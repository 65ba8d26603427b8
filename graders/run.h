// A run of the grader over many submissions, into one results folder, where
// nothing is ever lost: each student's folder appears whole, and a result that
// was judged stays until another one is.
#ifndef GRADERS_RUN_H
#define GRADERS_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "graders/check.h"
#include "graders/class.h"
#include "graders/intake.h"
#include "labgen/base/error.h"
#include "labgen/repo/course.h"

struct run_spec {
  struct course *course;
  const struct rubric *rubric;
  const struct rubric *whole;  // all checks of the lab, for the clinic
  const char *results;
  const char *cache;         // of kernels; NULL: in the results folder
  const char *const *paths;  // of submissions
  size_t path_count;
  const char *const *students;  // ids; none: all
  size_t student_count;
  int jobs;
  enum effort effort;
  bool again, sandbox;
  struct texts formats;  // none: all
  // Each may be NULL. `item` counts the submissions that are graded, from 0.
  void (*on_total)(void *arg, size_t total);
  void (*on_begin)(void *arg, size_t item, const char *student);
  void (*on_doing)(void *arg, size_t item, const char *doing);
  void (*on_end)(void *arg, size_t item, const char *student,
                 const char *outcome, bool good);
  void (*on_tick)(void *arg);
  void *arg;
};

struct run_result {
  struct intake intake;
  struct class_counts counts;  // of all that is in the results folder
  // Of the students of this run:
  size_t graded, unchanged, refused, not_judged, lost, kept;
};

// Finds whose is what, and nothing more. `scratch` is a folder for archives of
// a class.
int run_look(const struct run_spec *spec, const char *scratch,
             struct run_result *ret, struct error *err);

// Grades what is not graded yet, and writes all reports. A fault of one
// submission is in its result; errors are those of the whole run: LG_EREFUSED
// when another run has the folder, LG_EINPUT, LG_EHARNESS, LG_EIO, LG_EBUILD.
int run_grade(const struct run_spec *spec, struct run_result *ret,
              struct error *err);

// Safe on a zeroed struct.
void run_release(struct run_result *r);

#endif
