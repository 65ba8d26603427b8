// Lists of arguments. No quoting and no splitting: one string is one argument.
#include "labgen/run/argv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "labgen/base/alloc.h"

static void add_taken(struct argv *a, char *taken)
{
  if (a->count + 2 > a->room) {
    a->room = a->room ? 2 * a->room : 16;
    a->v = xreallocarray(a->v, a->room, sizeof *a->v);
  }
  a->v[a->count++] = taken;
  a->v[a->count] = NULL;
}

void argv_add(struct argv *a, const char *arg)
{
  add_taken(a, xstrdup(arg));
}

void argv_addf(struct argv *a, const char *fmt, ...)
{
  char *text = NULL;
  va_list args;
  va_start(args, fmt);
  if (vasprintf(&text, fmt, args) < 0)
    abort();
  va_end(args);
  add_taken(a, text);
}

void argv_add_all(struct argv *a, const char *const *args)
{
  for (size_t i = 0; args && args[i]; i++)
    argv_add(a, args[i]);
}

const char *const *argv_list(const struct argv *a)
{
  static const char *const none[] = {NULL};
  return a->v ? (const char *const *)a->v : none;
}

void argv_release(struct argv *a)
{
  for (size_t i = 0; i < a->count; i++)
    free(a->v[i]);
  free(a->v);
  *a = (struct argv){0};
}
