// Grades one student's submission: reads it, builds and boots it, judges it, and
// writes the folder of results that belongs to the student.
#ifndef GRADERS_GRADE_H
#define GRADERS_GRADE_H

#include <jansson.h>
#include <stdbool.h>

#include "graders/check.h"
#include "graders/intake.h"
#include "graders/stock.h"
#include "labgen/base/error.h"
#include "labgen/repo/course.h"

// What all submissions of a run share; all borrowed.
struct grader {
  struct course *course;
  const struct rubric *rubric;
  const struct rubric *whole;  // all checks of the lab, for the clinic
  const struct stock *stock;   // NULL: nothing is built (--dry-run)
  const struct intake *intake;
  const char *results;  // folder with one of each student's id
  const char *tool;     // names this program
  enum effort effort;
  bool plain, watched, explore;       // sources of evidence that checks ask for
  double plain_cpu_s, watched_cpu_s;  // of the start kernel's boots
  bool again;                         // grade what is unchanged, too
  void (*on_progress)(void *arg, const char *doing);
  void *arg;
};

// What has become of a submission; also the status of a worker's process.
enum grade_outcome {
  GRADE_DONE,       // the folder was written
  GRADE_UNCHANGED,  // the result that is there is of the same submission
  GRADE_NEEDED,     // grade_look() alone: it must be graded
  GRADE_FAILED,     // an error; see it
};

// Reads a submission, with this process's memory and CPU time bounded
// meanwhile, and finds out whether it was graded before. Where it must not be
// read, or lacks its file, the folder of results says so: GRADE_DONE. `scratch`
// is a folder for unpacking, which the caller removes.
enum grade_outcome grade_look(const struct grader *g,
                              const struct intake_claim *claim,
                              const char *folder, const char *scratch,
                              struct error *err);

// As grade_look(), and grades it: `folder` is made and then holds result.json,
// evidence.json and the consoles of the boots.
enum grade_outcome grade_submission(const struct grader *g,
                                    const struct intake_claim *claim,
                                    const char *folder, const char *scratch,
                                    struct error *err);

// Writes a folder of results that says why there are none: for a submission
// whose reading ended the process, or a fault of the harness.
int grade_write_reason(const struct grader *g, const struct intake_claim *claim,
                       bool refused, const char *reason, const char *folder,
                       struct error *err);

// Boots the start kernel: its CPU time is the measure of all others'. *ret_start
// is its evidence as record_evidence() gives it, the caller's. LG_EHARNESS,
// LG_EBUILD, LG_EIO.
int grade_calibrate(struct grader *g, json_t **ret_start, struct error *err);

// The reference's evidence, for pictures; the caller's. The same errors.
int grade_reference(const struct grader *g, json_t **ret, struct error *err);

#endif
