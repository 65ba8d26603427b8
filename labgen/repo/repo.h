// Repositories on disk: ordinary and complete, and the same bytes each time.
#ifndef LABGEN_REPO_REPO_H
#define LABGEN_REPO_REPO_H

#include <stdbool.h>
#include <stddef.h>

#include "labgen/base/error.h"
#include "labgen/lab/tree.h"
#include "labgen/repo/objects.h"

struct repo_branch {
  const char *name;  // "start", "clinic/steal-holding-lock"
  struct object_id commit;
};

// What a repository holds; all borrowed.
struct repo_plan {
  const struct repo_branch *branches;  // sorted by name
  size_t count;
  size_t head;              // the branch that is checked out
  const struct tree *tree;  // of that branch's commit
};

// Writes a repository with a working tree into `folder`, which is made. It has
// one pack with exactly what the branches reach, packed refs, no reflogs and no
// hooks. Nothing is synced. LG_EIO, LG_EHARNESS; on failure the folder may be
// there in part.
int repo_write(const char *folder, struct objects *o,
               const struct repo_plan *plan, struct error *err);

#define REPO_STATES(X)                                                 \
  X(REPO_ABSENT, "is not there")                                       \
  X(REPO_CURRENT, "holds the branches as planned")                     \
  X(REPO_UNTOUCHED, "holds other branches, as repo_write() left them") \
  X(REPO_CHANGED, "somebody worked in it, or it is none of ours")

enum repo_state {
#define REPO_STATE(state, words) state,
  REPO_STATES(REPO_STATE)
#undef REPO_STATE
};

// Looks at what is at `folder`. A repository in which somebody worked counts
// as current as long as the branches that were handed out are the planned
// ones; what cannot be looked at counts as changed. Runs nothing that is in it.
enum repo_state repo_look(const char *folder, const struct repo_plan *plan);

#endif
