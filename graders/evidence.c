// Gathers evidence: builds, looks at the object, boots the plain and the
// watched kernel. It judges nothing.
//
// How long a boot may take is a matter of QEMU's CPU time, not of the clock:
// on a busy host everything takes longer, and a kernel that loops uses CPU time
// without coming anywhere.

#include "graders/evidence.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graders/counted.h"
#include "graders/explore.h"
#include "graders/explore/print.h"
#include "graders/guest.h"
#include "graders/hang.h"
#include "graders/host-time.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

// A boot without progress: this many times the start kernel's CPU time without
// a new line (or, where that is not known, far more than any program of a lab
// takes to print one), or this many ticks of the guest's clock without a line
// in which no hart had anything to run. The clock on the wall only ends what the
// host cannot run at all, and gives no verdict.
enum { CPU_TIMES = 4, CPU_LEAST_S = 20 };
static const double cpu_unknown_s[] = {
    [EFFORT_QUICK] = 20, [EFFORT_TESTS] = 40, [EFFORT_FULL] = 90};
enum { IDLE_TICKS = 200, WALL_MS = 900000 };
// What QEMU may use: ten times what it needs, for a guest that breaks out of it.
#define QEMU_CPU_S 1800
#define QEMU_ADDRESS_BYTES (8ull << 30)
enum { MAX_CONSOLE_BYTES = 4 << 20, MAX_TEXT_BYTES = 16 << 20 };

// Between two times that Ctrl-P is pressed once more, and how often.
enum { AGAIN_MS = 1000, AGAIN_TIMES = 20 };

// ---- one boot --------------------------------------------------------------------

struct watching {
  struct guest guest;
  struct counted counted;  // only where the watchers do not run
  const struct binary *symbols;
  const char *kernel;
  const char *socket;
  uint64_t report_at;  // address of watch_report; 0: not watched
  const struct gather_spec *spec;
  struct script script;
  int times_again;   // that Ctrl-P was pressed once more; -1: no longer
  int64_t again_ms;  // when
  double cpu_limit_s;
  size_t lines;           // seen so far
  struct host_time host;  // what QEMU has had
  double line_cpu_s;      // its CPU time at the last line
  unsigned ticks;         // of the guest, as they were last seen
  unsigned idle_ticks;    // since the last line
  bool idle, hung;
  struct evidence *evidence;
  struct boot_facts *facts;  // of it: this boot's
  struct watch_report *report;
  unsigned told_findings;
};

static void read_report(const struct watching *w)
{
  struct watch_report r;

  if (w->report_at != 0 &&
      guest_copy(&w->guest, w->report_at, sizeof r, &r) == 0 &&
      r.magic == WATCH_MAGIC && r.size_bytes == sizeof r &&
      r.finding_count <= WATCH_FINDINGS && r.lock_count <= WATCH_LOCKS)
    *w->report = r;
}

// Takes away all but the first `count`.
static void drop_findings(struct evidence *e, size_t count)
{
  while (e->finding_count > count) {
    struct found *f = &e->findings[--e->finding_count];
    free(f->text);
    free(f->function);
  }
}

static bool report_has(const struct watch_report *r, enum watch_kind kind)
{
  for (unsigned i = 0; i < r->finding_count; i++)
    if (r->findings[i].kind == kind)
      return true;
  return false;
}

static void tell(const struct gather_spec *spec, const char *doing)
{
  if (spec->on_progress != NULL)
    spec->on_progress(spec->arg, doing);
}

static void tell_evidence(const struct gather_spec *spec,
                          const struct evidence *e)
{
  if (spec->on_evidence != NULL)
    spec->on_evidence(spec->arg, e);
}

// Tells what the watchers have found while the boot goes on. It becomes evidence
// at the end, when it is known how often it came.
static void tell_findings(struct watching *w)
{
  struct evidence *e = w->evidence;
  size_t before = e->finding_count;

  if (w->report->finding_count == w->told_findings)
    return;
  w->told_findings = w->report->finding_count;
  evidence_add_report(e, w->symbols);
  tell_evidence(w->spec, e);
  drop_findings(e, before);
}

