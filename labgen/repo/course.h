// A lab in memory: all that its lab file names, read and checked, and the trees
// that come of it, from the base to the reference.
#ifndef LABGEN_REPO_COURSE_H
#define LABGEN_REPO_COURSE_H

#include <stdbool.h>
#include <stddef.h>

#include "labgen/lab/bug.h"
#include "labgen/lab/labfile.h"
#include "labgen/lab/render.h"
#include "labgen/lab/roster.h"
#include "labgen/repo/objects.h"

// A commit of the chain that leads from the base to the reference, or of a
// branch off it.
struct course_commit {
  const char *message;
  struct tree tree;
  struct object_id id;
};

struct course {
  struct arena arena;
  struct lab lab;
  struct roster roster;
  struct buf secret;
  struct catalogue catalogue;
  struct rendering rendering;
  struct objects *objects;  // holds the commits below

  // chain[0] is the base, chain[1] the start, then the corrections, then the
  // reference's further commits.
  struct course_commit *chain;
  size_t chain_count;
  size_t start;  // index of the newest start: the start or last correction
  struct course_commit *branches;  // for each of lab.branches
};

// Reads a lab file and everything that it names, and makes all trees. With
// `need_secret`, the course secret as well. Errors in several files are all
// reported. LG_EINPUT, LG_ENOTFOUND, LG_EREFUSED, LG_EIO. *ret is untouched on
// failure.
int course_load(const char *lab_file, bool need_secret, struct course *ret,
                struct error *err);

// Frees everything; safe on a zeroed struct.
void course_release(struct course *c);

// Applies a commit folder to a tree: files, overlays, patch, edits. The tree is
// unchanged on failure. LG_EINPUT, LG_EIO.
int course_step(struct objects *o, const struct commit_step *step,
                struct tree *tree, struct error *err);

// The reference's tree, and the tree that students start from; borrowed.
const struct tree *course_reference(const struct course *c);
const struct tree *course_start(const struct course *c);

// Author, date and `message` of a commit of this lab; borrowed.
struct commit_words course_words(const struct course *c, const char *message);

#endif
