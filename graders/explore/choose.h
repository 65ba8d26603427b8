// What happens next: the choices that make up one schedule, and the order in
// which schedules are tried. Knows nothing of harts, locks or memory.
//
// A schedule is a run of points; at each, one of several options is taken.
// Option 0 is the natural one and is free; others may cost one unit, which is
// a preemption. Everything else about a run follows from the choices, so a
// schedule is repeated by repeating them.
#ifndef LABGEN_EXPLORE_CHOOSE_H
#define LABGEN_EXPLORE_CHOOSE_H

#include <stdbool.h>
#include <stdint.h>

enum { CHOOSE_OPTIONS = 8, CHOOSE_DEPTH = 4096 };

// One choice that was not option 0.
struct choice {
  uint32_t point;  // counted from 0 in the schedule
  uint8_t option;
  uint8_t cost;
};

enum choose_mode {
  CHOOSE_ALL,     // every schedule of at most `bound` units, depth first
  CHOOSE_RANDOM,  // each option with the same probability
  CHOOSE_PCT,     // random priorities with `bound` changes at random points
                  // (Burckhardt et al., ASPLOS 2010)
  CHOOSE_REPLAY,  // the choices that were given
};

struct choose_option {
  uint8_t cost;   // 0 or 1
  uint8_t actor;  // who acts then: small numbers, below CHOOSE_OPTIONS
};

struct choose_node {
  uint32_t point;
  uint8_t count, taken, spent;  // spent: before this node
  uint8_t cost[CHOOSE_OPTIONS];
};

struct chooser {
  enum choose_mode mode;
  int bound;
  uint32_t point;  // of the current schedule
  int spent;       // in the current schedule
  bool too_deep;   // a schedule had more than CHOOSE_DEPTH choices

  struct choose_node node[CHOOSE_DEPTH];  // CHOOSE_ALL: the current path
  uint32_t depth, replayed;

  uint64_t random;  // state of the generator
  uint32_t expect;  // points to expect in a schedule, for PCT
  int priority[CHOOSE_OPTIONS];
  uint32_t change[8];

  const struct choice *given;  // CHOOSE_REPLAY; borrowed
  uint32_t given_count;

  struct choice made[CHOOSE_DEPTH];  // of the current schedule
  uint32_t made_count;
};

// Sets up for one of the modes. `bound` is the most units of a schedule (for
// PCT, changes of priority); `seed` feeds the random modes.
void choose_init(struct chooser *c, enum choose_mode mode, int bound,
                 uint64_t seed);
void choose_init_replay(struct chooser *c, const struct choice *given,
                        uint32_t count);

// Begins a schedule.
void choose_begin(struct chooser *c);

// Whether anything but option 0 is possible where every other option costs.
// When not, choose_skip() is enough.
static inline bool choose_open(const struct chooser *c)
{
  return c->mode != CHOOSE_ALL || c->spent < c->bound;
}

static inline void choose_skip(struct chooser *c)
{
  c->point++;
}

// Takes one of `count` options (2 to CHOOSE_OPTIONS; option 0 costs 0) and
// returns its number.
int choose(struct chooser *c, const struct choose_option *option, int count);

// Ends a schedule. Returns whether there is another: for CHOOSE_ALL until all
// were tried, for random modes always, for a replay never.
bool choose_next(struct chooser *c);

// The generator that the random modes draw from (splitmix64).
uint64_t choose_random(uint64_t *state);

#endif
