// The output folder: things are made beside their place and appear there whole.
#ifndef LABGEN_REPO_PUBLISH_H
#define LABGEN_REPO_PUBLISH_H

#include <stddef.h>

#include "labgen/base/error.h"

struct publish;  // an output folder that this process works in

// Makes `out` if it is missing, takes it for this process alone, and removes
// what an earlier run left half done. LG_EREFUSED when another process has it,
// LG_EIO.
int publish_open(const char *out, struct publish **ret, struct error *err);

// A path beside the output, on the same file system, at which the caller makes
// a file or folder that will become `name` ("students/ada"). Borrowed until
// publish_flush().
const char *publish_begin(struct publish *p, const char *name);

// What was begun last is complete and waits for publish_flush(), or, with
// `failed`, is thrown away. Flushes by itself when many wait. LG_EIO.
int publish_end(struct publish *p, int failed, struct error *err);

// A path at which the caller may work; it is removed with the rest at the end.
// Caller owns the text.
char *publish_scratch(struct publish *p);

// The path that `name` has in the output folder. Caller owns the text.
char *publish_place(const struct publish *p, const char *name);

// Syncs once, then renames all that waits into place; what was there before is
// removed. LG_EIO.
int publish_flush(struct publish *p, struct error *err);

// Throws away what was not flushed and gives the folder back; NULL is allowed.
void publish_close(struct publish *p);

#endif
