// graders/plugin, graders/locks and the QEMU plugin: real boots. What the plugin
// counts is held to counters in the kernel, which count where there is none.
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graders/boot.h"
#include "graders/counted.h"
#include "graders/guest.h"
#include "graders/kernel.h"
#include "graders/locks.h"
#include "graders/object.h"
#include "graders/plugin.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/repo/course.h"

#define TREE(name) "build/kernel/" name
// Hosts differ much; these end a test that would hang.
#define STEP_MS 120000

#define PROMPT                       \
  {                                  \
    BOOT_WAIT_LINE, "$ ", 0, STEP_MS \
  }
#define COMMAND(line)                \
  {BOOT_SEND, line "\n", 0, 0},      \
  {                                  \
    BOOT_WAIT_LINE, "$ ", 0, STEP_MS \
  }
#define CTRL_P                                \
  {BOOT_SEND, BOOT_CTRL_P, 0, 0},             \
  {                                           \
    BOOT_WAIT_LINE, "free pages:", 0, STEP_MS \
  }

// A boot with the plugin, its end awaited.
struct run {
  unsigned harts;  // 0: 3
  struct binary kernel, part;
  struct guest guest;
  struct plugin_channel channel;
  struct boot *boot;
  char *folder;
  struct error err;
};

static void on_round(void *arg, struct boot *boot)
{
  struct run *r = arg;

  if (plugin_channel_read(&r->channel, &r->err) != 0)
    boot_stop(boot, r->err.message);
  else if (r->channel.report.circle_len > 0)
    boot_stop(boot, "deadlock");
}

static void expect_ok(int rc, struct run *r)
{
  cr_assert_eq(rc, 0, "%s", r->err.message ? r->err.message : "");
}

static void run_kernel(struct run *r, const char *kernel, const char *part,
                       const struct boot_step *steps, size_t count)
{
  struct buf argument = BUF_INIT;

  *r = (struct run){.harts = r->harts};
  expect_ok(object_read(kernel, &r->kernel, &r->err), r);
  expect_ok(object_read(part, &r->part, &r->err), r);
  expect_ok(guest_open(128, NULL, &r->guest, &r->err), r);
  expect_ok(file_make_temp_dir(NULL, "plugin-", &r->folder, &r->err), r);
  expect_ok(plugin_channel_open(r->folder, "out", &r->channel, &r->err), r);
  const char *uart = "0x10000000-0x10000fff";
  const struct texts devices = {&uart, 1};
  struct plugin_spec spec = {.plugin = "build/plugin.so",
                             .kernel = &r->kernel,
                             .object = &r->part,
                             .devices = &devices,
                             .out = r->channel.path};
  expect_ok(plugin_argument(&spec, &argument, &r->err), r);

  struct boot_spec b = {.kernel = kernel,
                        .harts = r->harts,
                        .steps = steps,
                        .step_count = count,
                        .timeout_ms = 4 * STEP_MS,
                        .plugin = argument.data,
                        .extra = r->guest.args,
                        .arg = r,
                        .on_round = on_round};
  expect_ok(boot_run(&b, &r->boot, &r->err), r);
  expect_ok(plugin_channel_read(&r->channel, &r->err), r);
  buf_release(&argument);
}

static void run(struct run *r, const char *tree, const struct boot_step *steps,
                size_t count)
{
  char *kernel = path_join(tree, "kernel/kernel");
  char *part = path_join(tree, "kernel/kalloc.o");

  run_kernel(r, kernel, part, steps, count);
  free(kernel);
  free(part);
}

#define RUN(r, tree, ...)                               \
  run(r, tree, (const struct boot_step[]){__VA_ARGS__}, \
      sizeof((const struct boot_step[]){__VA_ARGS__}) / \
          sizeof(struct boot_step))

