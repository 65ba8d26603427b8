// The explorer's smaller parts: who has which page, lock order, events,
// smaller programs, coroutines, the table of findings.
#include <criterion/criterion.h>
#include <string.h>

#include "graders/explore/coro.h"
#include "graders/explore/kinds.h"
#include "graders/explore/locks.h"
#include "graders/explore/pages.h"
#include "graders/explore/shrink.h"
#include "graders/explore/trace.h"

// ---- pages ------------------------------------------------------------------

Test(explore_pages, a_page_that_is_held_cannot_be_handed_out)
{
  struct pages p;
  pages_init(&p, 4);
  cr_assert_eq(pages_handed_out(&p, 1, 0), 0);
  cr_assert_eq(pages_handed_out(&p, 1, 2), -1);
  cr_assert_eq(pages_free(&p), 3);
}

Test(explore_pages, a_page_can_be_handed_out_again_before_its_free_returns)
{
  struct pages p;
  pages_init(&p, 2);
  cr_assert_eq(pages_handed_out(&p, 0, 0), 0);
  pages_freeing(&p, 0, 0);
  cr_assert_eq(pages_handed_out(&p, 0, 1), 0);
  pages_freed(&p, 0, 0, 9);
  cr_assert_eq(p.page[0].state, PAGE_HELD);
  // ... and while the new holder frees it, the old call of free may return.
  pages_freeing(&p, 0, 1);
  pages_freed(&p, 0, 0, 10);
  cr_assert_eq(p.page[0].state, PAGE_FREEING);
  pages_freed(&p, 0, 1, 11);
  cr_assert_eq(p.page[0].state, PAGE_FREE);
  cr_assert_eq(p.page[0].free_since, 11);
}

// ---- locks ------------------------------------------------------------------

static struct locks l;

static int lock(const char *name)
{
  return locks_number(&l, name);
}

// A thread takes locks in this order and gives them all back.
static void take_in_order(int a, int b, int c)
{
  struct locks_held held = {.count = 0};
  int all[] = {a, b, c};
  for (int i = 0; i < 3; i++)
    locks_take(&l, &held, all[i], NULL);
  for (int i = 2; i >= 0; i--)
    cr_assert_eq(locks_drop(&held, all[i]), all[i] >= 0);
}

static void no_locks(void)
{
  memset(&l, 0, sizeof l);
}

TestSuite(explore_locks, .init = no_locks);

Test(explore_locks, one_order_for_all_is_no_circle)
{
  static const char a, b, c;
  int circle[LOCKS_MOST];
  take_in_order(lock(&a), lock(&b), lock(&c));
  take_in_order(lock(&a), lock(&c), -1);
  cr_assert_eq(locks_circle(&l, circle), 0);
}

Test(explore_locks, two_orders_are_a_circle_of_two)
{
  static const char a, b;
  int circle[LOCKS_MOST];
  take_in_order(lock(&a), lock(&b), -1);
  take_in_order(lock(&b), lock(&a), -1);
  cr_assert_eq(locks_circle(&l, circle), 2);
}

Test(explore_locks, three_orders_are_a_circle_of_three)
{
  static const char a, b, c;
  int circle[LOCKS_MOST];
  take_in_order(lock(&a), lock(&b), -1);
  take_in_order(lock(&b), lock(&c), -1);
  take_in_order(lock(&c), lock(&a), -1);
  cr_assert_eq(locks_circle(&l, circle), 3);
}

Test(explore_locks, a_gate_round_all_of_a_circle_makes_it_harmless)
{
  static const char gate, a, b;
  int circle[LOCKS_MOST];
  take_in_order(lock(&gate), lock(&a), lock(&b));
  take_in_order(lock(&gate), lock(&b), lock(&a));
  cr_assert_eq(locks_circle(&l, circle), 0);
  // Once without the gate is once too often: it does not keep that one out.
  take_in_order(lock(&a), lock(&b), -1);
  cr_assert_eq(locks_circle(&l, circle), 2);
}

Test(explore_locks, numbers_stay_and_run_out_without_harm)
{
  static char many[LOCKS_MOST + 1][8];
  for (int i = 0; i < LOCKS_MOST; i++)
    cr_assert_eq(lock(many[i]), i);
  cr_assert_eq(lock(many[LOCKS_MOST]), -1);
  cr_assert_eq(lock(many[7]), 7);
}

// ---- events -----------------------------------------------------------------

