// The driver of QEMU. Bytes from the guest go into the console as the poll loop
// finds them; everything else happens after each round of it, in boot_round():
// lines are told, the script goes on, deadlines are looked at. Marks are no
// business of this file.
#include "graders/boot.h"

#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/run/argv.h"

#define DEFAULT_OUTPUT_BYTES (4u << 20)
#define DEFAULT_ROUND_MS 200
// QEMU writes out what its plugin has to say before it ends.
#define GRACE_MS 10000

struct boot {
  struct boot_spec spec;
  struct child *child;  // NULL when none was started
  int64_t start_ms, end_ms;
  struct console console;
  struct buf messages;
  size_t told;               // lines that on_line() has had
  size_t step;               // index of the current one
  size_t *offsets;           // of those before it
  size_t from;               // where in the console its wait starts to look
  size_t scanned;            // how far it has looked
  int64_t step_deadline_ms;  // 0: none
  enum boot_verdict verdict;
  struct buf detail;
};

const char *boot_verdict_words(enum boot_verdict verdict)
{
  static const char *const words[] = {
#define ROW(verdict, words) [verdict] = words,
      BOOT_VERDICTS(ROW)
#undef ROW
  };
  return words[verdict];
}

bool boot_ended(const struct boot *boot)
{
  return !boot->child || child_ended(boot->child);
}

enum boot_verdict boot_verdict(const struct boot *boot)
{
  return boot->verdict;
}

size_t boot_step_index(const struct boot *boot)
{
  return boot->step;
}

size_t boot_step_offset(const struct boot *boot, size_t step)
{
  return boot->offsets[step];
}

const char *boot_detail(const struct boot *boot)
{
  return buf_str(&boot->detail);
}

const struct console *boot_console(const struct boot *boot)
{
  return &boot->console;
}

int64_t boot_time_ms(const struct boot *boot)
{
  return (boot->end_ms ? boot->end_ms : clock_ms()) - boot->start_ms;
}

const struct child *boot_child(const struct boot *boot)
{
  return boot->child;
}

const char *boot_qemu_messages(const struct boot *boot)
{
  return buf_str(&boot->messages);
}

void boot_send(struct boot *boot, const void *bytes, size_t len)
{
  if (boot->child && !child_ended(boot->child))
    child_write(boot->child, bytes, len);
}

// The verdict is known: tells it, and ends QEMU. Later ones do not count.
static void decide(struct boot *boot, enum boot_verdict verdict)
{
  if (boot->verdict != BOOT_RUNNING)
    return;
  boot->verdict = verdict;
  if (boot->spec.on_verdict)
    boot->spec.on_verdict(boot->spec.arg, boot);
  if (boot->child)
    child_stop(boot->child);
}

void boot_stop(struct boot *boot, const char *why)
{
  if (boot->verdict != BOOT_RUNNING)
    return;
  buf_adds(&boot->detail, why);
  decide(boot, BOOT_STOPPED);
}

// --- The script ---------------------------------------------------------------

static size_t step_len(const struct boot_step *step)
{
  return step->len ? step->len : strlen(step->bytes);
}

static void enter_step(struct boot *boot)
{
  boot->scanned = boot->from;
  boot->step_deadline_ms = 0;
  if (boot->step < boot->spec.step_count) {
    int64_t timeout_ms = boot->spec.steps[boot->step].timeout_ms;
    if (timeout_ms)
      boot->step_deadline_ms = clock_ms() + timeout_ms;
  }
}

// Whether the current wait has found its bytes; then the next one starts behind
// them. What was looked at before is not looked at again, but for the bytes
// that could be the beginning of a find.
static bool wait_is_over(struct boot *boot, const struct boot_step *step)
{
  size_t len = step_len(step);
  size_t from = boot->scanned;
  from = from - boot->from >= len ? from - (len - 1) : boot->from;
  size_t end = console_find(&boot->console, from, step->bytes, len,
                            step->kind == BOOT_WAIT_LINE);
  boot->scanned = boot->console.text.len;
  if (end)
    boot->from = end;
  return end != 0;
}

static void advance(struct boot *boot)
{
  while (boot->verdict == BOOT_RUNNING && boot->step < boot->spec.step_count) {
    const struct boot_step *step = &boot->spec.steps[boot->step];
    if (step->kind == BOOT_SEND)
      boot_send(boot, step->bytes, step_len(step));
    else if (step->kind == BOOT_WAIT_END || !wait_is_over(boot, step))
      return;
    boot->offsets[boot->step++] =
        step->kind == BOOT_SEND ? boot->console.text.len : boot->from;
    enter_step(boot);
  }
  decide(boot, BOOT_COMPLETED);
}

static const char *panic_text(const struct boot *boot)
{
  return boot->spec.panic_text ? boot->spec.panic_text : "panic: ";
}

// --- After each round -----------------------------------------------------------