// Says which program is running: the last that was typed.
static void tell_program(const struct watching *w)
{
  const char *kernel = w->report_at ? "watched" : "plain";
  struct buf doing = BUF_INIT;

  buf_addf(&doing, "boots the %s kernel", kernel);
  for (size_t i = 0; i < w->script.run_count; i++) {
    const struct program_run *run = &w->script.runs[i];
    if (!run->typed)
      break;
    buf_truncate(&doing, 0);
    buf_addf(&doing, "runs %s on the %s kernel", run->id, kernel);
  }
  tell(w->spec, buf_str(&doing));
  buf_release(&doing);
}

// Presses Ctrl-P until the watchers could count the pages at the last one; the
// watched kernel's script ends with a wait for the line that is typed then.
static void press_again(struct watching *w, struct boot *boot)
{
  int64_t now = boot_time_ms(boot);

  if (w->report_at == 0 || w->times_again < 0 ||
      boot_step_index(boot) + 1 != w->script.count)
    return;
  if (w->report->obtainable_pages >= 0 || w->times_again == AGAIN_TIMES) {
    char *over = xasprintf("echo %s\n", w->script.over);
    w->times_again = -1;
    boot_send(boot, over, strlen(over));
    free(over);
  } else if (now - w->again_ms > AGAIN_MS) {
    w->times_again++;
    w->again_ms = now;
    boot_send(boot, BOOT_CTRL_P, 1);
  }
}

// Whether no hart runs a process; false where this kernel does not show it. A
// hart's entry begins with a pointer to its process.
static bool harts_are_idle(const struct watching *w, unsigned *ret_ticks)
{
  const struct object_symbol *cpus = object_find(w->symbols, "cpus");
  const struct object_symbol *ticks = object_find(w->symbols, "ticks");
  uint64_t process;

  if (cpus == NULL || ticks == NULL ||
      guest_copy(&w->guest, ticks->value, sizeof *ret_ticks, ret_ticks) != 0)
    return false;
  for (unsigned i = 0; i < WATCH_CPUS; i++)
    if (guest_copy(&w->guest, cpus->value + i * (cpus->size_bytes / WATCH_CPUS),
                   sizeof process, &process) != 0 ||
        process != 0)
      return false;
  return true;
}

// Counts ticks between two looks that both found nothing running. On a host that
// is busy or stands still the guest's clock does too.
static void count_idle_ticks(struct watching *w)
{
  enum { MOST = 2 };  // of a look; with more, who knows what ran in between
  unsigned ticks = w->ticks;
  bool idle = harts_are_idle(w, &ticks);

  if (idle && w->idle && ticks - w->ticks <= MOST)
    w->idle_ticks += ticks - w->ticks;
  w->idle = idle;
  w->ticks = ticks;
}

// Ends a boot that has shown what it can, or that makes no progress.
static void on_round(void *arg, struct boot *boot)
{
  struct watching *w = arg;

  host_time_read(child_pid(boot_child(boot)), &w->host);
  script_note(boot, w->host.cpu_s, w->host.waited_s, w->script.runs,
              w->script.run_count);
  count_idle_ticks(w);
  if (boot_console(boot)->text.len != w->lines) {
    w->lines = boot_console(boot)->text.len;
    w->line_cpu_s = w->host.cpu_s;
    w->idle_ticks = 0;
  }
  tell_program(w);
  read_report(w);
  tell_findings(w);
  if (report_has(w->report, WATCH_CIRCULAR_WAIT) ||
      counted_circle(&w->counted)) {
    w->hung = true;
    boot_stop(boot, "a circular wait was seen");
  } else if (w->report->phase == WATCH_ABANDONED) {
    boot_stop(boot, "the allocator broke its lists in the probe");
  } else if (w->host.cpu_s - w->line_cpu_s > w->cpu_limit_s ||
             w->idle_ticks > IDLE_TICKS) {
    w->hung = true;
    boot_stop(boot, "it makes no progress");
  } else {
    press_again(w, boot);
  }
}

