// graders/explore/choose: which schedules there are, and repeating them.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graders/explore/choose.h"

static struct chooser c;

// A toy: `threads` threads with `steps` steps each, a point before each step.
// Writes the order of the steps, such as "001101".
static void run_toy(int threads, int steps, char *order)
{
  int left[3] = {steps, steps, steps}, now = -1, total = threads * steps;
  choose_begin(&c);
  for (int i = 0; i < total; i++) {
    struct choose_option option[CHOOSE_OPTIONS];
    int n = 0;
    bool can = now >= 0 && left[now] > 0;
    if (can)
      option[n++] = (struct choose_option){0, (uint8_t)now};
    for (int t = 0; t < threads; t++) {
      if (t != now && left[t] > 0)
        option[n++] = (struct choose_option){can, (uint8_t)t};
    }
    if (n > 1 && (!can || choose_open(&c)))
      now = option[choose(&c, option, n)].actor;
    else {
      now = option[0].actor;
      choose_skip(&c);
    }
    left[now]--;
    order[i] = (char)('0' + now);
  }
  order[total] = '\0';
}

// Runs all schedules and returns their number; none comes twice.
static int count(int threads, int steps, int bound, int most_spent)
{
  static char seen[2000][16];
  int n = 0;
  choose_init(&c, CHOOSE_ALL, bound, 0);
  do {
    run_toy(threads, steps, seen[n]);
    cr_assert_leq(c.spent, most_spent);
    for (int i = 0; i < n; i++)
      cr_assert_str_neq(seen[i], seen[n]);
    n++;
  } while (choose_next(&c));
  return n;
}

Test(explore_choose, without_preemption_threads_run_one_after_the_other)
{
  cr_assert_eq(count(2, 3, 0, 0), 2);
  cr_assert_eq(count(3, 2, 0, 0), 6);
}

Test(explore_choose, each_bound_adds_the_schedules_with_one_more)
{
  // Two threads with three steps: the first is cut at one of two places, and
  // then the second runs to its end or is cut itself, which is the second unit.
  cr_assert_eq(count(2, 3, 1, 1), 6);
  cr_assert_eq(count(2, 3, 2, 2), 14);
}

Test(explore_choose, a_large_bound_gives_every_interleaving)
{
  cr_assert_eq(count(2, 3, 20, 20), 20);  // 6! / (3! 3!)
  cr_assert_eq(count(3, 2, 20, 20), 90);  // 6! / (2! 2! 2!)
  cr_assert_eq(count(3, 3, 20, 20), 1680);
}

Test(explore_choose, the_choices_that_were_made_repeat_a_schedule)
{
  enum choose_mode modes[] = {CHOOSE_ALL, CHOOSE_RANDOM, CHOOSE_PCT};
  for (int m = 0; m < 3; m++) {
    struct chooser kept;
    choose_init(&c, modes[m], 2, 7);
    for (int i = 0; i < 14; i++) {
      char order[16], again[16];
      struct choice made[32];
      run_toy(2, 3, order);
      uint32_t n = c.made_count;
      memcpy(made, c.made, n * sizeof made[0]);
      memcpy(&kept, &c, sizeof c);
      choose_init_replay(&c, made, n);
      run_toy(2, 3, again);
      cr_assert_str_eq(order, again);
      cr_assert(!choose_next(&c));
      memcpy(&c, &kept, sizeof c);
      choose_next(&c);
    }
  }
}

Test(explore_choose, a_seed_gives_the_same_random_schedules)
{
  char a[10][16], b[16];
  for (int round = 0; round < 2; round++) {
    choose_init(&c, CHOOSE_RANDOM, 0, 42);
    for (int i = 0; i < 10; i++) {
      run_toy(3, 3, round ? b : a[i]);
      if (round)
        cr_assert_str_eq(a[i], b);
      cr_assert(choose_next(&c));
    }
  }
  choose_init(&c, CHOOSE_RANDOM, 0, 43);
  int same = 0;
  for (int i = 0; i < 10; i++) {
    run_toy(3, 3, b);
    same += strcmp(a[i], b) == 0;
  }
  cr_assert_lt(same, 10);
}

Test(explore_choose, a_replayed_option_that_is_not_there_is_the_natural_one)
{
  struct choice wild[] = {{.point = 0, .option = 200}};
  char order[16];
  choose_init_replay(&c, wild, 1);
  run_toy(2, 2, order);
  cr_assert_str_eq(order, "0011");
}
