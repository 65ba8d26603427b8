// graders/plugin and graders/locks: reading what the QEMU plugin writes.
#include <criterion/criterion.h>
#include <string.h>

#include "graders/locks.h"
#include "graders/plugin.h"

static const char lines[] =
    "labgen-plugin 1 api 1 harts 2\n"
    "work 300 1000 20 2000 30\n"
    "interval 1 450\n"
    "user 0 5\n"
    "lock 0 80001000 7 0 0 0\n"
    "lock 1 80001000 3 2 90 60\n"
    "lock 1 80002000 4 0 0 0\n"
    "atomic 1 80003000 11\n"
    "foreign 0 80004000 0 3\n"
    "foreign 1 80004000 10000000 1\n"
    "sent 0 100\n"
    "lost 1 6\n"
    "end 1\n"
    "deadlock 900 2 1 80002000 80001000 0 80001000 80002000\n"
    "stuck 1900 0 80002000 1 123456\n"
    "stuck 1900 1 80009000 - 5\n"
    "interval 2 2000\n"
    "user 0 0\n"
    "foreign 1 80004000 0 4\n"
    "sent 1 20\n"
    "end 2\n"
    "bye 2001\n";

// Feeds the lines in pieces of `size` bytes.
static void feed(struct plugin_report *r, size_t size)
{
  struct error err = {0};

  for (size_t at = 0; at < sizeof(lines) - 1; at += size) {
    size_t left = sizeof(lines) - 1 - at;
    int rc = plugin_report_feed(r, lines + at, left < size ? left : size, &err);
    cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
  }
}

static void expect_counts(const struct plugin_report *r)
{
  cr_assert_eq(r->harts, 2);
  cr_expect_eq(r->api, 1);
  cr_expect_eq(r->work.ms, 300);
  cr_expect_eq(r->work.user_instructions[1], 2000);
  cr_expect_eq(r->work.acquisitions[1], 30);

  cr_assert_eq(r->interval_count, 2);
  const struct plugin_interval *in = &r->intervals[0];
  cr_expect(in->complete);
  cr_expect_eq(in->end_ms, 450);
  cr_expect_eq(in->user_instructions[0], 5);
  cr_expect_eq(in->lost, 6);
  cr_assert_eq(in->lock_count, 3);
  cr_expect_eq(in->locks[1].lock, 0x80001000);
  cr_expect_eq(in->locks[1].hart, 1);
  cr_expect_eq(in->locks[1].spins, 90);
  cr_expect_eq(in->locks[1].longest, 60);
  cr_assert_eq(in->atomic_count, 1);
  cr_expect_eq(in->atomics[0].times, 11);
  cr_expect_eq(r->sent, 120);
  cr_assert_eq(r->foreign_count, 2);
  cr_expect_eq(r->foreign[0].times, 7, "of both harts and intervals");
  cr_expect_eq(r->foreign[1].address, 0x10000000);
  cr_expect_eq(r->intervals[1].lock_count, 0);
}

static void expect_waits(const struct plugin_report *r)
{
  cr_assert_eq(r->circle_len, 2);
  cr_expect_eq(r->circle[0].hart, 1);
  cr_expect_eq(r->circle[0].awaits, 0x80001000);
  cr_expect_eq(r->circle[1].holds, 0x80001000);
  cr_assert_eq(r->stuck_count, 2);
  cr_expect_eq(r->stuck[0].holder, 1);
  cr_expect_eq(r->stuck[1].holder, -1);
  cr_expect(r->ended);
}

Test(plugin_report, comes_out_the_same_in_pieces_of_any_size)
{
  for (size_t size = 1; size <= sizeof(lines); size += 13) {
    struct plugin_report r = {0};
    feed(&r, size);
    expect_counts(&r);
    expect_waits(&r);
    plugin_report_release(&r);
  }
}

Test(plugin_report, refuses_lines_that_the_plugin_does_not_write)
{
  static const char *const bad[] = {
      "work 1 2 3\n",                               // before the hello
      "labgen-plugin 1 api 1 harts 2\nnonsense\n",  //
      "labgen-plugin 1 api 1 harts 99\n",           // too many
      "labgen-plugin 1 api 1 harts 2\nuser 0 5\n",  // in no interval
      "labgen-plugin 1 api 1 harts 2\ninterval 1 9\nlock 2 8000 1 0 0 0\n",
      "labgen-plugin 1 api 1 harts 2\ninterval 1 9\nlock 0 8000 1 0\n",
      "labgen-plugin 1 api 1 harts 2\ninterval 1 9\nend 2\n",
      "labgen-plugin 1 api 1 harts 2\ndeadlock 1 3 0 1 2 0 1 2 0 1 2\n",
  };

  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    struct plugin_report r = {0};
    struct error err = {0};
    cr_expect_eq(plugin_report_feed(&r, bad[i], strlen(bad[i]), &err),
                 LG_EHARNESS, "%s", bad[i]);
    cr_expect_not_null(strstr(err.message, "a line that it should not"));
    error_release(&err);
    plugin_report_release(&r);
  }
}

Test(locks, report_adds_up_what_has_one_name)
{
  struct plugin_report r = {0};
  struct buf text = BUF_INIT;
  struct lock_name rows[] = {{0x80001000, "kmem1"}, {0x80002000, "kmem1"}};
  struct lock_names names = {.names = rows, .count = 2};

  feed(&r, sizeof(lines));
  locks_print(&r.intervals[0], &names, &text);
  cr_expect_str_eq(text.data,
                   "LS kmem1 acq 14 contended 2 spins 90 maxspins 60\n"
                   "LSH hart 0 kmem1 acq 7 contended 0 spins 0\n"
                   "LSH hart 1 kmem1 acq 7 contended 2 spins 90\n");
  buf_release(&text);
  plugin_report_release(&r);
}

Test(locks, traffic_is_remote_by_the_number_in_the_name)
{
  struct plugin_report r = {0};
  struct lock_traffic t;
  struct lock_name rows[] = {{0x80001000, "kmem1"}, {0x80002000, "kmem_gate"}};
  struct lock_names names = {.names = rows, .count = 2};

  feed(&r, sizeof(lines));
  locks_traffic(&r.intervals[0], &names, "kmem", &t);
  cr_expect_eq(t.acquired, 14);
  cr_expect_eq(t.remote, 7, "hart 0 took kmem1");
  cr_expect_eq(t.shared, 4);
  cr_expect_eq(t.contended, 2);
  locks_traffic(&r.intervals[0], &names, "pipe", &t);
  cr_expect_eq(t.acquired, 0);
  plugin_report_release(&r);
}

Test(locks, without_guest_memory_a_lock_is_called_by_its_place)
{
  struct plugin_report r = {0};
  struct object_symbol symbol = {.name = "table",
                                 .value = 0x80000f00,
                                 .size_bytes = 0x200,
                                 .defined = true,
                                 .global = true};
  struct binary kernel = {.symbols = &symbol, .symbol_count = 1};
  struct lock_names names;

  feed(&r, sizeof(lines));
  lock_names_read(&r.intervals[0], &kernel, NULL, &names);
  cr_expect_str_eq(lock_names_find(&names, 0x80001000), "[table+0x100]");
  cr_expect_str_eq(lock_names_find(&names, 0x80002000), "[0x80002000]");
  cr_expect_str_eq(lock_names_find(&names, 1), "[unknown]");
  lock_names_release(&names);
  plugin_report_release(&r);
}
