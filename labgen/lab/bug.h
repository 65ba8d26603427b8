// The catalogue: bugs, correct designs and wasteful ones, each a YAML file
// that says how it changes the reference and what must then be seen; and
// commits, each a folder with a commit.yaml.
#ifndef LABGEN_LAB_BUG_H
#define LABGEN_LAB_BUG_H

#include <stddef.h>

#include "labgen/lab/edit.h"
#include "labgen/lab/schema.h"
#include "labgen/lab/tree.h"

// What the explorer must find in an entry, by name.
struct explore_claim {
  struct place at;
  struct texts findings;
  struct texts notes;
};

extern const struct schema explore_claim_schema;

// One file of the catalogue (id.yaml).
struct bug {
  struct place at;
  const char *id;
  const char *class_id;  // YAML key `class`
  const char *title;
  long difficulty;       // 1 to 3
  struct list params;    // struct named_texts: the choices of each
  struct list edits;     // struct edit, to the reference's tree
  const char *file;      // file of the tree with the bug, or NULL
  const char *function;  // function with the bug, or NULL
  const char *symptom;
  struct texts checks;  // checks that must fail
  struct explore_claim explore;
  const char *explanation;
  bool in_clinic;  // YAML key `clinic`: may be given to students
};

extern const struct schema bug_schema;

// A class of bugs, and what it means in one line.
struct bug_class {
  struct place at;
  const char *id;
  const char *meaning;
};

struct catalogue {
  struct arena arena;  // owns all below
  struct bug *bugs;    // sorted by id
  size_t bug_count;
  struct bug_class *classes;
  size_t class_count;
};

// Reads classes.yaml and every *.yaml of the folder `bugs`. Checked besides
// the schema: a bug's id is its file's name, classes exist, ids are unique,
// every parameter is used. LG_EINPUT with all errors, LG_ENOTFOUND, LG_EIO.
int catalogue_read(const char *bugs_folder, const char *classes_file,
                   struct catalogue *ret, struct error *err);

void catalogue_release(struct catalogue *c);

// The entry with an id, borrowed, or NULL.
const struct bug *catalogue_find(const struct catalogue *c, const char *id);

// The class whose id is most like `id`, or NULL; borrowed.
const char *catalogue_near_class(const struct catalogue *c, const char *id);

// Applies a bug's edits. `choice[i]` is the index of the value of params[i];
// NULL takes the first of each. The tree is unchanged on failure. LG_EINPUT.
int bug_apply(const struct bug *bug, const size_t *choice, struct tree *tree,
              struct error *err);

// A folder that is laid over a tree.
struct overlay {
  struct place at;
  const char *folder;
  const char *to;  // where in the tree; NULL: its top
};

// One commit on top of another: a folder with commit.yaml, and below files/
// files that are laid over.
struct commit_step {
  struct place at;
  const char *message;
  struct list overlay;  // struct overlay, after the files
  struct list edits;    // struct edit, after all else
  const char *patch;    // a unified diff (path of a file), or NULL
  const char *files;    // folder/files, laid over the tree; NULL: none
};

extern const struct schema commit_schema;

// Reads folder/commit.yaml. LG_EINPUT, LG_ENOTFOUND, LG_EIO.
int commit_step_read(const char *folder, struct arena *arena,
                     struct commit_step *ret, struct error *err);

#endif