static void add_line(struct buf *b, const struct console *c,
                     const struct console_line *line)
{
  buf_add(b, console_line_text(c, line), line->len);
}

// Tells the new lines. A line that says panic decides.
static void tell_lines(struct boot *boot)
{
  const char *panic = panic_text(boot);
  size_t len = strlen(panic);
  while (boot->told < boot->console.count) {
    struct console_line line = boot->console.lines[boot->told++];
    if (boot->spec.on_line)
      boot->spec.on_line(boot->spec.arg, boot, &line);
    if (boot->verdict == BOOT_RUNNING && len &&
        console_line_has(&boot->console, &line, panic, len)) {
      add_line(&boot->detail, &boot->console, &line);
      decide(boot, BOOT_PANICKED);
    }
  }
}

// Says which step ran out of time, and what the console showed last.
static void describe_hang(struct boot *boot)
{
  const struct console *c = &boot->console;
  struct buf *b = &boot->detail;
  if (boot->step < boot->spec.step_count) {
    const struct boot_step *step = &boot->spec.steps[boot->step];
    buf_addf(b, "step %zu of %zu waits for ", boot->step + 1,
             boot->spec.step_count);
    if (step->kind == BOOT_WAIT_END) {
      buf_adds(b, "the end of the machine");
    } else {
      buf_addc(b, '"');
      buf_add(b, step->bytes, step_len(step));
      buf_addc(b, '"');
    }
    buf_adds(b, "; ");
  }
  if (c->text.len > c->line_start) {
    buf_adds(b, "the console ends with: ");
    buf_adds(b, buf_str(&c->text) + c->line_start);
  } else if (c->count) {
    buf_adds(b, "the last line is: ");
    add_line(b, c, &c->lines[c->count - 1]);
  } else {
    buf_adds(b, "the console is empty");
  }
}

static void check_deadlines(struct boot *boot)
{
  int64_t now_ms = clock_ms();
  bool step_over = boot->step_deadline_ms && now_ms >= boot->step_deadline_ms;
  bool all_over =
      boot->spec.timeout_ms && now_ms >= boot->start_ms + boot->spec.timeout_ms;
  if (boot->verdict != BOOT_RUNNING || (!step_over && !all_over))
    return;
  // A panic may have died in the middle of its line.
  const char *panic = panic_text(boot);
  const char *rest = buf_str(&boot->console.text) + boot->console.line_start;
  if (*panic && strstr(rest, panic)) {
    buf_adds(&boot->detail, rest);
    decide(boot, BOOT_PANICKED);
    return;
  }
  describe_hang(boot);
  decide(boot, step_over ? BOOT_HUNG : BOOT_TIMED_OUT);
}

// QEMU ended by itself. A guest can choose QEMU's exit status, but QEMU's own
// failures come with a message; and one that never wrote to the console has not
// booted anything.
static void explain_end(struct boot *boot)
{
  const struct child_result *r = child_result_of(boot->child);
  bool failed = r->end != CHILD_EXITED || (r->status && boot->messages.len);
  const struct boot_step *step =
      boot->step < boot->spec.step_count ? &boot->spec.steps[boot->step] : NULL;
  if (!failed && step && step->kind == BOOT_WAIT_END) {
    boot->step++;
    if (boot->step == boot->spec.step_count) {
      decide(boot, BOOT_COMPLETED);
      return;
    }
  }
  if (r->end == CHILD_STOPPED) {
    boot_stop(boot, "interrupted");
    return;
  }
  buf_adds(&boot->detail, "QEMU ");
  child_result_describe(r, &boot->detail);
  if (boot->messages.len) {
    buf_adds(&boot->detail, ": ");
    buf_add(&boot->detail, boot->messages.data,
            strcspn(boot->messages.data, "\n"));
  }
  if (!failed)
    decide(boot, BOOT_POWERED_OFF);
  else if (r->end == CHILD_EXITED && !boot->console.text.len)
    decide(boot, BOOT_NOT_STARTED);
  else
    decide(boot, BOOT_QEMU_DIED);
}

static void boot_round(struct boot *boot)
{
  bool ended = child_ended(boot->child);
  tell_lines(boot);
  if (boot->verdict == BOOT_RUNNING)
    advance(boot);
  if (boot->verdict == BOOT_RUNNING &&
      child_result_of(boot->child)->lost_output) {
    describe_hang(boot);
    decide(boot, BOOT_CAPPED);
  }
  if (ended && boot->verdict == BOOT_RUNNING)
    explain_end(boot);
  check_deadlines(boot);
  if (boot->spec.on_round)
    boot->spec.on_round(boot->spec.arg, boot);
  if (ended && !boot->end_ms)
    boot->end_ms = clock_ms();
}