static void on_verdict(void *arg, struct boot *boot)
{
  struct watching *w = arg;

  read_report(w);
  counted_report(&w->counted, w->symbols, &w->guest, &w->facts->locks);
  if (w->hung || boot_verdict(boot) == BOOT_HUNG)
    hang_report(w->kernel, w->socket, w->spec->stock->sandbox, &w->facts->hang);
}

static void read_ctrlp(struct boot_facts *f, unsigned cpus)
{
  static const char start[] = "free pages:";
  const char *line = NULL;

  for (const char *at = buf_str(&f->console); (at = strstr(at, start)) != NULL;
       at++)
    if (at == f->console.data || at[-1] == '\n')
      line = at;
  f->ctrlp = (struct ctrlp_line){.seen = line != NULL, .named = true};
  if (line == NULL)
    return;
  buf_add(&f->ctrlp.text, line, strcspn(line, "\n"));
  const char *at = line + sizeof start - 1;
  for (unsigned cpu = 0; cpu < cpus; cpu++) {
    char name[16];
    size_t blanks = strspn(at, " "), len = strcspn(at + blanks, " \n");
    snprintf(name, sizeof name, "kmem%u", cpu);
    if (strlen(name) != len || strncmp(at + blanks, name, len) != 0)
      f->ctrlp.named = false;
    if (len == 0 || (isdigit((unsigned char)at[blanks]) && cpu == 0))
      return;
    // A lock without a name leaves a blank, and then its count.
    if (!isdigit((unsigned char)at[blanks]))
      at += blanks + len;
    char *end;
    f->ctrlp.sum += strtol(at, &end, 10);
    if (end == at)
      return;
    at = end;
  }
  f->ctrlp.complete = *at == '\n' || *at == '\0';
}

// The pages that there are to give out: all from the symbol `end` on.
static long pages_of(const struct watching *w)
{
  enum { PAGE_BYTES = 4096 };
  const struct object_symbol *end = object_find(w->symbols, "end");
  uint64_t top = GUEST_RAM + ((uint64_t)w->spec->memory_mib << 20);

  return end != NULL && end->value < top
             ? (long)((top - end->value) / PAGE_BYTES)
             : 0;
}

static void note_facts(const struct boot *boot, struct watching *w,
                       struct boot_facts *f)
{
  const struct console *console = boot_console(boot);
  enum boot_verdict verdict = boot_verdict(boot);

  f->done = true;
  f->verdict = verdict;
  f->harness = verdict == BOOT_NOT_STARTED || verdict == BOOT_QEMU_DIED ||
               verdict == BOOT_TIMED_OUT;
  f->shell = boot_step_index(boot) > 0 || verdict == BOOT_COMPLETED;
  f->works = verdict == BOOT_COMPLETED ||
             boot_step_index(boot) >= w->script.quick_count;
  f->cpu_s = w->host.cpu_s;
  f->wall_ms = boot_time_ms(boot);
  buf_adds(&f->detail, boot_verdict_words(verdict));
  if (*boot_detail(boot) != '\0')
    buf_addf(&f->detail, ": %s", boot_detail(boot));
  buf_add(&f->console, buf_str(&console->text), console->text.len);
  read_ctrlp(f, WATCH_CPUS);
  f->pages = pages_of(w);
  counted_tampering(&w->counted, w->symbols, w->kernel, w->spec->stock,
                    console->bytes, &f->tampering);
  if (verdict == BOOT_POWERED_OFF)
    buf_adds(
        &f->tampering,
        "it switched the machine off, which nothing of the course's does\n");
  f->runs = w->script.runs;
  f->run_count = w->script.run_count;
  w->script.runs = NULL;
  w->script.run_count = 0;
}

static double cpu_limit(double start_s, enum effort effort)
{
  if (start_s <= 0)
    return cpu_unknown_s[effort];
  return start_s * CPU_TIMES > CPU_LEAST_S ? start_s * CPU_TIMES : CPU_LEAST_S;
}

