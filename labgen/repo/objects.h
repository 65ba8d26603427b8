// Git objects in memory: commits of trees that are in memory, made once and
// shared by all repositories that hold them.
#ifndef LABGEN_REPO_OBJECTS_H
#define LABGEN_REPO_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labgen/base/error.h"
#include "labgen/lab/schema.h"
#include "labgen/lab/tree.h"

struct object_id {
  unsigned char bytes[20];  // SHA-1, as git names objects
};

#define OBJECT_HEX_BYTES 41
// The name in hexadecimal, into OBJECT_HEX_BYTES bytes.
void object_hex(const struct object_id *id, char *ret);

struct objects;  // the store

// Opens an empty store. LG_EHARNESS.
int objects_open(struct objects **ret, struct error *err);

// Frees the store; NULL is allowed.
void objects_close(struct objects *o);

// How far the store has got, and back: objects made since are forgotten.
size_t objects_mark(const struct objects *o);
void objects_rollback(struct objects *o, size_t mark);

// Who made a commit, when, and what it says; all borrowed.
struct commit_words {
  const char *author, *email;
  struct when date;
  const char *message;  // a line end is added where there is none
};

// Makes a commit of the tree on top of `parent` (NULL: the first). *ret is
// untouched on failure. LG_EHARNESS with libgit2's words.
int objects_commit(struct objects *o, const struct tree *tree,
                   const struct object_id *parent,
                   const struct commit_words *words, struct object_id *ret,
                   struct error *err);

// One object, borrowed until the store is rolled back.
struct object {
  struct object_id id;
  int type;           // git's number: 1 commit, 2 tree, 3 blob
  const void *bytes;  // as git hashes it, without the header
  size_t len;
  const void *deflated;  // zlib stream of the bytes
  size_t deflated_len;
  uint32_t crc;  // of this object's entry in a pack
};

// All objects that can be reached from `count` commits, each once, in the order
// of their names. The caller frees *ret. LG_EHARNESS when one is missing.
int objects_reach(struct objects *o, const struct object_id *commits,
                  size_t count, struct object **ret, size_t *ret_count,
                  struct error *err);

// Writes the index that a checkout of the tree would have, but with no times
// and sizes of files in it, so that it is the same everywhere; git looks at the
// files themselves then. LG_EIO.
int objects_write_index(struct objects *o, const struct tree *tree,
                        const char *path, struct error *err);

#endif
