// Mutants: small changes of a source text, each of which should be noticed.
#ifndef LABGEN_TESTS_LIB_MUTATE_H
#define LABGEN_TESTS_LIB_MUTATE_H

#include <stddef.h>

struct mutant {
  char *text;  // owned; the whole file
  char *what;  // owned; line and change, such as "125: '<' becomes '<='"
};

// Makes every mutant of the functions in the text (from the first line that
// begins with `from`). The caller owns *ret and ends it with mutants_release().
// Returns their number. Some do not compile.
size_t mutants_make(const char *text, const char *from, struct mutant **ret);
void mutants_release(struct mutant *m, size_t count);

#endif
