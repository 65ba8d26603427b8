// Memory with one owner and one end. It grows by blocks and never gives back
// a single piece; it is not meant for anything that is freed on its own.
#include "labgen/lab/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"

#define BLOCK_BYTES 16384

struct arena_block {
  struct arena_block *next;
  size_t used, room;
  max_align_t bytes[];
};

void *arena_alloc(struct arena *a, size_t size_bytes)
{
  size_t unit = sizeof(max_align_t);
  size_t need = (size_bytes + unit - 1) / unit * unit;
  struct arena_block *b = a->blocks;
  if (!b || b->room - b->used < need) {
    size_t room = need > BLOCK_BYTES ? need : BLOCK_BYTES;
    b = xcalloc(1, sizeof(*b) + room);
    b->room = room;
    b->next = a->blocks;
    a->blocks = b;
  }
  void *piece = (char *)b->bytes + b->used;
  b->used += need;
  return piece;
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
  char *copy = arena_alloc(a, len + 1);
  memcpy(copy, s, len);
  return copy;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
  va_list args, again;
  va_start(args, fmt);
  va_copy(again, args);
  int len = vsnprintf(NULL, 0, fmt, args);
  va_end(args);
  char *text = arena_alloc(a, (size_t)(len > 0 ? len : 0) + 1);
  if (len > 0)
    vsnprintf(text, (size_t)len + 1, fmt, again);
  va_end(again);
  return text;
}

void arena_release(struct arena *a)
{
  while (a->blocks) {
    struct arena_block *next = a->blocks->next;
    free(a->blocks);
    a->blocks = next;
  }
}