static void end(struct run *r)
{
  boot_release(r->boot);
  plugin_channel_close(&r->channel);
  guest_close(&r->guest);
  object_release(&r->kernel);
  object_release(&r->part);
  file_remove_tree(r->folder, NULL);
  free(r->folder);
  error_release(&r->err);
}

static void expect_completed(const struct run *r)
{
  cr_assert_eq(boot_verdict(r->boot), BOOT_COMPLETED, "it %s (%s), after:\n%s",
               boot_verdict_words(boot_verdict(r->boot)), boot_detail(r->boot),
               buf_str(&boot_console(r->boot)->text));
  cr_assert(r->channel.report.ended, "the plugin said its last words");
}

// The address of a variable of the kernel.
static uint64_t address_of(const struct run *r, const char *name)
{
  const struct object_symbol *s = object_find(&r->kernel, name);
  cr_assert_not_null(s, "%s", name);
  return s->value;
}

// What all intervals say of a lock and hart.
static struct lock_use total(const struct plugin_report *report, unsigned hart,
                             uint64_t lock)
{
  struct lock_use sum = {.lock = lock, .hart = hart};

  for (size_t i = 0; i < report->interval_count; i++) {
    const struct plugin_interval *in = &report->intervals[i];
    for (size_t k = 0; k < in->lock_count; k++) {
      if (in->locks[k].lock != lock || in->locks[k].hart != hart)
        continue;
      sum.acquired += in->locks[k].acquired;
      sum.contended += in->locks[k].contended;
      sum.spins += in->locks[k].spins;
      if (in->locks[k].longest > sum.longest)
        sum.longest = in->locks[k].longest;
    }
  }
  return sum;
}

// --- Counts ---------------------------------------------------------------------

// The reference with `before` in front of kalloc(), and `inside` in it. With
// `counted` not NULL it is linked with counters in it once more, at a path that
// is the caller's.
static void make_kernel(const char *before, const char *inside,
                        struct kernel_pair *ret, char **counted)
{
  static const char path[] = "kernel/kalloc.c";
  static const char function[] = "void *kalloc(void)\n{\n";
  struct course course = {0};
  struct stock stock = {0};
  struct kernel_pair pair = {0};
  struct tree tree = {0};
  struct error err = {0};
  int rc = course_load("config.yaml", false, &course, &err);

