// Trees from git: a commit of a repository, and unified diffs.
#ifndef LABGEN_REPO_SOURCE_H
#define LABGEN_REPO_SOURCE_H

#include <stddef.h>

#include "labgen/base/error.h"
#include "labgen/lab/tree.h"
#include "labgen/repo/objects.h"

// Reads all files of a commit into *tree (over what is there). The repository
// may belong to anybody; nothing in it is run. LG_ENOTFOUND when there is no
// such repository or commit, LG_EREFUSED for a submodule or a link in it.
int source_git(const char *repository, const char *commit, struct tree *tree,
               struct error *err);

// Applies a unified diff to the tree, made by git or by diff -u of two folders
// (the first part of each path is left out); `path` is its name for messages.
// The tree is unchanged on failure. LG_EINPUT with libgit2's words.
int source_patch(struct objects *o, struct tree *tree, const char *path,
                 const char *diff, struct error *err);

// A run of lines of the new text that differs from the old.
struct changed_lines {
  size_t first, count;  // count 0: lines were taken away before `first`
};

// Where `new` differs from `old`, by a minimal line diff. The caller frees
// *ret. LG_EHARNESS.
int source_diff(const struct content *old, const struct content *new,
                struct changed_lines **ret, size_t *ret_count,
                struct error *err);

#endif
