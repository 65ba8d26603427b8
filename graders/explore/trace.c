// Records events, and hashes them.
//
// Deliberately no words here: what an event says to a reader is print.c's.
#include "graders/explore/trace.h"

#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"

static const char *const names[] = {
#define NAME(number, name) name,
    EX_EVENTS(NAME)
#undef NAME
};

void trace_begin(struct trace *t)
{
  t->events = 0;
  t->steps = 0;
  t->hash = 0xcbf29ce484222325u;
}

static void mix(struct trace *t, uint64_t v)
{
  for (int i = 0; i < 8; i++) {
    t->hash = (t->hash ^ (v & 0xff)) * 0x100000001b3u;
    v >>= 8;
  }
}

void trace_add(struct trace *t, const struct ex_event *e)
{
  t->steps++;
  if (!t->recording)
    return;
  mix(t, e->kind | (uint64_t)e->thread << 8 | (uint64_t)e->hart << 16);
  mix(t, e->pc);
  mix(t, e->addr);
  mix(t, (uint64_t)e->value);
  GROW(t->event, t->events, t->room);
  t->event[t->events++] = *e;
}

void trace_release(struct trace *t)
{
  free(t->event);
  *t = (struct trace){0};
}

const char *trace_event_name(enum ex_event_kind kind)
{
  return names[kind];
}

int trace_event_find(const char *name)
{
  for (int i = 0; i < EV_COUNT; i++) {
    if (strcmp(names[i], name) == 0)
      return i;
  }
  return -1;
}
