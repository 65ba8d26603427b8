// Memory that lives as long as the document it was read for: many small
// pieces, one release.
#ifndef LABGEN_LAB_ARENA_H
#define LABGEN_LAB_ARENA_H

#include <stddef.h>

struct arena {
  struct arena_block *blocks;  // owned; newest first
};

// Returns zeroed memory, aligned for anything, that arena_release() frees.
// Never NULL.
void *arena_alloc(struct arena *a, size_t size_bytes);

// A NUL-terminated copy of `len` bytes, freed by arena_release().
char *arena_strndup(struct arena *a, const char *s, size_t len);

// Formats into the arena; freed by arena_release().
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

// Frees everything. Safe on a zeroed struct, which it leaves behind.
void arena_release(struct arena *a);

#endif
