// Built trees that others are made from: what may be taken over, and how.
#ifndef LABGEN_REPO_WARM_H
#define LABGEN_REPO_WARM_H

#include <stdbool.h>
#include <time.h>

#include "labgen/base/error.h"
#include "labgen/lab/tree.h"

// Whether a file has no part in the kernel: *.md, *.yaml, *.yml, .gitignore.
bool warm_is_document(const char *path);

// How many files differ between two trees, documents aside; -1 when make cannot
// be trusted to see the difference: other names, or another difference than in
// the text of .c files, since not every Makefile tracks headers and itself.
int warm_distance(const struct tree *a, const struct tree *b);

// Copies all files below a folder, with their times. LG_EIO, LG_ELIMIT.
int warm_copy(const char *from, const char *to, struct error *err);

// Writes into `dir`, where `built` was built, the files of `tree` that differ,
// later than `after` by the file system's coarse clock. *ret_written is the
// time of the last one, untouched when there was none. LG_EIO.
int warm_update(const char *dir, const struct tree *built,
                const struct tree *tree, const struct timespec *after,
                struct timespec *ret_written, struct error *err);

bool warm_is_later(const struct timespec *a, const struct timespec *b);

#endif
