// Everything below the output folder, from a course in memory.
#ifndef LABGEN_REPO_BUILD_H
#define LABGEN_REPO_BUILD_H

#include <stdbool.h>
#include <stddef.h>

#include "labgen/base/error.h"
#include "labgen/repo/course.h"

// How far a build has got.
struct build_counts {
  size_t trees, trees_total;      // repositories looked at, and to look at
  size_t kernels, kernels_total;  // kernels that are settled, and in all
  size_t made, current, replaced, kept;  // what became of repositories
  size_t compiled, failed;               // kernels
};

struct build_options {
  const char *out;
  // Ids of the students to build for, each in the roster; none: all.
  const char *const *students;
  size_t student_count;
  bool lab, clinic;  // which repositories
  bool kernels;      // and whether their kernels are made
  bool archives;     // and a tar of each repository
  int jobs;          // compilations at once
  // Called as things happen; may be NULL. `counts` is borrowed.
  void (*on_progress)(void *arg, const struct build_counts *counts);
  // A kernel that does not compile: whose, and the compiler's words.
  void (*on_failed)(void *arg, const char *label, const char *words);
  // A folder that is not what it should be and was left alone.
  void (*on_kept)(void *arg, const char *path);
  void *arg;
};

// Makes what is missing and leaves what is there: the instructor's repository,
// students/ID, clinic/ID, keys/ID.json, kernels/KEY, archives and
// manifest.json. Kernels that do not compile are counted, not errors. A folder
// that somebody worked in is never written to. LG_EREFUSED when another process
// has the folder, LG_EINPUT when a bug does not apply, LG_EIO, LG_EHARNESS.
int build_run(struct course *course, const struct build_options *options,
              struct build_counts *ret, struct error *err);

// How many students have the same bugs as the one before or after them in the
// roster.
size_t build_coincidences(const struct course *course);

#endif
