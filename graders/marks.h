// From verdicts to marks: what staff decided otherwise, how late it was, and
// what a student may see yet.
#ifndef GRADERS_MARKS_H
#define GRADERS_MARKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "graders/check.h"
#include "labgen/lab/labfile.h"
#include "labgen/lab/roster.h"

// A decision of staff. `check` is a check's id, or "total".
struct override {
  struct place at;
  const char *student, *check;
  long marks;
  const char *reason;
};

extern const struct schema override_schema;

// Reads overrides.yaml, a list; a file that is not there is an empty list.
// LG_EINPUT with all errors: students, checks that do not exist, and more marks
// than a check has.
int overrides_read(const char *path, const struct rubric *rubric,
                   const struct roster *roster, struct arena *arena,
                   struct list *ret, struct error *err);

struct marks_spec {
  const struct rubric *rubric;
  const struct lab_dates *dates;
  const struct list *overrides;
  int64_t now_s;  // seconds since 1970
  long max;       // of a student of whom nothing was judged
};

// What the marks come to. Hidden checks count, and show no more than that.
struct marks {
  long total, max;
  long off;           // taken off for lateness; in `total` already
  long days_late;     // begun days after the deadline; -1: not known
  bool late_unknown;  // the platform calls it late, and nothing says how late
  bool too_late;      // more than the late days
  bool overridden;
};

// The most that there is to be had for the lab, without the clinic.
long marks_max(const struct rubric *rubric);

// Whether a check's detail may be shown to the student now: it is visible, or
// the deadline and all late days are over.
bool marks_shown(const struct marks_spec *spec, const struct check *check);

// Adds "final" to a record, with the marks of each check and the total after
// overrides and what lateness takes off, unless staff decided the total;
// replaces what was there. *ret says the same.
void marks_finish(const struct marks_spec *spec, json_t *record,
                  struct marks *ret);

#endif