static int boot_kernel(const struct gather_spec *spec, const char *kernel,
                       const struct binary *symbols, double cpu_s,
                       enum effort effort, struct evidence *e,
                       struct boot_facts *facts, struct error *err)
{
  const struct object_symbol *at = object_find(symbols, "watch_report");
  struct watch_report none = {0};  // of the plain kernel
  struct watching w = {
      .kernel = kernel,
      .symbols = symbols,
      .report_at = at != NULL ? at->value : 0,
      .spec = spec,
      .cpu_limit_s = cpu_limit(cpu_s, effort),
      .evidence = e,
      .facts = facts,
      .report = at != NULL ? &e->report : &none,
  };
  char *folder = NULL, *socket = NULL;
  struct boot *boot = NULL;
  int rc = guest_folder(spec->memory_mib, &folder, err);

  if (rc == 0)
    rc = guest_open(spec->memory_mib, folder, &w.guest, err);
  if (rc == 0 && w.report_at == 0)
    rc = counted_open(folder, symbols, &spec->rules->devices, &w.counted, err);
  if (rc == 0)
    rc = script_make(spec->programs, effort, w.report_at != 0, &w.script, err);
  if (rc == 0) {
    const char *shown[] = {w.counted.plugin, NULL};
    struct sandbox box = {.read_only = shown, .writable = folder};
    w.socket = socket = path_join(folder, "gdb");
    struct boot_spec b = {
        .kernel = kernel,
        .harts = spec->harts,
        .memory_mib = spec->memory_mib,
        .steps = w.script.steps,
        .step_count = w.script.count,
        .timeout_ms = WALL_MS,
        .max_output_bytes = MAX_CONSOLE_BYTES,
        .gdb_socket = socket,
        .extra = w.guest.args,
        .plugin = w.counted.plugged ? buf_str(&w.counted.argument) : NULL,
        .sandbox = spec->stock->sandbox ? &box : NULL,
        .limits = {.cpu_s = QEMU_CPU_S,
                   .address_space_bytes = QEMU_ADDRESS_BYTES,
                   .file_bytes = (uint64_t)spec->memory_mib << 21},
        .arg = &w,
        .on_round = on_round,
        .on_verdict = on_verdict,
        .round_ms = 100,
    };
    rc = boot_run(&b, &boot, err);
    if (rc == 0)
      note_facts(boot, &w, facts);
    boot_release(boot);
  }
  counted_close(&w.counted);
  script_release(&w.script);
  guest_close(&w.guest);
  if (folder != NULL)
    file_remove_tree(folder, NULL);
  free(folder);
  free(socket);
  return rc;
}

// ---- all of it ---------------------------------------------------------------------

// The course's file with the submission's functions in it.
static int look_at_splice(const struct gather_spec *spec,
                          const struct kernel_pair *pair,
                          const struct binary *student, struct evidence *e,
                          struct error *err)
{
  struct binary course = {0}, spliced = {0};
  struct buf disassembly = BUF_INIT;
  int rc = object_read(spec->stock->shared, &course, err);

  if (rc == 0)
    rc = object_read(pair->shared, &spliced, err);
  if (rc == 0)
    rc = file_read(pair->shared_disassembly, MAX_TEXT_BYTES, &disassembly, err);
  if (rc == 0)
    object_check_splice(&(struct object_splice){&course, &spliced, student,
                                                buf_str(&disassembly)},
                        spec->rules, &e->object_problems);
  object_release(&course);
  object_release(&spliced);
  buf_release(&disassembly);
  return rc;
}

static int look_at_object(const struct gather_spec *spec,
                          const struct kernel_pair *pair, struct evidence *e,
                          struct error *err)
{
  struct binary object = {0};
  struct buf disassembly = BUF_INIT;
  int rc = object_read(pair->object, &object, err);

