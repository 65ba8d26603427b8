// What students may have of a lab: the tree that they start from, what a
// submission may change, and the visible checks. Never a solution, a bug, a
// hidden check, the roster or the secret.
#ifndef GRADERS_PUBLIC_H
#define GRADERS_PUBLIC_H

#include "graders/check.h"
#include "labgen/base/error.h"
#include "labgen/lab/labfile.h"
#include "labgen/lab/tree.h"
#include "labgen/repo/course.h"

// Where it lies in a students' data folder.
#define PUBLIC_FILE "templates/public/lab.yaml"
#define PUBLIC_START "templates/public/start"

// The part of it that is in PUBLIC_FILE.
struct public_facts {
  struct place at;
  const char *id, *title;
  struct lab_machine machine;
  struct lab_submission submission;
  struct rubric rubric;  // visible checks only
};

struct public_lab {
  struct public_facts facts;
  struct tree start;
  struct arena arena;    // holds the facts, or
  struct course course;  // ... this does
};

extern const struct schema public_schema;

// Finds the lab: `lab_file` unless it is NULL; else the students' data folder;
// else the lab file of labgen's own data. LG_EINPUT, LG_ENOTFOUND, LG_EREFUSED,
// LG_EIO. *ret is untouched on failure.
int public_find(const char *lab_file, struct public_lab *ret,
                struct error *err);

// Safe on a zeroed struct.
void public_release(struct public_lab *p);

// Writes a students' data folder: with LABGEN_DATA naming it, `labgen pregrade`,
// `explore` and `doctor` work, and nothing else does. Files that are there
// already are written over. LG_ENOTFOUND, LG_EIO.
int public_write(const struct public_lab *p, const char *folder,
                 struct error *err);

#endif
