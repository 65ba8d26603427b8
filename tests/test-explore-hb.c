// graders/explore/hb: which accesses race.
#include <criterion/criterion.h>

#include "graders/explore/hb.h"

static struct hb_state s;
static struct hb_cell cell;
static struct hb_race race;

static void setup(void)
{
  s = (struct hb_state){0};
  cell = (struct hb_cell){0};
  hb_begin(&s);
}

static bool plain(int thread, bool write, unsigned bytes)
{
  return hb_access(&s, &cell,
                   &(struct hb_access){.thread = thread,
                                       .bytes = bytes,
                                       .write = write,
                                       .pc = (void *)(uintptr_t)(thread + 1)},
                   &race);
}

static bool sync(int thread, bool write)
{
  return hb_access(
      &s, &cell,
      &(struct hb_access){
          .thread = thread, .bytes = 0xff, .write = write, .sync = true},
      &race);
}

TestSuite(explore_hb, .init = setup);

Test(explore_hb, two_writes_race_and_the_earlier_one_is_named)
{
  cr_assert(!plain(0, true, 0xff));
  cr_assert(plain(1, true, 0xff));
  cr_assert_eq(race.pc, (void *)1);
  cr_assert_eq(race.thread, 0);
  cr_assert(race.wrote);
}

Test(explore_hb, a_read_and_a_write_race_in_both_orders)
{
  cr_assert(!plain(0, false, 0xff));
  cr_assert(plain(1, true, 0xff));
  cr_assert(!race.wrote);
  setup();
  cr_assert(!plain(0, true, 0xff));
  cr_assert(plain(1, false, 0xff));
}

Test(explore_hb, reads_do_not_race)
{
  for (int t = 0; t < HB_THREADS; t++)
    cr_assert(!plain(t, false, 0xff));
}

Test(explore_hb, one_thread_does_not_race_with_itself)
{
  cr_assert(!plain(2, true, 0xff));
  cr_assert(!plain(2, false, 0xff));
  cr_assert(!plain(2, true, 0xff));
}

Test(explore_hb, a_lock_orders_what_was_done_before_it_was_given_back)
{
  struct hb_clock lock = {{0}};
  hb_learn(&s, 0, &lock);
  cr_assert(!plain(0, true, 0xff));
  hb_teach(&s, 0, &lock);
  hb_learn(&s, 1, &lock);
  cr_assert(!plain(1, true, 0xff));
}

Test(explore_hb, a_lock_does_not_order_what_is_done_after_it)
{
  struct hb_clock lock = {{0}};
  hb_teach(&s, 0, &lock);
  cr_assert(!plain(0, true, 0xff));
  hb_learn(&s, 1, &lock);
  cr_assert(plain(1, true, 0xff));
}

Test(explore_hb, order_is_passed_on_through_a_third_thread)
{
  struct hb_clock a = {{0}}, b = {{0}};
  cr_assert(!plain(0, true, 0xff));
  hb_teach(&s, 0, &a);
  hb_learn(&s, 1, &a);
  hb_teach(&s, 1, &b);
  hb_learn(&s, 2, &b);
  cr_assert(!plain(2, true, 0xff));
}

Test(explore_hb, different_bytes_of_a_word_do_not_race)
{
  cr_assert(!plain(0, true, 0x0f));
  cr_assert(!plain(1, true, 0xf0));
  cr_assert(plain(2, true, 0x18));
}

Test(explore_hb, atomic_accesses_race_with_plain_ones_only)
{
  cr_assert(!sync(0, true));
  cr_assert(!sync(1, true));
  cr_assert(!sync(2, false));
  cr_assert(plain(0, true, 0xff));
}

Test(explore_hb, a_new_schedule_forgets_the_old_one)
{
  cr_assert(!plain(0, true, 0xff));
  hb_begin(&s);
  cr_assert(!plain(1, true, 0xff));
  s.step = 5;
  cr_assert(!hb_changed_since(&s, &cell, 5));
  plain(1, true, 0xff);
  cr_assert(hb_changed_since(&s, &cell, 4));
}