Test(explore_trace, equal_events_have_equal_hashes_and_others_do_not)
{
  struct trace t = {.recording = true};
  uint64_t hash[3];
  for (int i = 0; i < 3; i++) {
    struct ex_event e = {.kind = EV_TAKES, .addr = 64, .value = i == 2};
    trace_begin(&t);
    trace_add(&t, &e);
    trace_add(&t, &e);
    hash[i] = t.hash;
    cr_assert_eq(t.events, 2);
  }
  cr_assert_eq(hash[0], hash[1]);
  cr_assert_neq(hash[0], hash[2]);
  trace_release(&t);
}

Test(explore_trace, names_and_numbers_of_events_agree)
{
  for (int i = 0; i < EV_COUNT; i++)
    cr_assert_eq(trace_event_find(trace_event_name((enum ex_event_kind)i)), i);
  cr_assert_eq(trace_event_find("no such event"), -1);
}

Test(explore_kinds, names_and_numbers_of_findings_agree)
{
  for (int i = 0; i < EX_KIND_COUNT; i++)
    cr_assert_eq(ex_kind_find(ex_kind_name((enum ex_kind)i)), i);
  cr_assert_eq(ex_kind_find("no such finding"), -1);
  cr_assert(ex_kind_is_finding(EX_DEADLOCK));
  cr_assert(!ex_kind_is_finding(EX_RACE));
}

// ---- smaller programs -------------------------------------------------------

// Shows "it" when hart 1 frees somewhere after two pages or more were taken.
static bool shows(void *arg, const struct ex_program *p)
{
  const struct ex_ops *ops = &p->thread[1];
  int taken = 0;
  ++*(int *)arg;
  for (int i = 0; i < ops->count; i++) {
    if (ops->op[i].kind == OP_ALLOC)
      taken += ops->op[i].number;
    if (ops->op[i].kind == OP_FREE && taken >= 2)
      return true;
  }
  return false;
}

Test(explore_shrink, what_is_not_needed_goes)
{
  struct ex_program p = {
      .before = {{.op = {{OP_ALLOC, 3}}, .count = 1}},
      .thread = {{.op = {{OP_ALLOC, 1}, {OP_FREE, 1}}, .count = 2},
                 {.op = {{OP_OFF, 0}, {OP_ALLOC, 5}, {OP_FREE, 3}, {OP_ON, 0}},
                  .count = 4}},
  };
  int asked = 0;
  shrink(&p, shows, &asked);
  cr_assert_eq(p.before[0].count, 0);
  cr_assert_eq(p.thread[0].count, 0);
  cr_assert_eq(p.thread[1].count, 2);
  cr_assert_eq(p.thread[1].op[0].kind, OP_ALLOC);
  cr_assert_eq(p.thread[1].op[0].number, 2);
  cr_assert_eq(p.thread[1].op[1].kind, OP_FREE);
  cr_assert_eq(p.thread[1].op[1].number, 1);
  cr_assert_lt(asked, 60);
}

Test(explore_shrink, large_numbers_become_small_in_few_attempts)
{
  struct ex_program p = {
      .thread = {{.count = 0},
                 {.op = {{OP_ALLOC, 1023}, {OP_FREE, 900}}, .count = 2}}};
  int asked = 0;
  shrink(&p, shows, &asked);
  cr_assert_eq(p.thread[1].count, 2);
  cr_assert_eq(p.thread[1].op[0].number, 2);
  cr_assert_eq(p.thread[1].op[1].number, 1);
  cr_assert_lt(asked, 60);
}

Test(explore_shrink, a_program_that_is_small_stays)
{
  struct ex_program p = {
      .thread = {{.count = 0},
                 {.op = {{OP_ALLOC, 2}, {OP_FREE, 1}}, .count = 2}}};
  struct ex_program before = p;
  int asked = 0;
  shrink(&p, shows, &asked);
  cr_assert_eq(memcmp(&p.thread, &before.thread, sizeof p.thread), 0);
}

// ---- coroutines -------------------------------------------------------------

static struct coro outside, inside;
static int steps;

static void body(void)
{
  for (;;) {
    steps++;
    coro_switch(&inside, &outside);
  }
}

Test(explore_coro, a_coroutine_goes_on_where_it_was_and_can_be_started_anew)
{
  char *stack = coro_stack_new();
  for (int round = 1; round <= 2; round++) {
    coro_start(&inside, stack, body);
    for (int i = 0; i < 3; i++)
      coro_switch(&outside, &inside);
    cr_assert_eq(steps, 3 * round);
  }
  coro_stack_free(stack);
}