int boots_poll(struct boot *const *boots, size_t count, int64_t until_ms,
               struct error *err)
{
  struct child **children = xcalloc(count, sizeof *children);
  struct boot **running = xcalloc(count, sizeof *running);
  size_t n = 0;
  for (size_t i = 0; i < count; i++) {
    if (boot_ended(boots[i]))
      continue;
    int64_t round_ms = boots[i]->spec.round_ms;
    int64_t look_ms = clock_ms() + (round_ms ? round_ms : DEFAULT_ROUND_MS);
    if (!until_ms || look_ms < until_ms)
      until_ms = look_ms;
    running[n] = boots[i];
    children[n++] = boots[i]->child;
  }
  int rc = n ? children_poll(children, n, until_ms, err) : 0;
  for (size_t i = 0; i < n; i++)
    boot_round(running[i]);
  free(children);
  free(running);
  return rc;
}

// --- Start and end ----------------------------------------------------------------

static void take_output(void *arg, enum child_stream stream, const char *bytes,
                        size_t len)
{
  struct boot *boot = arg;
  if (stream == CHILD_STDOUT)
    console_feed(&boot->console, bytes, len, clock_ms() - boot->start_ms);
  else
    buf_add(&boot->messages, bytes, len);
}

static void add_pair(struct argv *a, const char *option, const char *value)
{
  argv_add(a, option);
  argv_add(a, value);
}

static void qemu_argv(const struct boot_spec *spec, const char *kernel,
                      struct argv *a)
{
  argv_add(a, spec->qemu ? spec->qemu : "qemu-system-riscv64");
  add_pair(a, "-machine", "virt");
  add_pair(a, "-bios", "none");
  add_pair(a, "-kernel", kernel);
  argv_add(a, "-m");
  argv_addf(a, "%uM", spec->memory_mib ? spec->memory_mib : 128);
  argv_add(a, "-smp");
  argv_addf(a, "%u", spec->harts ? spec->harts : 3);
  add_pair(a, "-display", "none");
  add_pair(a, "-serial", "stdio");
  add_pair(a, "-monitor", "none");
  add_pair(a, "-nic", "none");
  argv_add(a, "-no-reboot");
  if (spec->gdb_socket) {
    argv_add(a, "-gdb");
    argv_addf(a, "unix:%s,server=on,wait=off", spec->gdb_socket);
  }
  if (spec->plugin)
    add_pair(a, "-plugin", spec->plugin);
  argv_add_all(a, spec->extra);
}

// The whole command line, with the sandbox round it.
static void boot_argv(const struct boot_spec *spec, struct argv *ret_argv)
{
  char *kernel = realpath(spec->kernel, NULL);
  if (!kernel)
    kernel = xstrdup(spec->kernel);  // QEMU says what is wrong with it
  if (!spec->sandbox) {
    qemu_argv(spec, kernel, ret_argv);
    free(kernel);
    return;
  }
  struct argv qemu = {0}, shown = {0};
  struct sandbox sandbox = *spec->sandbox;
  argv_add_all(&shown, sandbox.read_only);
  argv_add(&shown, kernel);
  sandbox.read_only = argv_list(&shown);
  qemu_argv(spec, kernel, &qemu);
  sandbox_argv(&sandbox, argv_list(&qemu), ret_argv);
  argv_release(&qemu);
  argv_release(&shown);
  free(kernel);
}

struct boot *boot_start(const struct boot_spec *spec)
{
  struct boot *boot = xcalloc(1, sizeof *boot);
  struct error err = {0};
  struct argv argv = {0};
  boot->spec = *spec;
  boot->offsets = xcalloc(spec->step_count, sizeof *boot->offsets);
  boot->start_ms = clock_ms();
  boot_argv(spec, &argv);
  struct child_spec child = {
      .argv = argv_list(&argv),
      .keep_input = true,
      .grace_ms = GRACE_MS,
      .max_output_bytes = spec->max_output_bytes ? spec->max_output_bytes
                                                 : DEFAULT_OUTPUT_BYTES,
      .limits = spec->limits,
      .ignore_term = spec->sandbox != NULL,
      .on_output = take_output,
      .arg = boot,
  };
  if (child_start(&child, &boot->child, &err) != 0) {
    buf_adds(&boot->detail, err.message);
    error_release(&err);
    boot->end_ms = clock_ms();
    decide(boot, BOOT_NOT_STARTED);
  } else {
    enter_step(boot);
    advance(boot);
  }
  argv_release(&argv);
  return boot;
}

int boot_run(const struct boot_spec *spec, struct boot **ret_boot,
             struct error *err)
{
  struct boot *boot = boot_start(spec);
  int rc = 0;
  while (rc == 0 && !boot_ended(boot))
    rc = boots_poll(&boot, 1, 0, err);
  if (rc) {
    boot_release(boot);
    return rc;
  }
  *ret_boot = boot;
  return 0;
}

void boot_release(struct boot *boot)
{
  if (!boot)
    return;
  child_release(boot->child);
  console_release(&boot->console);
  buf_release(&boot->messages);
  buf_release(&boot->detail);
  free(boot->offsets);
  free(boot);
}
