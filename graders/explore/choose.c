// Depth-first search under a bound, random schedules, and replay.
//
// Deliberately no reduction of equivalent schedules: within two preemptions
// the small programs that run here have few enough.
#include "graders/explore/choose.h"

#include <string.h>

uint64_t choose_random(uint64_t *state)
{
  // Constants from Steele, Lea and Flood, OOPSLA 2014.
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void choose_init(struct chooser *c, enum choose_mode mode, int bound,
                 uint64_t seed)
{
  c->mode = mode;
  c->bound = bound;
  c->depth = 0;
  c->too_deep = false;
  c->random = seed;
  c->expect = 32;
  c->given = NULL;
  c->given_count = 0;
}

void choose_init_replay(struct chooser *c, const struct choice *given,
                        uint32_t count)
{
  choose_init(c, CHOOSE_REPLAY, 0, 0);
  c->given = given;
  c->given_count = count;
}

void choose_begin(struct chooser *c)
{
  c->point = 0;
  c->spent = 0;
  c->replayed = 0;
  c->made_count = 0;
  if (c->mode != CHOOSE_PCT)
    return;
  for (int i = 0; i < CHOOSE_OPTIONS; i++)
    c->priority[i] = (int)(choose_random(&c->random) >> 40) + 16;
  for (int i = 0; i < c->bound && i < 8; i++)
    c->change[i] = (uint32_t)(choose_random(&c->random) % c->expect);
}

// The next step of the path, or a new end of it.
static int choose_on_path(struct chooser *c, const struct choose_option *option,
                          int count)
{
  if (c->replayed < c->depth)
    return c->node[c->replayed++].taken;
  if (c->depth == CHOOSE_DEPTH) {
    c->too_deep = true;
    return 0;
  }
  struct choose_node *n = &c->node[c->depth++];
  c->replayed = c->depth;
  n->point = c->point;
  n->count = (uint8_t)count;
  n->taken = 0;
  n->spent = (uint8_t)c->spent;
  for (int i = 0; i < count; i++)
    n->cost[i] = option[i].cost;
  return 0;
}

static int choose_by_priority(struct chooser *c,
                              const struct choose_option *option, int count)
{
  for (int i = 0; i < c->bound && i < 8; i++) {
    if (c->change[i] == c->point)
      c->priority[option[0].actor] = i;
  }
  int best = 0;
  for (int i = 1; i < count; i++) {
    if (c->priority[option[i].actor] > c->priority[option[best].actor])
      best = i;
  }
  return best;
}

static int choose_as_given(const struct chooser *c, int count)
{
  for (uint32_t i = 0; i < c->given_count; i++) {
    if (c->given[i].point == c->point)
      return c->given[i].option < count ? c->given[i].option : 0;
  }
  return 0;
}

int choose(struct chooser *c, const struct choose_option *option, int count)
{
  int taken = 0;
  switch (c->mode) {
  case CHOOSE_ALL:
    taken = choose_on_path(c, option, count);
    break;
  case CHOOSE_RANDOM:
    taken = (int)(choose_random(&c->random) % (unsigned)count);
    break;
  case CHOOSE_PCT:
    taken = choose_by_priority(c, option, count);
    break;
  case CHOOSE_REPLAY:
    taken = choose_as_given(c, count);
    break;
  }
  if (taken != 0 && c->made_count < CHOOSE_DEPTH)
    c->made[c->made_count++] =
        (struct choice){c->point, (uint8_t)taken, option[taken].cost};
  c->spent += option[taken].cost;
  c->point++;
  return taken;
}

bool choose_next(struct chooser *c)
{
  if (c->mode == CHOOSE_REPLAY)
    return false;
  if (c->mode != CHOOSE_ALL) {
    if (c->point > c->expect)
      c->expect = c->point;
    return true;
  }
  for (; c->depth > 0; c->depth--) {
    struct choose_node *n = &c->node[c->depth - 1];
    while (++n->taken < n->count) {
      if (n->spent + n->cost[n->taken] <= c->bound)
        return true;
    }
  }
  return false;
}
