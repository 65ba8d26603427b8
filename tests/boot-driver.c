// graders/boot and graders/console: real boots, of the lab's start kernel and
// of bare-metal guests that misbehave (guest.S).
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graders/boot.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

#define KERNEL "build/kernel/start/kernel/kernel"
// Hosts differ much; these end a test that would hang.
#define STEP_MS 120000

#define STEPS(...)                                                \
  .steps = (const struct boot_step[]){__VA_ARGS__},               \
  .step_count = sizeof((const struct boot_step[]){__VA_ARGS__}) / \
                sizeof(struct boot_step)

static struct boot *run(struct boot_spec spec)
{
  struct error err = {0};
  struct boot *boot = NULL;
  if (!spec.timeout_ms)
    spec.timeout_ms = 4 * STEP_MS;
  int rc = boot_run(&spec, &boot, &err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
  return boot;
}

static void expect_verdict(const struct boot *boot, enum boot_verdict verdict)
{
  cr_expect_eq(boot_verdict(boot), verdict, "it %s (%s), after:\n%s",
               boot_verdict_words(boot_verdict(boot)), boot_detail(boot),
               buf_str(&boot_console(boot)->text));
}

// A boot is over when its whole process group is; init may take a moment to
// reap what was left in a sandbox.
static void end(struct boot *boot)
{
  cr_expect(boot_ended(boot));
  if (boot_child(boot)) {
    pid_t group = child_pid(boot_child(boot));
    int left = 0;
    for (int i = 0; i < 1000 && (left = kill(-group, 0)) == 0; i++)
      usleep(10000);
    cr_expect_eq(left, -1, "processes of group %d are left", (int)group);
  }
  boot_release(boot);
}

// --- The start kernel -----------------------------------------------------------

Test(boot, the_kernel_takes_commands_and_control_p)
{
  struct boot *boot = run((struct boot_spec){
      .kernel = KERNEL,
      STEPS({BOOT_WAIT_LINE, "$ ", 0, STEP_MS}, {BOOT_SEND, "echo hi\n", 0, 0},
            {BOOT_WAIT_LINE, "hi\n", 0, STEP_MS},
            {BOOT_WAIT_LINE, "$ ", 0, STEP_MS}, {BOOT_SEND, BOOT_CTRL_P, 0, 0},
            {BOOT_WAIT_LINE, "1 ", 0, STEP_MS},
            {BOOT_WAIT_LINE, "2 ", 0, STEP_MS})});
  expect_verdict(boot, BOOT_COMPLETED);
  cr_expect_str_eq(boot_detail(boot), "");
  cr_expect_not_null(strstr(boot_qemu_messages(boot), "signal 15"),
                     "QEMU ended in order");
  end(boot);
}

Test(boot, kalloctest_prints_its_nine_lines_in_order)
{
  struct boot *boot = run((struct boot_spec){
      .kernel = KERNEL,
      STEPS(
          {BOOT_WAIT_LINE, "$ ", 0, STEP_MS}, {BOOT_SEND, "kalloctest\n", 0, 0},
          {BOOT_WAIT_LINE, "kalloctest: churn: 3 processes x 2000 rounds", 0,
           STEP_MS},
          {BOOT_WAIT_LINE, "kalloctest: churn: OK\n", 0, STEP_MS},
          {BOOT_WAIT_LINE, "kalloctest: one process got ", 0, STEP_MS},
          {BOOT_WAIT_LINE, "kalloctest: gather: OK\n", 0, STEP_MS},
          {BOOT_WAIT_LINE, "kalloctest: exhaust: 3 processes got ", 0, STEP_MS},
          {BOOT_WAIT_LINE, "kalloctest: exhaust: OK\n", 0, STEP_MS},
          {BOOT_WAIT_LINE, "kalloctest: free pages ", 0, STEP_MS},
          {BOOT_WAIT_LINE, "kalloctest: no leaks: OK\n", 0, STEP_MS},
          {BOOT_WAIT_LINE, "kalloctest: ALL OK\n", 0, STEP_MS},
          {BOOT_WAIT_LINE, "$ ", 0, STEP_MS})});
  expect_verdict(boot, BOOT_COMPLETED);
  size_t lines = 0;
  const struct console *c = boot_console(boot);
  int64_t before_ms = 0;
  for (size_t i = 0; i < c->count; i++) {
    lines +=
        strncmp(console_line_text(c, &c->lines[i]), "kalloctest: ", 12) == 0;
    cr_expect_geq(c->lines[i].time_ms, before_ms);
    before_ms = c->lines[i].time_ms;
  }
  cr_expect_eq(lines, 9);
  cr_expect_leq(before_ms, boot_time_ms(boot));
  end(boot);
}

Test(boot, runs_in_the_sandbox_and_still_ends_in_order)
{
  if (sandbox_check(NULL) != 0)
    cr_skip_test("no sandbox here");
  const struct sandbox sandbox = {0};
  struct boot *boot = run((struct boot_spec){
      .kernel = KERNEL,
      .sandbox = &sandbox,
      STEPS({BOOT_WAIT_LINE, "$ ", 0, STEP_MS}, {BOOT_SEND, "echo hi\n", 0, 0},
            {BOOT_WAIT_LINE, "hi\n", 0, STEP_MS})});
  expect_verdict(boot, BOOT_COMPLETED);
  cr_expect_not_null(strstr(boot_qemu_messages(boot), "signal 15"), "%s",
                     boot_qemu_messages(boot));
  end(boot);
}

Test(boot, several_run_at_once_in_one_process)
{
  enum { COUNT = 2 };
  struct boot_spec spec = {
      .kernel = KERNEL,
      .harts = 1,
      .timeout_ms = STEP_MS,
      STEPS({BOOT_WAIT_LINE, "$ ", 0, 0}, {BOOT_SEND, "echo hi\n", 0, 0},
            {BOOT_WAIT_LINE, "hi\n", 0, 0})};
  struct boot *boots[COUNT];
  for (int i = 0; i < COUNT; i++)
    boots[i] = boot_start(&spec);
  while (!boot_ended(boots[0]) || !boot_ended(boots[1]))
    cr_assert_eq(boots_poll(boots, COUNT, 0, NULL), 0);
  for (int i = 0; i < COUNT; i++) {
    expect_verdict(boots[i], BOOT_COMPLETED);
    end(boots[i]);
  }
}

// --- Guests that misbehave ------------------------------------------------------

Test(boot, that_hangs_names_the_step_and_the_last_line)
{
  struct boot *boot = run((struct boot_spec){
      .kernel = "build/guest/hang",
      STEPS({BOOT_WAIT_LINE, "up\n", 0, STEP_MS}, {BOOT_SEND, "ls\n", 0, 0},
            {BOOT_WAIT, "never", 0, 500}, {BOOT_WAIT, "later", 0, 500})});
  expect_verdict(boot, BOOT_HUNG);
  cr_expect_eq(boot_step_index(boot), 2);
  cr_expect_str_eq(boot_detail(boot),
                   "step 3 of 4 waits for \"never\"; the last line is: up");
  end(boot);
}

Test(boot, that_is_silent_says_so_when_its_whole_time_is_over)
{
  struct boot *boot =
      run((struct boot_spec){.kernel = "build/guest/silent",
                             .timeout_ms = 1000,
                             STEPS({BOOT_WAIT_END, NULL, 0, 0})});
  expect_verdict(boot, BOOT_TIMED_OUT);
  cr_expect_str_eq(boot_detail(boot),
                   "step 1 of 1 waits for the end of the machine; the console "
                   "is empty");
  end(boot);
}

Test(boot, that_floods_its_console_is_capped)
{
  struct boot *boot =
      run((struct boot_spec){.kernel = "build/guest/flood",
                             .max_output_bytes = 100000,
                             STEPS({BOOT_WAIT, "never", 0, 0})});
  expect_verdict(boot, BOOT_CAPPED);
  cr_expect_leq(boot_console(boot)->text.len, 100000);
  // Of "up\r\n" the \r is not kept.
  cr_expect_geq(boot_console(boot)->count, 24000);
  end(boot);
}

Test(boot, that_writes_one_endless_line_is_capped_too)
{
  struct boot *boot =
      run((struct boot_spec){.kernel = "build/guest/longline",
                             .max_output_bytes = 100000,
                             STEPS({BOOT_WAIT, "never", 0, 0})});
  expect_verdict(boot, BOOT_CAPPED);
  cr_expect_eq(boot_console(boot)->text.len, CONSOLE_LINE_BYTES);
  cr_expect(boot_console(boot)->cut);
  end(boot);
}

Test(boot, that_panics_ends_at_once_with_the_line)
{
  struct boot *boot = run((struct boot_spec){
      .kernel = "build/guest/panic", STEPS({BOOT_WAIT, "never", 0, 0})});
  expect_verdict(boot, BOOT_PANICKED);
  cr_expect_str_eq(boot_detail(boot), "panic: out of tea");
  end(boot);
}

Test(boot, that_panics_within_a_line_is_no_hang)
{
  struct boot *boot =
      run((struct boot_spec){.kernel = "build/guest/halfpanic",
                             STEPS({BOOT_WAIT, "out of tea", 0, STEP_MS},
                                   {BOOT_WAIT, "never", 0, 300})});
  expect_verdict(boot, BOOT_PANICKED);
  cr_expect_str_eq(boot_detail(boot), "panic: out of tea");
  end(boot);
}

Test(boot, panics_are_lines_like_others_when_nobody_looks_for_them)
{
  struct boot *boot = run((struct boot_spec){
      .kernel = "build/guest/panic",
      .panic_text = "",
      STEPS({BOOT_WAIT_LINE, "panic: out of tea\n", 0, STEP_MS})});
  expect_verdict(boot, BOOT_COMPLETED);
  end(boot);
}

Test(boot, switching_the_machine_off_can_be_the_last_step)
{
  struct boot *boot =
      run((struct boot_spec){.kernel = "build/guest/off",
                             STEPS({BOOT_WAIT_LINE, "up\n", 0, STEP_MS},
                                   {BOOT_WAIT_END, NULL, 0, STEP_MS})});
  expect_verdict(boot, BOOT_COMPLETED);
  cr_expect_eq(child_result_of(boot_child(boot))->end, CHILD_EXITED);
  end(boot);
}

static void expect_early_end(const char *kernel, const char *detail)
{
  struct boot *boot = run((struct boot_spec){
      .kernel = kernel, STEPS({BOOT_WAIT, "never", 0, STEP_MS})});
  expect_verdict(boot, BOOT_POWERED_OFF);
  cr_expect_str_eq(boot_detail(boot), detail);
  cr_expect_str_eq(buf_str(&boot_console(boot)->text), "up\n");
  end(boot);
}

Test(boot, a_guest_that_ends_the_machine_is_no_fault_of_qemu)
{
  expect_early_end("build/guest/off", "QEMU exited with status 0");
  expect_early_end("build/guest/fail", "QEMU exited with status 7");
  expect_early_end("build/guest/reset", "QEMU exited with status 0");
}

Test(boot, binary_noise_leaves_the_lines_around_it_whole)
{
  struct boot *boot = run((struct boot_spec){
      .kernel = "build/guest/noise",
      STEPS({BOOT_WAIT, "\xFEup\n", 0, 0}, {BOOT_WAIT_END, NULL, 0, 0})});
  boot_release(boot);
  boot = run((struct boot_spec){.kernel = "build/guest/noise",
                                STEPS({BOOT_WAIT, "\xFE\xFFup\n", 0, STEP_MS},
                                      {BOOT_WAIT_END, NULL, 0, STEP_MS})});
  expect_verdict(boot, BOOT_COMPLETED);
  const struct console *c = boot_console(boot);
  // 256 values without NUL and CR; LF ended a line.
  cr_expect_eq(c->text.len, 256 - 2 + strlen("up\n"));
  cr_expect_eq(c->count, 2);
  cr_expect_eq(c->lines[0].len, 9);
  end(boot);
}

Test(boot, output_that_is_taken_late_is_not_lost)
{
  // 660,000 bytes, more than any pipe holds.
  struct boot_spec spec = {
      .kernel = "build/guest/lines",
      .timeout_ms = STEP_MS,
      STEPS({BOOT_WAIT_LINE, "up\n", 0, 0}, {BOOT_WAIT_END, NULL, 0, 0})};
  struct boot *boot = boot_start(&spec);
  sleep(2);
  while (!boot_ended(boot)) {
    cr_assert_eq(boots_poll(&boot, 1, 0, NULL), 0);
    usleep(20000);
  }
  expect_verdict(boot, BOOT_COMPLETED);
  const struct console *c = boot_console(boot);
  cr_expect_eq(c->count, 20001);
  for (size_t i = 0; i < 20000 && i < c->count; i++)
    cr_assert_eq(c->lines[i].len, 32, "line %zu", i);
  end(boot);
}

Test(boot, what_is_sent_reaches_the_guest_byte_by_byte)
{
  struct boot *boot = run((struct boot_spec){
      .kernel = "build/guest/echo",
      STEPS({BOOT_WAIT_LINE, "up\n", 0, STEP_MS},
            {BOOT_SEND, "a\x01\x03\x10\xFF", 0, 0},
            {BOOT_WAIT, "a\x01\x03\x10\xFF", 0, STEP_MS},
            {BOOT_SEND, "!", 0, 0}, {BOOT_WAIT_END, NULL, 0, STEP_MS})});
  expect_verdict(boot, BOOT_COMPLETED);
  end(boot);
}

Test(boot, a_wait_looks_behind_what_the_wait_before_it_found)
{
  struct boot *boot = run((struct boot_spec){
      .kernel = "build/guest/echo",
      STEPS({BOOT_WAIT_LINE, "up\n", 0, STEP_MS}, {BOOT_SEND, "xyx\n", 0, 0},
            {BOOT_WAIT, "x", 0, STEP_MS}, {BOOT_WAIT, "x", 0, STEP_MS},
            {BOOT_WAIT, "x", 0, 1000})});
  expect_verdict(boot, BOOT_HUNG);
  cr_expect_eq(boot_step_index(boot), 4);
  end(boot);
}

// --- QEMU's own failures --------------------------------------------------------

Test(boot, without_qemu_could_not_start)
{
  struct boot *boot = run((struct boot_spec){.kernel = KERNEL,
                                             .qemu = "no-such-qemu",
                                             STEPS({BOOT_WAIT, "$ ", 0, 0})});
  expect_verdict(boot, BOOT_NOT_STARTED);
  cr_expect_str_eq(boot_detail(boot),
                   "cannot start no-such-qemu: no such program in PATH");
  end(boot);
}

Test(boot, without_a_kernel_could_not_start)
{
  struct boot *boot = run((struct boot_spec){
      .kernel = "build/guest/no-such-kernel", STEPS({BOOT_WAIT, "$ ", 0, 0})});
  expect_verdict(boot, BOOT_NOT_STARTED);
  cr_expect_not_null(strstr(boot_detail(boot), "no-such-kernel"), "%s",
                     boot_detail(boot));
  end(boot);
}

static void kill_qemu(void *arg, struct boot *boot,
                      const struct console_line *line)
{
  (void)arg;
  (void)line;
  kill(child_pid(boot_child(boot)), SIGKILL);
}

Test(boot, whose_qemu_is_killed_lost_it)
{
  struct boot *boot =
      run((struct boot_spec){.kernel = "build/guest/hang",
                             .on_line = kill_qemu,
                             STEPS({BOOT_WAIT, "never", 0, STEP_MS})});
  expect_verdict(boot, BOOT_QEMU_DIED);
  cr_expect_str_eq(boot_detail(boot), "QEMU was killed by signal 9 (Killed)");
  end(boot);
}

// --- Watching -------------------------------------------------------------------

struct watch {
  size_t lines, rounds, verdicts;
  bool alive_at_verdict;
};

static void count_line(void *arg, struct boot *boot,
                       const struct console_line *line)
{
  struct watch *w = arg;
  w->lines++;
  cr_expect(console_line_has(boot_console(boot), line, "up", 2));
}

static void stop_later(void *arg, struct boot *boot)
{
  struct watch *w = arg;
  if (++w->rounds == 5)
    boot_stop(boot, "five rounds are enough");
}

static void see_socket(void *arg, struct boot *boot)
{
  (void)boot;
  cr_expect(file_exists(arg), "gdb could connect to %s", (char *)arg);
}

static void see_verdict(void *arg, struct boot *boot)
{
  struct watch *w = arg;
  w->verdicts++;
  w->alive_at_verdict = kill(child_pid(boot_child(boot)), 0) == 0;
}

Test(boot, can_be_watched_and_stopped)
{
  struct watch w = {0};
  struct boot *boot =
      run((struct boot_spec){.kernel = "build/guest/hang",
                             .arg = &w,
                             .on_line = count_line,
                             .on_round = stop_later,
                             .round_ms = 300,
                             .on_verdict = see_verdict,
                             STEPS({BOOT_WAIT, "never", 0, 0})});
  expect_verdict(boot, BOOT_STOPPED);
  cr_expect_str_eq(boot_detail(boot), "five rounds are enough");
  cr_expect_leq(w.lines, 1);
  cr_expect_geq(w.rounds, 5);
  cr_expect_eq(w.verdicts, 1);
  cr_expect(w.alive_at_verdict);
  end(boot);
}

Test(boot, passes_gdb_and_more_arguments_on)
{
  char *dir = NULL;
  cr_assert_eq(file_make_temp_dir(NULL, "test-boot", &dir, NULL), 0);
  char *socket = path_join(dir, "gdb"), *log = path_join(dir, "log");
  struct boot *boot = run((struct boot_spec){
      .kernel = "build/guest/hang",
      .gdb_socket = socket,
      .arg = socket,
      .on_verdict = see_socket,
      .harts = 2,
      .memory_mib = 24,
      .extra = (const char *const[]){"-d", "guest_errors", "-D", log, NULL},
      STEPS({BOOT_WAIT, "up", 0, STEP_MS})});
  expect_verdict(boot, BOOT_COMPLETED);
  cr_expect(file_exists(log));
  end(boot);
  file_remove_tree(dir, NULL);
  free(socket);
  free(log);
  free(dir);
}

Test(boot, takes_neither_terminal_nor_input_of_ours)
{
  // A byte that waits on our standard input must still be there afterwards.
  int pair[2];
  char byte = 0;
  cr_assert_eq(pipe(pair), 0);
  cr_assert_eq(write(pair[1], "z", 1), 1);
  cr_assert_eq(dup2(pair[0], 0), 0);
  struct boot *boot = run((struct boot_spec){
      .kernel = "build/guest/hang", STEPS({BOOT_WAIT, "up", 0, STEP_MS})});
  expect_verdict(boot, BOOT_COMPLETED);
  cr_expect_eq(fcntl(0, F_SETFL, O_NONBLOCK), 0);
  cr_expect_eq(read(0, &byte, 1), 1);
  cr_expect_eq(byte, 'z');
  end(boot);
}
