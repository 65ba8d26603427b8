// What the files of labgen/repo share, and nobody else sees.
#ifndef LABGEN_REPO_INTERNAL_H
#define LABGEN_REPO_INTERNAL_H

#include <git2.h>

#include "labgen/repo/objects.h"

// The store as a repository without references; borrowed.
git_repository *objects_repository(struct objects *o);

// Puts the tree's files into the store, and its folders too; *ret is the name
// of the tree. A result of libgit2.
int objects_write_tree(struct objects *o, const struct tree *tree,
                       git_oid *ret);

// Sets *err to `code` and "WHAT: libgit2's words", and returns `code`.
int git_failed(struct error *err, int code, const char *what);

#endif
