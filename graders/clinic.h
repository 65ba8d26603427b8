// The clinic's kernels, as they come back: whether the mistake is gone, whether
// anything else broke, and whether the answer fits the key.
#ifndef GRADERS_CLINIC_H
#define GRADERS_CLINIC_H

#include <stdbool.h>
#include <stddef.h>

#include "graders/answers.h"
#include "graders/check.h"
#include "graders/policy.h"
#include "graders/submission.h"
#include "labgen/repo/student.h"

// What each kernel is marked on: number, name, what a student is promised, where
// to look. The lab file's clinic.marks says what each is worth.
#define CLINIC_PARTS(X)                                                \
  X(CLINIC_GONE, "gone", "the mistake is gone",                        \
    "The checks that the mistake fails must pass on your branch.")     \
  X(CLINIC_UNBROKEN, "unbroken", "and nothing else broke",             \
    "All other checks of the lab pass on the kernel as it should be.") \
  X(CLINIC_CLASS, "class", "the class of the mistake",                 \
    "answers.yaml names one class of its list.")                       \
  X(CLINIC_PLACE, "place", "its function and line",                    \
    "Lines count in the file as it was handed out.")                   \
  X(CLINIC_WORDS, "words", "why it is wrong and how it was seen",      \
    "Fill in 'explanation' and 'seen'; staff read them.")

enum clinic_part {
#define CLINIC_NUMBER(number, name, title, hint) number,
  CLINIC_PARTS(CLINIC_NUMBER)
#undef CLINIC_NUMBER
      CLINIC_PART_COUNT
};

// Adds a check for each part of each kernel that the lab hands out, behind those
// of the rubric; `clinic-1-gone` is an id. None where the lab gives no marks for
// the clinic. Texts live in the arena.
void clinic_add_checks(const struct lab *lab, struct rubric *rubric,
                       struct arena *arena);

// How many checks of a rubric are not the clinic's; those come first.
size_t clinic_first_check(const struct rubric *rubric);

// Whether a check of the clinic asks for boots.
bool clinic_asks_boots(const struct check *check);

// Appends what of a course decides a verdict here, for a result's key.
// LG_EIO, LG_ENOTFOUND, LG_ELIMIT.
int clinic_describe(const struct course *course, struct buf *ret,
                    struct error *err);

// A kernel of a student's clinic.
struct clinic_kernel {
  const struct clinic_branch *key;  // borrowed; the tree as it was handed out
  bool there;                       // it came back
  bool changed;                     // in what may be changed
  struct tree tree;                 // what was judged of it
  struct policy policy;             // what was changed, used or not
  struct answers answers;
  enum verdict verdicts[CLINIC_PART_COUNT];
  struct buf texts[CLINIC_PART_COUNT];  // what was seen, a line each; hostile
  struct evidence evidence;             // of the boots, if there were any
  char *hash;  // owned; names the changed file's bytes, NULL where unchanged
};

struct clinic {
  struct student_work work;
  struct clinic_kernel *kernels;  // owned; as many as the lab hands out
  size_t count;
  struct buf notes;     // a line each; hostile
  struct buf staff;     // what only staff are to read, a line each; hostile
  struct buf unjudged;  // why nothing of it was judged; then there is no kernel
};

struct clinic_spec {
  struct course *course;        // its secret is read when it is not there yet
  const struct rubric *rubric;  // the lab's checks
  const struct student *student;
  const struct submission *submission;
  // What boots have in common; without `plain`, no kernel is booted.
  const struct gather_spec *gather;
};

// Renders the student's kernels again, splices into each what came back, boots
// those that were changed, and reads the answers. What is wrong with a
// submission is a verdict and no error, and so is a secret that cannot be read:
// all is not judged then. LG_EINPUT when a bug names no check that can show it;
// LG_EHARNESS, LG_EIO. *ret is untouched on failure.
int clinic_judge(const struct clinic_spec *spec, struct clinic *ret,
                 struct error *err);

// Looks for answers that fit another student's kernel and not the own, and for
// files that are nearer to another's than to the own, and adds lines to
// c->staff. Others are rendered only where something is to be explained.
// LG_EINPUT, LG_EHARNESS.
int clinic_compare(const struct clinic_spec *spec, struct clinic *c,
                   struct error *err);

// Whether an answer names the place of the mistake: one of the functions that
// differ, and a line at most `tolerance` beside the lines that do.
bool clinic_fits_function(const struct clinic_branch *key,
                          const struct answers *a);
bool clinic_fits_line(const struct clinic_branch *key, const struct answers *a,
                      long tolerance);

// Puts the results of the rubric's checks of the clinic into *ret, which has
// room for them; the texts are moved there.
void clinic_results(struct clinic *c, const struct rubric *rubric,
                    struct check_result *ret);

// Safe on a zeroed struct.
void clinic_release(struct clinic *c);

#endif
