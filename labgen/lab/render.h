// Renderings: the reference's file, rewritten for one student, with and without
// a bug, so that the two differ by the bug alone.
#ifndef LABGEN_LAB_RENDER_H
#define LABGEN_LAB_RENDER_H

#include <stddef.h>

#include "labgen/lab/schema.h"
#include "labgen/lab/seed.h"
#include "labgen/lab/tree.h"

// A piece of the reference, and other ways to say the same. The first is the
// reference's own text without comments, and is in the file exactly once.
struct render_form {
  struct place at;
  struct texts same;
};

// In YAML: solutions/LAB/render.yaml.
struct rendering {
  struct place at;
  const char *file;      // the file that is rewritten
  struct list names;     // struct named_texts: identifier -> other names
  struct list forms;     // struct render_form
  struct list comments;  // struct named_texts: function -> what stands above
  struct texts opening;  // what may stand at the top of the file
};

extern const struct schema rendering_schema;

// Rewrites rendering->file in both trees, drawing from *d: comments are taken
// out, forms exchanged, functions put into another order behind prototypes of
// the static ones, identifiers renamed, and other comments put above functions.
// Every choice is made once and applied to both trees; a form whose text is not
// in both exactly once stays as it is in both. No new name is one that either
// file has already. LG_EINPUT when a tree lacks the file, when a form is not in
// `clean`, or when C does not parse; the trees are unchanged then. With a
// `function` (may be NULL), *ret_function is its name in the rendering, which
// the caller owns.
int render_pair(const struct rendering *r, struct draws *d, struct tree *clean,
                struct tree *variant, const char *function, char **ret_function,
                struct error *err);

#endif
