// Answer keys and the manifest: what staff must know of the trees that were
// handed out, as JSON.
#ifndef LABGEN_REPO_KEYS_H
#define LABGEN_REPO_KEYS_H

#include <jansson.h>
#include <stdbool.h>

#include "labgen/repo/course.h"
#include "labgen/repo/kernel.h"
#include "labgen/repo/student.h"

// Names of kernels of a student's trees; "" where none was made.
struct student_kernels {
  char lab[KERNEL_KEY_BYTES];
  char (*clinic)[KERNEL_KEY_BYTES];  // for each branch of the clinic
};

// The key of a student: keys/ID.json. `before` is the key that is there already
// (NULL: none): the starts in it stay, and its kernels where none was made now.
// The caller owns the result.
json_t *key_make(const struct course *c, const struct student_work *w,
                 const struct student_kernels *kernels, const json_t *before);

// Reads keys/ID.json below `out` into *ret, or NULL when there is none. A file
// that is no JSON counts as none, since it can be made again.
json_t *key_read(const char *out, const char *student_id);

// The bytes that key_make()'s result and the manifest are written with.
void json_format(const json_t *json, struct buf *ret);

// Writes a file when its bytes differ from what is there: beside its place, and
// renamed; not synced. *ret_changed says whether it did. LG_EIO.
int write_if_changed(const char *path, const struct buf *bytes,
                     bool *ret_changed, struct error *err);

// Appends manifest.json: the lab, its commits, the instructor's branches, the
// kernels below out/kernels, and for each student of the roster what is in the
// key. Made line by line, so that its size is all that it takes. LG_EIO.
int manifest_make(const struct course *c, const char *out,
                  const struct repo_plan *instructor, struct buf *ret,
                  struct error *err);

#endif