  if (rc == 0)
    rc = file_read(pair->disassembly, MAX_TEXT_BYTES, &disassembly, err);
  if (rc == 0)
    object_check(&object, spec->rules,
                 (const char *const *)spec->stock->reserved,
                 spec->stock->reserved_count, buf_str(&disassembly),
                 &e->object_problems);
  if (rc == 0 && pair->shared != NULL)
    rc = look_at_splice(spec, pair, &object, e, err);
  object_release(&object);
  buf_release(&disassembly);
  return rc;
}

static void add_story(struct evidence *e, const struct explore_result *r,
                      const struct story *s, bool note)
{
  struct buf text = BUF_INIT;

  buf_adds(&text, s->text);
  if (s->place.line > 0)
    buf_addf(&text, " (%s:%d)", s->place.function, s->place.line);
  if (!note) {
    struct table_words words = explore_words(r);
    buf_addc(&text, '\n');
    print_finding(s, &words, PRINT_TEXT, 100, &text);
  }
  GROW(e->findings, e->finding_count, e->finding_room);
  e->findings[e->finding_count++] = (struct found){
      .source = s->preemptions > 0 ? "race" : "explorer",
      .kind = ex_kind_name(s->kind),
      .note = note,
      .count = 1,
      .text = buf_detach(&text),
      .function = xstrdup(s->place.function),
      .line = s->place.line,
  };
}

bool found_by_explorer(const struct found *f)
{
  return strcmp(f->source, "explorer") == 0 || strcmp(f->source, "race") == 0;
}

static struct explore_options explore_options_of(const struct stock *stock,
                                                 const char *path,
                                                 const char *headers)
{
  return (struct explore_options){.path = path,
                                  .headers = headers,
                                  .bound = EXPLORE_BOUND,
                                  .sandbox = stock->sandbox};
}

// Whether the explorer has what it needs here, which the course's file tells.
static bool explores_own(const struct stock *stock, const char *headers)
{
  struct explore_options options =
      explore_options_of(stock, stock->dir, headers);
  struct explore_result result = {0};

  options.bound = 0;
  options.schedules_most = 1;
  bool can = explore(&options, &result, NULL) == 0;
  explore_release(&result);
  return can;
}

// Why there is no exploration. Of a file that does not compile, what it is
// called here is nobody's business.
static void note_unexplored(struct evidence *e, const char *path,
                            const char *words)
{
  size_t len = strlen(path);

  buf_addf(&e->explore_words, "the explorer cannot run this file: it%s\n",
           strncmp(words, path, len) == 0 ? words + len : words);
}

static void add_stories(struct evidence *e, const struct explore_result *r)
{
  const struct stories *s = &r->stories;

  for (size_t i = 0; i < s->findings; i++) {
    add_story(e, r, &s->finding[i], !s->finding[i].repeats);
    if (s->finding[i].key == STORY_OF_THE_END &&
        s->finding[i].kind == EX_CRASH) {
      e->unexplorable = true;
      buf_addf(&e->explore_words, "%s\n", s->finding[i].text);
    }
  }
  for (size_t i = 0; i < s->notes; i++)
    add_story(e, r, &s->note[i], true);
  print_coverage(s, EXPLORE_BOUND, PRINT_TEXT, &e->explore_words);
}

// Findings of the explorer count when their trace repeats; notes never do.
static int explore_student(const struct gather_spec *spec,
                           const struct kernel_pair *pair, struct evidence *e,
                           struct error *err)
{
  char *headers = path_join(spec->stock->dir, "kernel");
  struct explore_options options =
      explore_options_of(spec->stock, pair->preprocessed, headers);
  struct explore_result result = {0};
  struct error words = {0};

  tell(spec, "explores");
  int rc = explore(&options, &result, &words);
  const char *message = words.message ? words.message : "";

  e->explored = rc == 0 && !result.cut;
  if (rc == 0) {
    add_stories(e, &result);
  } else if (rc == LG_EBUILD || rc == LG_EINPUT) {
    e->unexplorable = rc == LG_EBUILD && explores_own(spec->stock, headers);
    note_unexplored(e, pair->preprocessed, message);
    rc = 0;
  } else {
    rc = error_set(err, rc, "%s", message);
  }
  explore_release(&result);
  error_release(&words);
  free(headers);
  return rc;
}

