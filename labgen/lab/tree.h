// A source tree in memory: paths in byte order, contents shared between
// copies, so that a copy costs a pointer a file.
#ifndef LABGEN_LAB_TREE_H
#define LABGEN_LAB_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "labgen/base/error.h"

// The bytes of one file. Shared and never changed once they are in a tree.
struct content {
  size_t refs;
  size_t len;
  bool has_id;           // `id` is filled in
  unsigned char id[20];  // git's name of these bytes as a blob, kept here by
                         // labgen/repo so that it is computed once
  char bytes[];          // len bytes and a NUL that is not counted
};

struct tree_file {
  char *path;               // owned; relative, '/' between parts
  struct content *content;  // one reference is owned
  bool executable;
};

struct tree {
  struct tree_file *files;  // owned; sorted by path
  size_t count, room;
};

// Whether a path may stand in a tree: relative, no empty part, no "." or "..",
// no part that git takes for its own (".git" in any case), no control
// character or backslash, at most 240 bytes.
bool tree_path_ok(const char *path);

// Whether a path is what a compiler or a checkout leaves in a source folder:
// within .git, *.o, *.d, *.asm, *.sym, *.img, user/_*, .gdbinit, kernel/kernel,
// and what the kernel's and xv6's Makefiles make beside it.
bool tree_path_is_residue(const char *path);

// Puts a file in, or takes its place. The bytes are copied. LG_EINPUT when the
// path may not stand in a tree, or when it would be a file and a folder at
// once.
int tree_put(struct tree *t, const char *path, const void *bytes, size_t len,
             bool executable, struct error *err);

// Takes a file out; nothing there is no error.
void tree_drop(struct tree *t, const char *path);

// The file at `path`, borrowed until the tree changes, or NULL.
const struct tree_file *tree_find(const struct tree *t, const char *path);

// Reads every regular file below a folder into the tree, over what is there,
// each at most 16 MiB; `prefix` (may be "") is put before their paths. Files
// called .gitignore come along; what tree_path_is_residue() names is passed over. LG_ENOTFOUND, LG_EIO, LG_ELIMIT, LG_EREFUSED as file_walk().
int tree_add_folder(struct tree *t, const char *folder, const char *prefix,
                    struct error *err);

// Writes all files below `folder`, making folders as needed, without fsync:
// the caller syncs. LG_EIO.
int tree_write(const struct tree *t, const char *folder, struct error *err);

// Makes *to (released first) the same tree as `from`.
void tree_copy(struct tree *to, const struct tree *from);

// Whether both hold the same paths, bytes and modes.
bool tree_equal(const struct tree *a, const struct tree *b);

// Frees the tree; safe on a zeroed struct, which it leaves behind.
void tree_release(struct tree *t);

#endif
