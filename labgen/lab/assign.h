// Who gets which bugs.
#ifndef LABGEN_LAB_ASSIGN_H
#define LABGEN_LAB_ASSIGN_H

#include <stddef.h>

#include "labgen/lab/bug.h"
#include "labgen/lab/labfile.h"
#include "labgen/lab/seed.h"

#define ASSIGN_MAX_PARAMS 16

// A bug with its parameters chosen.
struct assignment {
  const struct bug *bug;             // borrowed from the catalogue
  size_t choice[ASSIGN_MAX_PARAMS];  // index of each parameter's value
};

// Checks that every student can be given a bug for each of the clinic's picks:
// classes exist, and each pick can choose among more classes than there are
// picks before it, since a student's bugs are of different classes. LG_EINPUT
// with all errors.
int assign_check(const struct lab_clinic *clinic, const struct catalogue *c,
                 struct error *err);

// Draws a bug for each pick into ret[0 .. clinic->picks.count - 1]: a class
// among those that the pick allows and no earlier one took (in the order of
// classes.yaml), a bug among that class's (in the order of ids), and each
// parameter. assign_check() must have passed.
void assign_bugs(const struct lab_clinic *clinic, const struct catalogue *c,
                 struct draws *d, struct assignment *ret);

#endif
