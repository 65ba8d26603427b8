// What one student gets: the commits of the lab repository and of the clinic,
// and the key to the latter.
#ifndef LABGEN_REPO_STUDENT_H
#define LABGEN_REPO_STUDENT_H

#include <stddef.h>

#include "labgen/lab/assign.h"
#include "labgen/repo/course.h"
#include "labgen/repo/repo.h"
#include "labgen/repo/source.h"

#define ANSWERS_FILE "answers.yaml"

// One branch of the clinic.
struct clinic_branch {
  struct assignment assignment;
  char *name;  // owned; "clinic-1"
  struct tree tree;
  struct object_id commit;
  const char *file;  // of the tree, where the bug is; borrowed
  char *function;    // owned; as it is called in this tree, or NULL
  char **functions;  // owned, each too; all that differ
  size_t function_count;
  struct changed_lines *lines;  // owned; where the tree differs from its own
  size_t line_count;            // rendering without the bug
};

struct student_work {
  const struct student *student;  // borrowed
  // The lab: the commit with the student's handout, then the corrections.
  struct object_id *starts;  // owned
  size_t start_count;
  struct tree lab_tree;          // of the newest
  struct clinic_branch *clinic;  // owned
  size_t clinic_count;
};

// Makes both, putting objects into course->objects; the caller rolls them back
// (objects_mark()) when the repositories are written. LG_EINPUT when a bug does
// not apply, LG_EHARNESS.
int student_make(struct course *course, const struct student *student,
                 struct student_work *ret, struct error *err);

void student_release(struct student_work *w);

// The repositories of a student. The caller frees plan->branches.
void student_lab_plan(const struct course *course, const struct student_work *w,
                      struct repo_plan *ret);
void student_clinic_plan(const struct student_work *w, struct repo_plan *ret);

// Whether two students would be given the same bugs, in whatever order.
bool student_same_bugs(const struct course *course, const struct student *a,
                       const struct student *b);

#endif
