// Files and paths: whole-file reads, atomic writes, trees.
#ifndef LABGEN_BASE_FILE_H
#define LABGEN_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "labgen/base/buf.h"
#include "labgen/base/error.h"

// Reads a whole regular file into *ret (emptied first). More than `max_bytes`
// is LG_ELIMIT; a missing file LG_ENOTFOUND; a folder, pipe or device LG_EINPUT;
// else LG_EIO. *ret is untouched on failure.
int file_read(const char *path, size_t max_bytes, struct buf *ret,
              struct error *err);

// Writes a file so that after a crash there is either the old one or the whole
// new one: a temporary name in the same folder, fsync, rename, fsync of the
// folder. `mode` is the permission bits, such as 0644. LG_EIO on failure, and
// then no temporary file is left.
int file_write_atomic(const char *path, const void *bytes, size_t len,
                      unsigned mode, struct error *err);

// Writes a file without fsync, for trees that are synced as a whole. LG_EIO.
int file_write(const char *path, const void *bytes, size_t len, unsigned mode,
               struct error *err);

// Makes a folder and those above it that are missing. LG_EIO.
int file_mkdirs(const char *path, struct error *err);

// Removes a file or a whole tree without following links; nothing there is no
// error. LG_EIO.
int file_remove_tree(const char *path, struct error *err);

// Makes a new folder below `parent` (NULL: $TMPDIR or /tmp) with a name that
// starts with `prefix`. The caller owns *ret_path. LG_EIO.
int file_make_temp_dir(const char *parent, const char *prefix, char **ret_path,
                       struct error *err);

// Calls visit() for every regular file below `root`, in byte order of their
// paths relative to it ("kernel/main.c"). Links and devices are LG_EREFUSED.
// A negative result of visit() ends the walk and is returned.
int file_walk(const char *root,
              int (*visit)(void *arg, const char *relative_path,
                           struct error *err),
              void *arg, struct error *err);

// Whether something is there (links are followed).
bool file_exists(const char *path);

// "a/b" from "a" and "b"; an absolute `name` is returned alone. Caller owns it.
char *path_join(const char *dir, const char *name);

// The folder that holds templates/ and graders/ (and, where the course is
// installed, solutions/): $LABGEN_DATA, or the source tree that the running
// program was built in, or where `make install` put them. Borrowed, valid for the life of the program.
// LG_ENOTFOUND when there is none.
int data_dir(const char **ret_path, struct error *err);

#endif
