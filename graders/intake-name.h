// Names that platforms and people give to what is handed in, and whose they are.
#ifndef GRADERS_INTAKE_NAME_H
#define GRADERS_INTAKE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labgen/base/buf.h"
#include "labgen/lab/roster.h"

// What a name says. Texts are owned.
struct intake_name {
  char *who;         // the student, in the platform's words
  char *account;     // the platform's number of the student; NULL: none
  char *given;       // the file's own name
  uint64_t attempt;  // 0: it says none
  bool late;
};

// Reads a name as one of these forms:
//   Moodle  <Full Name>_<id>_assignsubmission_file[_][<file name>]
//   Canvas  <name>[_LATE]_<user id>_<attachment id>_<file name>
//           anon_<id>[_LATE]_<attachment id>_<file name>
//   plain   <student>[<separator><attempt>][.<ending of an archive>]
void intake_name_parse(const char *name, struct intake_name *ret);

// Safe on a zeroed struct.
void intake_name_release(struct intake_name *n);

// The length of a name without the ending of an archive; the whole length when
// it has none.
size_t intake_stem(const char *name);

// An index of a roster for looking people up.
struct people;

struct people *people_index(const struct roster *roster);  // owned by caller
void people_free(struct people *p);                        // NULL is allowed

// Finds out whose something is. Looks for `who` as an id, in the roster's
// further columns, as an e-mail address or its part before the '@', and as a
// name in any order of its words and without regard to case, blanks and
// punctuation, in this order; and for `account` in the further columns. NULL
// with the reason in *ret_problem when nobody or more than one student fits.
const struct student *people_find(const struct people *p, const char *who,
                                  const char *account, struct buf *ret_problem);

#endif
