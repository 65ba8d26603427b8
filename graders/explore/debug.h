// What the compiler noted down about the code under test: functions, lines,
// variables and their parts.
#ifndef LABGEN_EXPLORE_DEBUG_H
#define LABGEN_EXPLORE_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labgen/base/buf.h"
#include "labgen/base/error.h"

// A part of an element of a variable.
struct debug_member {
  char *name;  // owned; "lock.locked"
  size_t offset, bytes;
};

// A variable. One that is no array has one element; one that is no struct has
// one member with an empty name.
struct debug_variable {
  char *name;    // owned
  uintptr_t at;  // as linked; add where the object was loaded
  size_t bytes, elements, stride_bytes;
  struct debug_member *member;  // owned
  size_t members;
};

struct debug {
  struct debug_variable *variable;  // owned
  size_t variables;
  void *session;  // of libdw
  int fd;
};

// A place in the source. The texts are borrowed from the struct debug.
struct debug_place {
  const char *function;  // "?" when not known
  const char *file;      // "" when not known
  int line;              // 0 when not known
};

// Reads a shared object's debugging information. LG_EHARNESS when it has none.
int debug_open(const char *path, struct debug *ret, struct error *err);
void debug_close(struct debug *d);

// The place of an address as linked.
struct debug_place debug_find(const struct debug *d, uintptr_t at);

// Appends a name for the address as linked, such as "kmem[2].freelist"; "+N"
// follows when it is inside something. Returns false when no variable is there.
bool debug_name(const struct debug *d, uintptr_t at, struct buf *to);

// The variable at an address as linked, or NULL.
const struct debug_variable *debug_variable_at(const struct debug *d,
                                               uintptr_t at);

#endif