// A probe that makes no progress, where no watcher says why.
static void add_hang(struct evidence *e)
{
  if (e->watched.hang.len == 0 || e->report.phase >= WATCH_STORM ||
      report_has(&e->report, WATCH_CIRCULAR_WAIT))
    return;
  GROW(e->findings, e->finding_count, e->finding_room);
  e->findings[e->finding_count++] = (struct found){
      .source = "probe",
      .kind = "hang",
      .phase = e->report.phase,
      .count = 1,
      .text = xstrdup("the kernel hangs while it is watched"),
  };
}

static int boot_watched(const struct gather_spec *spec,
                        const struct kernel_pair *pair, struct evidence *e,
                        struct error *err)
{
  struct binary symbols = {0};
  int rc = object_read(pair->watched, &symbols, err);

  if (rc == 0)
    rc = boot_kernel(spec, pair->watched, &symbols, spec->watched_cpu_s,
                     EFFORT_QUICK, e, &e->watched, err);
  if (rc == 0) {
    e->reported = e->report.magic == WATCH_MAGIC;
    evidence_add_report(e, &symbols);
    add_hang(e);
  }
  object_release(&symbols);
  return rc;
}

static int boot_plain(const struct gather_spec *spec,
                      const struct kernel_pair *pair, struct evidence *e,
                      struct error *err)
{
  struct binary symbols = {0};
  char *kernel = counted_kernel(spec->stock, pair);
  int rc = object_read(kernel, &symbols, err);

  if (rc == 0)
    rc = boot_kernel(spec, kernel, &symbols, spec->plain_cpu_s, spec->effort, e,
                     &e->plain, err);
  object_release(&symbols);
  free(kernel);
  return rc;
}

// What takes least comes first.
static int gather_parts(const struct gather_spec *spec,
                        const struct kernel_pair *pair, struct evidence *e,
                        struct error *err)
{
  int (*const parts[])(const struct gather_spec *, const struct kernel_pair *,
                       struct evidence *, struct error *) = {
      look_at_object,
      spec->explore ? explore_student : NULL,
      spec->watched ? boot_watched : NULL,
      spec->plain ? boot_plain : NULL,
  };
  int rc = 0;

  for (size_t i = 0; rc == 0 && i < sizeof parts / sizeof *parts; i++) {
    if (parts[i] == NULL)
      continue;
    rc = parts[i](spec, pair, e, err);
    if (rc == 0)
      tell_evidence(spec, e);
  }
  return rc;
}

int evidence_gather(const struct gather_spec *spec, struct evidence *ret,
                    struct error *err)
{
  struct evidence e = {0};
  struct kernel_pair pair = {0};
  struct error build = {0};

  tell(spec, "compiles");
  int rc = kernel_pair_build(spec->stock, spec->tree, &pair, &build);

  if (rc == LG_EBUILD) {
    buf_adds(&e.build_words, build.message ? build.message : "");
    rc = 0;
    goto out;
  }
  if (rc != 0) {
    rc = error_set(err, rc, "%s", build.message ? build.message : "");
    goto out;
  }
  e.built = true;
  e.effort = spec->effort;
  e.unwatched = !spec->watched;
  rc = gather_parts(spec, &pair, &e, err);
out:
  error_release(&build);
  kernel_pair_release(&pair);
  if (rc != 0)
    evidence_release(&e);
  else
    *ret = e;
  return rc;
}

static void release_boot(struct boot_facts *f)
{
  buf_release(&f->detail);
  buf_release(&f->console);
  buf_release(&f->hang);
  buf_release(&f->locks);
  buf_release(&f->tampering);
  program_runs_release(f->runs, f->run_count);
  buf_release(&f->ctrlp.text);
}

void evidence_release(struct evidence *e)
{
  buf_release(&e->build_words);
  buf_release(&e->object_problems);
  buf_release(&e->explore_words);
  release_boot(&e->plain);
  release_boot(&e->watched);
  drop_findings(e, 0);
  free(e->findings);
  *e = (struct evidence){0};
}
