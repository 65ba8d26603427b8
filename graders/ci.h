// Results in the forms that continuous integration services show.
#ifndef GRADERS_CI_H
#define GRADERS_CI_H

#include "graders/check.h"

struct ci_results {
  const char *suite;  // the lab's id
  const char *file;   // the student's file, for what names no other
  const struct evidence *evidence;
  const struct check_result *results;
  size_t count;
};

// JUnit XML, as GitLab's and most others' readers take it: one test case for
// each check; a check that was not judged is an error, one that was not reached
// is skipped. Format: docs.gitlab.com, "Unit test reports".
void ci_junit(const struct ci_results *r, struct buf *ret);

// Workflow commands of GitHub Actions, a line for each place that a failed check
// names. Format: docs.github.com, "Workflow commands".
void ci_github(const struct ci_results *r, struct buf *ret);

// GitLab's Code Quality report, JSON: the same places.
// Format: docs.gitlab.com, "Code Quality report format".
void ci_gitlab(const struct ci_results *r, struct buf *ret);

#endif