  rc = rc ? rc
          : stock_open("build/test-cache", course_start(&course), false, &stock,
                       &err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
  tree_copy(&tree, course_reference(&course));
  const char *text = tree_find(&tree, path)->content->bytes;
  const char *at = strstr(text, function);
  cr_assert_not_null(at);
  char *new = xasprintf("%.*s%s%s%s%s", (int)(at - text), text, before,
                        function, inside, at + strlen(function));
  rc = tree_put(&tree, path, new, strlen(new), false, &err);
  rc = rc ? rc : kernel_pair_build(&stock, &tree, &pair, &err);
  if (rc == 0 && counted != NULL)
    rc = kernel_counted(&stock, &pair, counted, &err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
  tree_release(&tree);
  stock_close(&stock);
  course_release(&course);
  free(new);
  *ret = pair;
}

// What the kernel's own counters say, summed up over its intervals.
static struct plugin_report counted_inside(struct run *r)
{
  struct counted c;
  size_t count;

  counted_open_inside(&r->kernel, &c);
  cr_assert(c.counters_at != 0);
  counted_intervals(&c, &r->guest, &count);
  cr_expect_eq(count, r->channel.report.interval_count);
  return c.from_kernel;
}

Test(plugin, counts_are_those_of_counters_in_the_kernel)
{
  static const struct boot_step steps[] = {
      PROMPT, COMMAND("kalloctest 100"), CTRL_P, COMMAND("kchurn 200"), CTRL_P};
  struct run r = {0};
  struct kernel_pair pair;
  char *kernel = NULL;
  uint64_t compared = 0, contended = 0, reported = 0;

  make_kernel("", "", &pair, &kernel);
  run_kernel(&r, kernel, pair.object, steps, sizeof steps / sizeof *steps);
  expect_completed(&r);
  // Memory and report are both of the moment at which QEMU stopped the harts.
  // An interval ends a few instructions earlier in the kernel than in the
  // plugin, so sums are compared.
  struct plugin_report inside = counted_inside(&r);
  for (size_t i = 0; i < inside.interval_count; i++) {
    cr_expect_eq(inside.intervals[i].lost, 0);
    for (size_t k = 0; k < inside.intervals[i].lock_count; k++)
      compared += inside.intervals[i].locks[k].acquired;
  }
  for (size_t i = 0; i < r.channel.report.interval_count; i++) {
    const struct plugin_interval *in = &r.channel.report.intervals[i];
    cr_expect(in->complete);
    cr_expect_eq(in->lost, 0);
    for (size_t k = 0; k < in->lock_count; k++) {
      const struct lock_use *use = &in->locks[k];
      struct lock_use seen = total(&r.channel.report, use->hart, use->lock);
      struct lock_use counted = total(&inside, use->hart, use->lock);
      cr_expect_eq(seen.acquired, counted.acquired);
      cr_expect_eq(seen.contended, counted.contended);
      cr_expect_eq(seen.spins, counted.spins);
      cr_expect_eq(seen.longest, counted.longest);
      reported += use->acquired;
      contended += use->contended;
    }
  }
  cr_expect_eq(reported, compared, "neither lacks a lock that the other has");
  cr_expect_gt(compared, 100000);
  cr_expect_gt(contended, 0);
  plugin_report_release(&inside);
  kernel_pair_release(&pair);
  free(kernel);
  end(&r);
}

// With one hart QEMU translates atomics in another way.
Test(plugin, a_single_hart_never_spins)
{
  struct run r = {.harts = 1};
  uint64_t acquired = 0;

  RUN(&r, TREE("reference"), PROMPT, COMMAND("kchurn 100"));
  expect_completed(&r);
  const struct plugin_interval *in = &r.channel.report.intervals[0];
  for (size_t i = 0; i < in->lock_count; i++) {
    cr_expect_eq(in->locks[i].spins, 0);
    acquired += in->locks[i].acquired;
  }
  cr_expect_geq(acquired, 2 * 3 * 100 * 64);
  end(&r);
}

Test(plugin, atomics_of_the_object_are_counted_by_address)
{
  struct run r = {0};
  uint64_t swaps[3], seen[3] = {0};

  RUN(&r, TREE("homemade"), PROMPT, COMMAND("kchurn 100"));
  expect_completed(&r);
  cr_assert_eq(
      guest_copy(&r.guest, address_of(&r, "swaps"), sizeof(swaps), swaps), 0);
  cr_assert_eq(r.channel.report.interval_count, 1);
  const struct plugin_interval *in = &r.channel.report.intervals[0];
  for (size_t i = 0; i < in->atomic_count; i++) {
    cr_expect_eq(in->atomics[i].address, address_of(&r, "busy"),
                 "no atomic of the rest of the kernel is counted");
    seen[in->atomics[i].hart] += in->atomics[i].times;
  }
  for (unsigned hart = 0; hart < 3; hart++)
    cr_expect_eq(seen[hart], swaps[hart]);
  cr_expect_gt(seen[0], 10000);
  end(&r);
}

// --- Names ----------------------------------------------------------------------

Test(plugin, intervals_end_at_control_p_and_locks_have_names)
{
  struct run r = {0};
  struct lock_names names;
  struct lock_traffic traffic;
  struct buf text = BUF_INIT;

  RUN(&r, TREE("reference"), PROMPT, CTRL_P, COMMAND("kchurn 200"), CTRL_P);
  expect_completed(&r);
  cr_assert_eq(r.channel.report.interval_count, 3);
  const struct plugin_interval *in = &r.channel.report.intervals[1];

  lock_names_read(in, &r.kernel, &r.guest, &names);
  locks_traffic(in, &names, "kmem", &traffic);
  // 3 processes x 200 rounds x 64 pages, allocated and freed.
  cr_expect_geq(traffic.acquired, 2 * 3 * 200 * 64);
  cr_expect_leq(traffic.acquired, 2 * 3 * 200 * 64 + 4000);
  cr_expect_gt(traffic.remote, 0);
  cr_expect_lt(traffic.remote, 1000);
  cr_expect_eq(traffic.shared, 0);

  locks_print(in, &names, &text);
  cr_expect_not_null(strstr(text.data, "LS kmem1 acq "));
  cr_expect_not_null(strstr(text.data, "\nLSH hart 1 kmem1 acq "));
  cr_expect_not_null(strstr(text.data, "LS time acq "), "%s", text.data);
  cr_expect_not_null(strstr(text.data, " maxspins "));
  for (const char *at = text.data; (at = strchr(at, '[')); at++)
    cr_expect_eq(strncmp(at, "[0x", 3), 0,
                 "only a pipe's lock, in a page that is free again, has no "
                 "name:\n%s",
                 text.data);
  buf_release(&text);
  lock_names_release(&names);
  end(&r);
}

Test(plugin, the_start_kernel_has_one_lock_that_all_harts_take)
{
  struct run r = {0};
  struct lock_names names;
  struct lock_traffic traffic;

  RUN(&r, TREE("start"), PROMPT, COMMAND("kchurn 200"));
  expect_completed(&r);
  const struct plugin_interval *in = &r.channel.report.intervals[0];
  lock_names_read(in, &r.kernel, &r.guest, &names);
  locks_traffic(in, &names, "kmem", &traffic);
  cr_expect_gt(traffic.shared, 2 * 3 * 200 * 64);
  cr_expect_eq(traffic.shared, traffic.acquired);

  // Without guest memory, a lock is called by its place.
  lock_names_release(&names);
  lock_names_read(in, &r.kernel, NULL, &names);
  cr_expect_str_eq(lock_names_find(&names, address_of(&r, "kmem")), "[kmem]");
  lock_names_release(&names);
  end(&r);
}

// --- Standing still -------------------------------------------------------------

Test(plugin, a_circle_of_waits_is_seen_while_the_kernel_hangs)
{
  struct run r = {0};
  bool seen[3] = {false};

  RUN(&r, TREE("circle"), PROMPT, CTRL_P, COMMAND("kchurn"));
  cr_assert_eq(boot_verdict(r.boot), BOOT_STOPPED);
  cr_expect_str_eq(boot_detail(r.boot), "deadlock");
  const struct plugin_report *report = &r.channel.report;
  uint64_t circle = address_of(&r, "circle");
  enum { LOCK_BYTES = 24 };
  cr_assert_eq(report->circle_len, 2);
  for (size_t i = 0; i < 2; i++) {
    const struct plugin_wait *w = &report->circle[i];
    cr_assert(w->hart == 1 || w->hart == 2);
    uint64_t mine = circle + LOCK_BYTES * (w->hart == 2);
    uint64_t other = circle + LOCK_BYTES * (w->hart != 2);
    cr_expect_eq(w->holds, mine);
    cr_expect_eq(w->awaits, other);
    seen[w->hart] = true;
  }
  cr_expect(seen[1] && seen[2]);
  end(&r);
}

Test(plugin, work_of_programs_does_not_depend_on_the_run)
{
  uint64_t instructions[2];

  for (int i = 0; i < 2; i++) {
    struct run r = {0};
    RUN(&r, TREE("reference"), PROMPT, CTRL_P, COMMAND("kchurn 300"), CTRL_P);
    expect_completed(&r);
    instructions[i] = 0;
    for (unsigned hart = 0; hart < 3; hart++)
      instructions[i] += r.channel.report.intervals[1].user_instructions[hart];
    cr_expect_gt(r.channel.report.work.ms, 0);
    end(&r);
  }
  uint64_t less = instructions[0], more = instructions[1];
  if (less > more)
    less = instructions[1], more = instructions[0];
  cr_expect_gt(less, 100000);
  cr_expect_lt(more - less, less / 50, "%" PRIu64 " and %" PRIu64, less, more);
}

// --- Who writes -----------------------------------------------------------------

static const struct boot_step writing[] = {PROMPT, COMMAND("ls"), CTRL_P,
                                           COMMAND("kchurn 20"), CTRL_P};

static void run_writing(struct run *r, const char *before, const char *inside)
{
  struct kernel_pair pair;

  make_kernel(before, inside, &pair, NULL);
  run_kernel(r, pair.plain, pair.object, writing,
             sizeof writing / sizeof *writing);
  expect_completed(r);
  kernel_pair_release(&pair);
}

Test(plugin, where_all_is_right_each_byte_on_the_console_is_the_drivers)
{
  struct run r = {0};

  run_writing(&r, "", "");
  cr_expect_eq(r.channel.report.foreign_count, 0);
  cr_expect_gt(r.channel.report.sent, 500);
  cr_expect_eq(r.channel.report.sent, boot_console(r.boot)->bytes);
  end(&r);
}

// The addresses are not in the object, so that nothing but the plugin sees them.
#define HALF(what) "static volatile uint64 half = (uint64)" what " / 2;\n"
#define EVERY "  static int calls;\n  if (++calls % 1000 == 0)\n    "

Test(plugin, bytes_that_the_students_file_sends_itself_are_counted_and_named)
{
  struct run r = {0};

  run_writing(&r, HALF("0x10000000"),
              EVERY "*(volatile char *)(half * 2) = '!';\n");
  const struct plugin_report *report = &r.channel.report;
  cr_assert_eq(report->foreign_count, 1);
  cr_expect_eq(report->foreign[0].address, 0x10000000);
  cr_expect_str_eq(object_function_at(&r.kernel, report->foreign[0].pc)->name,
                   "kalloc");
  cr_expect_eq(boot_console(r.boot)->bytes - report->sent,
               report->foreign[0].times);
  end(&r);
}

Test(plugin, bytes_that_the_kernel_prints_for_the_students_file_are_named)
{
  struct run r = {0};

  run_writing(&r,
              HALF("0") "#define print ((int (*)(const char *))(half * 2))\n",
              "  half = (uint64)printf / 2;\n" EVERY "print(\"+\");\n");
  const struct plugin_report *report = &r.channel.report;
  cr_assert_eq(report->foreign_count, 1);
  cr_expect_eq(report->foreign[0].address, 0);
  cr_expect_str_eq(object_function_at(&r.kernel, report->foreign[0].pc)->name,
                   "kalloc");
  cr_expect_gt(report->foreign[0].times, 3);
  cr_expect_eq(boot_console(r.boot)->bytes, report->sent);
  end(&r);
}

// --- What it cannot watch -------------------------------------------------------

Test(plugin, a_kernel_without_the_symbols_is_refused)
{
  struct binary part;
  struct error err = {0};
  struct buf text = BUF_INIT;

  cr_assert_eq(object_read(TREE("start") "/kernel/kalloc.o", &part, &err), 0);
  struct plugin_spec spec = {
      .plugin = "build/plugin.so", .kernel = &part, .out = "/tmp/out"};
  cr_expect_eq(plugin_argument(&spec, &text, &err), LG_EINPUT);
  cr_expect_str_eq(err.message, "the kernel has no symbol 'acquire'");
  cr_expect_eq(text.len, 0);
  object_release(&part);
  error_release(&err);
}

Test(plugin, its_version_of_the_interface_is_known)
{
  cr_expect_geq(plugin_api("build/plugin.so"), 1);
  cr_expect_eq(plugin_api("build/labgen"), 0);
}
