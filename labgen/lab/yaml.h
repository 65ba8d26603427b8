// A YAML document as a tree of nodes that know their line and column.
#ifndef LABGEN_LAB_YAML_H
#define LABGEN_LAB_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "labgen/base/error.h"
#include "labgen/lab/arena.h"

// NODE_WRONG stands for what was complained of already.
enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP, NODE_WRONG };

struct node {
  enum node_kind kind;
  size_t line, column;  // from 1
  const char *text;     // scalar: its value, NUL-terminated, UTF-8
  bool plain;           // scalar: written without quotes or block style
  struct node **items;  // list: its items; map: key, value, key, value, ...
  size_t count;         // list: items; map: pairs
};

// The value of a key in a map, or NULL.
const struct node *node_get(const struct node *map, const char *key);

// Parses one document. `path` is the name for messages. All nodes live in
// *arena. LG_EINPUT, with the place, for: broken YAML or UTF-8, an empty
// document or more than one, an anchor or an alias (so that no alias bomb can
// exist), a key that is no text or is there twice, a NUL character, more than
// 32 levels or 200,000 nodes, more than 50 such mistakes. Where the rest of the
// document can be read all the same, *ret is set too, so that the caller can
// name what else is wrong in it; else *ret is untouched.
int yaml_parse(const char *path, const char *bytes, size_t len,
               struct arena *arena, const struct node **ret, struct error *err);

// Reads a file of at most 4 MiB and parses it. LG_ENOTFOUND, LG_EIO, LG_ELIMIT
// as file_read(), else as yaml_parse().
int yaml_read(const char *path, struct arena *arena, const struct node **ret,
              struct error *err);

#endif
