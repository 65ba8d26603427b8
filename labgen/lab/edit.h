// Edits anchored on text: how a lab, a bug or a rendering changes a tree.
#ifndef LABGEN_LAB_EDIT_H
#define LABGEN_LAB_EDIT_H

#include <stddef.h>

#include "labgen/lab/schema.h"
#include "labgen/lab/tree.h"

// One edit of one file. In YAML:
//   - {file: kernel/kalloc.c, replace: "old text", with: "new text"}
//   - {file: Makefile, after: "anchor", insert: "text"}
//   - {file: Makefile, before: "anchor", insert: "text"}
// The anchor is matched byte by byte and must be in the file exactly once.
struct edit {
  struct place at;    // where it stands in YAML
  const char *file;   // path in the tree
  const char *after;  // exactly one of these three is not NULL
  const char *before;
  const char *replace;
  const char *insert;  // goes with `after` and `before`
  const char *with;    // goes with `replace`; "" takes the text away
};

extern const struct schema edit_schema;

// A name and the value that stands for ${name} in edits.
struct param {
  const char *name, *value;
};

// Copies `text` to *ret with each ${name} replaced by its value. LG_EINPUT, at
// `at`, for a name that is no parameter.
int text_expand(const struct place *at, const char *text,
                const struct param *params, size_t param_count, struct buf *ret,
                struct error *err);

// Applies edits one after the other; when one fails, the tree is as it was.
// With `param_count` > 0, ${name} in anchors and texts is replaced by its
// value, and a name that is no parameter is an error; without parameters, text
// is taken as it stands. LG_EINPUT names the edit's place in YAML, the file,
// the anchor, and how often the anchor was found.
int edits_apply(struct tree *tree, const struct edit *edits, size_t count,
                const struct param *params, size_t param_count,
                struct error *err);

#endif
