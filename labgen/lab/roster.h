// The roster: who is in the course.
#ifndef LABGEN_LAB_ROSTER_H
#define LABGEN_LAB_ROSTER_H

#include <stddef.h>

#include "labgen/base/error.h"
#include "labgen/lab/arena.h"

struct student {
  const char *id;    // letters, digits, '-', '_', '.', '@', '+'
  const char *name;  // "" where the roster has none, as for the next two
  const char *email;
  const char *section;
  const char **more;  // one value for each of the roster's further columns
  size_t line;        // in the roster's file
};

struct roster {
  struct arena arena;  // owns all below
  struct student *students;
  size_t count;
  const char **columns;  // names of the columns beyond id, name, email, section
  size_t column_count;
  const char *path;        // as given
  unsigned char hash[32];  // BLAKE2b-256 of the file's bytes
};

// Reads a roster. A file that ends in .yaml or .yml is a list of maps; any
// other is CSV (RFC 4180, LF or CRLF, with or without a byte order mark, UTF-8)
// whose first line names the columns. `id` is needed and must be unique without
// regard to case. LG_EINPUT with all errors, each with its line; LG_ENOTFOUND,
// LG_EIO, LG_ELIMIT. *ret is untouched on failure.
int roster_read(const char *path, struct roster *ret, struct error *err);

// As roster_read(), from memory.
int roster_parse(const char *path, const char *bytes, size_t len,
                 struct roster *ret, struct error *err);

void roster_release(struct roster *r);

// The student with that id, borrowed, or NULL.
const struct student *roster_find(const struct roster *r, const char *id);

#endif
