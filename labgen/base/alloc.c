// Allocation that cannot fail: the tool's data is small, so running out of
// memory means that the host is in trouble, and the program ends at once
// instead of carrying a path for it through every caller.
#include "labgen/base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p)
{
  if (!p) {
    fputs("labgen: out of memory\n", stderr);
    abort();
  }
  return p;
}

void *xmalloc(size_t size_bytes)
{
  return must(malloc(size_bytes ? size_bytes : 1));
}

void *xcalloc(size_t count, size_t size_bytes)
{
  if (count == 0 || size_bytes == 0)
    return must(calloc(1, 1));
  return must(calloc(count, size_bytes));
}

void *xreallocarray(void *taken, size_t count, size_t size_bytes)
{
  if (count == 0 || size_bytes == 0)
    return must(realloc(taken, 1));
  return must(reallocarray(taken, count, size_bytes));
}

char *xstrdup(const char *s)
{
  return must(strdup(s));
}

char *xstrndup(const char *s, size_t max_bytes)
{
  return must(strndup(s, max_bytes));
}

char *xasprintf(const char *fmt, ...)
{
  char *text = NULL;
  va_list args;
  va_start(args, fmt);
  if (vasprintf(&text, fmt, args) < 0)
    text = NULL;
  va_end(args);
  return must(text);
}
