// What labgen needs of the machine that it runs on, and whether it is there.
#ifndef GRADERS_DOCTOR_H
#define GRADERS_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "labgen/base/buf.h"

// States of a part: number, word. A part that is missing stops a command; one
// that is lacking only takes something away.
#define PART_STATES(X)               \
  X(PART_THERE, "ok")                \
  X(PART_LACKING, "could be better") \
  X(PART_MISSING, "missing")

enum part_state {
#define PART_NUMBER(number, word) number,
  PART_STATES(PART_NUMBER)
#undef PART_NUMBER
};

const char *part_state_word(enum part_state state);  // borrowed

// What was found about one part.
struct part_result {
  const char *name;      // borrowed, as all of these
  const char *purpose;   // what it is needed for
  const char *without;   // what is lost without it
  const char *package;   // of Debian and Ubuntu; NULL: none brings it
  const char *upstream;  // what it is called elsewhere; NULL as above
  enum part_state state;
  struct buf seen;  // a line: the version, or what was wrong
  struct buf mend;  // what to do, where a package alone does not do it
};

// Looks at all parts, in the order of a table; runs the tools, which takes a
// second or two. The caller owns *ret and releases it with
// part_results_release().
void doctor_look(struct part_result **ret, size_t *ret_count);

void part_results_release(struct part_result *results, size_t count);

// Whether packages are installed with apt-get here (os-release(5) says Debian
// or a descendant of it).
bool doctor_has_apt(void);

#endif
