// Memory that is there, or the program ends: nothing here returns NULL.
#ifndef LABGEN_BASE_ALLOC_H
#define LABGEN_BASE_ALLOC_H

#include <stddef.h>

#define RETURNS_MEMORY __attribute__((returns_nonnull, warn_unused_result))

// Each returns memory that the caller owns and gives back with free(). On
// exhaustion, or when count * size overflows, the program says so on standard
// error and aborts.
RETURNS_MEMORY void *xmalloc(size_t size_bytes);
RETURNS_MEMORY void *xcalloc(size_t count, size_t size_bytes);
RETURNS_MEMORY void *xreallocarray(void *taken, size_t count,
                                   size_t size_bytes);
RETURNS_MEMORY char *xstrdup(const char *s);
RETURNS_MEMORY char *xstrndup(const char *s, size_t max_bytes);
RETURNS_MEMORY char *xasprintf(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

// Grows an array for one more element: GROW(v, count, room) makes room for
// v[count], doubling, and keeps `room` (elements allocated) up to date.
#define GROW(v, count, room)                          \
  do {                                                \
    if ((count) + 1 > (room)) {                       \
      (room) = (room) ? 2 * (room) : 8;               \
      (v) = xreallocarray((v), (room), sizeof(*(v))); \
    }                                                 \
  } while (0)

#endif
