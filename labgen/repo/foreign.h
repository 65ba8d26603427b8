// Repositories that come from strangers. libgit2 sees only their objects: the
// few text files that name branches are read here, and configuration, hooks,
// the index and attributes are never acted upon.
#ifndef LABGEN_REPO_FOREIGN_H
#define LABGEN_REPO_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labgen/base/error.h"
#include "labgen/lab/tree.h"
#include "labgen/repo/objects.h"

struct foreign;  // an open repository

// Opens the repository whose git folder is `git_dir` (".git", or a bare one),
// whoever owns it. LG_EREFUSED, with what to do, when it holds links or
// devices, hooks, alternates, submodules, or points to other folders, or when
// its configuration would run programs or read other files elsewhere. Objects
// may still be bombs: the caller bounds this process's memory and CPU time.
int foreign_open(const char *git_dir, struct foreign **ret, struct error *err);

// NULL is allowed.
void foreign_close(struct foreign *f);

// The branch that is checked out; "" when none is. Borrowed.
const char *foreign_head(const struct foreign *f);

// The commit of a branch, or with `branch` NULL that of HEAD. In a clone that
// has not got the branch itself it is the one that the clone was made from. False
// when there is none.
bool foreign_commit(const struct foreign *f, const char *branch,
                    struct object_id *ret);

// Adds the files of a commit to *ret: at most 4,000 files and folders, 16
// folders deep, 8 MiB a file, 64 MiB together. What a compiler leaves is passed
// over. LG_EREFUSED for more, and for links, submodules and broken objects.
// *ret is untouched on failure.
int foreign_tree(struct foreign *f, const struct object_id *commit,
                 struct tree *ret, struct error *err);

// What a commit's ancestors say.
struct foreign_history {
  int64_t commit_seconds;  // when the commit was made, by the student's clock
  int commit_offset_minutes;
  size_t commits;  // seen, itself included
  bool cut;        // some of its ancestors are not there, or too many
  size_t start;    // newest start among them, or FOREIGN_NO_START
};
#define FOREIGN_NO_START ((size_t)-1)

// Looks for released starts among a commit and its ancestors (at most 5,000):
// commits with the same files as one of `starts`, whatever the file or folder
// at the top of the tree that holds `except` (NULL: none). LG_EREFUSED when the
// commit cannot be read, LG_EHARNESS.
int foreign_history(struct foreign *f, const struct object_id *commit,
                    struct objects *o, const struct tree *const *starts,
                    size_t start_count, const char *except,
                    struct foreign_history *ret, struct error *err);

#endif
