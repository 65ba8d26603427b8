// Reports on a whole class, made from the records of its students: each record
// is read, put into all reports, and forgotten, so that a thousand students need
// no more memory than their reports.
#ifndef GRADERS_CLASS_H
#define GRADERS_CLASS_H

#include <jansson.h>

#include "graders/copies.h"
#include "graders/intake.h"
#include "graders/marks.h"
#include "graders/record.h"
#include "labgen/base/buf.h"
#include "labgen/base/error.h"
#include "labgen/lab/roster.h"
#include "labgen/repo/publish.h"

struct class_spec {
  const char *title;        // of the lab
  const char *id;           // of the lab
  const char *results;      // folder with one of each student's id
  struct publish *publish;  // that has the folder
  const struct rubric *rubric;
  const struct roster *roster;
  const struct intake *intake;  // for what is nobody's; NULL: none
  struct marks_spec marks;
  const json_t *start, *reference;  // evidence of these, or NULL
};

// One student in a report.
struct class_student {
  const struct student *student;
  enum record_state state;
  const json_t *record, *evidence;  // NULL where there is none
  struct marks marks;
};

// What a run comes to.
struct class_counts {
  size_t judged, full, refused, not_judged, missing, nobodys;
  size_t look;  // judged, and something for a person to look at
};

// How often each check was lost, and the marks that it cost, over all judged.
struct class_check {
  size_t lost, not_reached;
  long marks;
};

// A report being made.
struct class_report {
  const struct class_spec *spec;
  const struct copies *copies;
  struct buf text, more;  // `more` is for what comes after, as a form likes
  struct class_counts counts;
  struct class_check *checks;  // for each of the rubric
  size_t *histogram;           // judged students by tenths of the marks; 11
};

// A form of report on all students: name for --format, file in the results
// folder, and what writes it. begin() and end() may be NULL; counts are complete
// only at end().
struct class_form {
  const char *name, *file;
  void (*begin)(struct class_report *r);
  void (*add)(struct class_report *r, const struct class_student *s);
  void (*end)(struct class_report *r);
};

extern const struct class_form class_csv, class_canvas, class_moodle,
    class_junit, class_html;

// A form of file in each student's folder.
struct student_form {
  const char *name, *file;
  void (*write)(const struct class_spec *spec, const struct class_student *s,
                struct buf *ret);
};

extern const struct student_form student_feedback, student_gradescope;

// Whether --format knows a name, or all names, separated by ", ".
bool class_knows_format(const char *name);
void class_format_names(struct buf *ret);

// Writes all reports of the named forms (NULL: all), and brings "final" in every
// result.json up to date. Files whose bytes do not change are left alone; others
// appear whole, many after one sync.
// LG_EIO, LG_EHARNESS.
int class_write(const struct class_spec *spec, const struct texts *formats,
                struct class_counts *ret, struct error *err);

// For the forms: the verdict and evidence of a check in a record; NULL where it
// has none.
const json_t *class_check_of(const json_t *record, const char *check);

// The marks of a check after overrides, and the reason of one or NULL.
long class_marks_of(const json_t *record, const struct check *check,
                    const char **ret_reason);

// What a person must look at, in words, separated by "; "; nothing for nothing.
void class_flags(const struct class_student *s, struct buf *ret);

#endif
