// Puts what a submission may bring into the course's own tree: whole files, the
// text of single functions with what only they use, and prototypes. All else
// stays the course's.
#ifndef GRADERS_SPLICE_H
#define GRADERS_SPLICE_H

#include "labgen/base/buf.h"
#include "labgen/base/error.h"
#include "labgen/lab/labfile.h"
#include "labgen/lab/tree.h"

// Makes *ret the course's tree with the student's parts, as `rules` (the lab
// file's `submission`) say. Carriage returns at line ends are taken away. Adds
// a line to *ret_notes for each thing that was looked for and not found, or
// not used. LG_EREFUSED when a whole file of the rules is not in the
// submission; *ret is untouched on failure.
int splice(const struct tree *course, const struct tree *student,
           const struct lab_submission *rules, struct tree *ret,
           struct buf *ret_notes, struct error *err);

// Finds a function's definition in C source: from its first token to behind its
// closing brace. False when there is none.
bool splice_find_function(const char *text, const char *name, size_t *ret_start,
                          size_t *ret_end);

#endif
