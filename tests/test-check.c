// The rubric, and the verdicts that come of evidence.
#include "graders/check.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

#define RUBRIC "graders/percpu-kalloc.yaml"

static struct arena arena;
static struct rubric rubric;

static void read_rubric(void)
{
  struct error err = {0};
  cr_assert_eq(rubric_read(RUBRIC, &arena, &rubric, &err), 0, "%s",
               err.message ? err.message : "");
}

static void forget_rubric(void)
{
  arena_release(&arena);
}

TestSuite(check, .init = read_rubric, .fini = forget_rubric);

// Evidence of a submission with which all is well, for tests to spoil.
static struct evidence good(void)
{
  static const char line[] =
      "free pages: kmem0 7 kmem1 1 kmem2 0 kmem3 0 kmem4 0 kmem5 0 kmem6 0 "
      "kmem7 0";
  struct evidence e = {.built = true, .reported = true, .explored = true};
  struct boot_facts *const boots[] = {&e.plain, &e.watched};

  for (int i = 0; i < 2; i++) {
    boots[i]->done = boots[i]->shell = boots[i]->works = true;
    boots[i]->verdict = BOOT_COMPLETED;
    boots[i]->ctrlp = (struct ctrlp_line){
        .seen = true, .complete = true, .named = true, .sum = 8};
    buf_adds(&boots[i]->ctrlp.text, line);
  }
  e.report.phase = WATCH_RUNNING;
  e.report.obtainable_pages = 8;
  e.report.own = (struct watch_traffic){.calls = 100, .acquired = 100};
  e.report.steal = (struct watch_traffic){.calls = 100, .away = 2};
  e.report.robbed = (struct watch_traffic){.calls = 1};
  return e;
}

static void add_finding(struct evidence *e, const char *source,
                        const char *kind, bool note)
{
  GROW(e->findings, e->finding_count, e->finding_room);
  e->findings[e->finding_count++] =
      (struct found){.source = source,
                     .kind = kind,
                     .note = note,
                     .count = 2,
                     .text = xstrdup("what was seen")};
}

// Judges and releases the evidence; *ret_text is the caller's.
static enum verdict verdict_of(struct evidence *e, const char *id,
                               char **ret_text)
{
  struct check_result *results;
  enum verdict verdict = VERDICT_NOT_JUDGED;
  bool found = false;

  rubric_judge(&rubric, e, &results);
  *ret_text = NULL;
  for (size_t i = 0; i < rubric.checks.count; i++) {
    if (strcmp(results[i].check->id, id) != 0)
      continue;
    found = true;
    verdict = results[i].verdict;
    *ret_text = xstrdup(buf_str(&results[i].text));
    cr_assert_eq(results[i].marks,
                 verdict == VERDICT_PASS ? results[i].check->marks : 0);
    cr_assert(verdict != VERDICT_FAIL || **ret_text != '\0',
              "%s fails without evidence", id);
  }
  cr_assert(found, "no check %s", id);
  check_results_release(results, rubric.checks.count);
  evidence_release(e);
  return verdict;
}

static void expect(struct evidence e, const char *id, enum verdict verdict,
                   const char *words)
{
  char *text;
  enum verdict got = verdict_of(&e, id, &text);

  cr_assert_eq(got, verdict, "%s: %s, and not %s: %s", id, verdict_words(got),
               verdict_words(verdict), text);
  cr_assert(strstr(text, words) != NULL, "'%s' is not in '%s'", words, text);
  free(text);
}

Test(check, what_the_start_passes_earns_nothing_while_a_lock_is_shared)
{
  struct check_result *results;
  struct evidence e = good();
  long earned = 0, all = 0;

  e.report.own.shared = 100;
  rubric_judge(&rubric, &e, &results);
  for (size_t i = 0; i < rubric.checks.count; i++) {
    const struct check_result *r = &results[i];
    earned += r->marks;
    all += r->check->marks;
    if (strcmp(r->check->id, "invariant-pages") != 0)
      continue;
    cr_expect_eq(r->verdict, VERDICT_PASS);
    cr_expect_eq(r->marks, 0);
    cr_expect_not_null(strstr(buf_str(&r->text), "traffic-shared"));
  }
  cr_expect_gt(earned, 0);
  cr_expect_lt(earned * 4, all, "%ld of %ld", earned, all);
  check_results_release(results, rubric.checks.count);
  evidence_release(&e);
}

Test(check, good_evidence_passes_everything_that_was_run)
{
  struct check_result *results;
  struct evidence e = good();

  rubric_judge(&rubric, &e, &results);
  for (size_t i = 0; i < rubric.checks.count; i++)
    cr_assert_eq(results[i].verdict,
                 results[i].check->kind == CHECK_CONSOLE ? VERDICT_NOT_REACHED
                                                         : VERDICT_PASS,
                 "%s: %s", results[i].check->id, buf_str(&results[i].text));
  check_results_release(results, rubric.checks.count);
  evidence_release(&e);
}

Test(check, what_does_not_compile_is_told_and_the_rest_is_not_reached)
{
  struct evidence e = {0};
  buf_adds(&e.build_words, "kalloc.c:3: error: expected ';'\n");
  expect(e, "build", VERDICT_FAIL, "expected ';'");
  expect((struct evidence){0}, "boot", VERDICT_NOT_REACHED, "'build'");
  expect((struct evidence){0}, "invariant-pages", VERDICT_NOT_REACHED, "build");
}

Test(check, a_problem_of_the_object_fails_the_object)
{
  struct evidence e = good();
  buf_adds(&e.object_problems, "kalloc() touches a control register itself\n");
  expect(e, "object", VERDICT_FAIL, "control register");
}

Test(check, a_kernel_that_hangs_fails_to_boot_with_the_hang_report)
{
  struct evidence e = good();
  e.plain.verdict = BOOT_STOPPED;
  e.plain.shell = e.plain.works = false;
  buf_adds(&e.plain.detail, "was stopped: it makes no progress");
  buf_adds(&e.plain.hang, "hart 0 holds kmem0 and waits for kmem2.\n");
  expect(e, "boot", VERDICT_FAIL, "hart 0 holds kmem0");
}

Test(check, a_fault_of_the_harness_is_never_the_students)
{
  static const enum boot_verdict faults[] = {BOOT_NOT_STARTED, BOOT_QEMU_DIED,
                                             BOOT_TIMED_OUT};
  for (int i = 0; i < 3; i++) {
    struct evidence e = good();
    e.plain.verdict = faults[i];
    e.plain.harness = true;
    expect(e, "boot", VERDICT_NOT_JUDGED, "not booted");
    e = good();
    e.plain.harness = true;
    expect(e, "ctrlp-form", VERDICT_NOT_JUDGED, "'boot'");
    e = good();
    e.plain.harness = true;
    expect(e, "invariant-pages", VERDICT_PASS, "");
    e = good();
    e.watched.harness = true;
    expect(e, "invariant-lost-pages", VERDICT_NOT_JUDGED, "not booted");
    e = good();
    e.watched.harness = true;
    expect(e, "traffic-remote", VERDICT_NOT_JUDGED, "'invariant-lock-setup'");
  }
}

Test(check, ctrl_p_needs_the_line_its_form_its_names_and_its_sum)
{
  struct evidence e = good();
  e.plain.ctrlp.seen = e.plain.ctrlp.complete = false;
  expect(e, "ctrlp-form", VERDICT_FAIL, "no line that begins");
  e = good();
  e.plain.ctrlp.complete = false;
  expect(e, "ctrlp-form", VERDICT_FAIL, "a name and a count");
  e = good();
  e.plain.ctrlp.named = false;
  expect(e, "ctrlp-form", VERDICT_FAIL, "kmem0 to kmem7");
  e = good();
  e.watched.ctrlp.sum = 9;
  expect(e, "ctrlp-sum", VERDICT_FAIL, "add up to 9, and 8 pages are there");
  e = good();
  add_finding(&e, "race", "count-drift", false);
  expect(e, "ctrlp-sum", VERDICT_FAIL, "what was seen");
  e = good();
  e.report.obtainable_pages = -1;
  expect(e, "ctrlp-sum", VERDICT_NOT_JUDGED, "never quiet");
}

Test(check, a_finding_fails_its_check_alone)
{
  struct evidence e = good();
  add_finding(&e, "probe", "stale-cpu", false);
  expect(e, "invariant-cpu-number", VERDICT_FAIL, "what was seen (2 times)");
  e = good();
  add_finding(&e, "probe", "stale-cpu", false);
  expect(e, "invariant-interrupts", VERDICT_PASS, "");
}

Test(check, the_same_kind_from_another_source_is_another_finding)
{
  struct evidence e = good();
  add_finding(&e, "run", "no-junk-on-kalloc", false);
  expect(e, "invariant-contents", VERDICT_PASS, "");
  e = good();
  add_finding(&e, "probe", "no-junk-on-kalloc", false);
  expect(e, "invariant-contents", VERDICT_FAIL, "what was seen");
}

Test(check, a_cycle_of_locks_alone_is_a_note)
{
  struct evidence e = good();
  add_finding(&e, "probe", "lock-cycle", true);
  expect(e, "invariant-lock-order", VERDICT_PASS, "note: what was seen");
  e = good();
  add_finding(&e, "probe", "lock-cycle", true);
  add_finding(&e, "run", "circular-wait", false);
  expect(e, "invariant-lock-order", VERDICT_FAIL, "note: what was seen");
}

Test(check, a_trace_that_does_not_repeat_costs_nothing)
{
  struct evidence e = good();
  add_finding(&e, "race", "deadlock", true);
  expect(e, "invariant-lock-order", VERDICT_PASS, "");
}

Test(check, an_exploration_that_was_cut_short_is_not_judged)
{
  struct evidence e = good();
  e.explored = false;
  expect(e, "invariant-lock-order", VERDICT_NOT_JUDGED, "explorer");
  // ... unless something was found all the same, or nothing is asked of it.
  e = good();
  e.explored = false;
  add_finding(&e, "run", "circular-wait", false);
  expect(e, "invariant-lock-order", VERDICT_FAIL, "what was seen");
  e = good();
  e.explored = false;
  expect(e, "invariant-lost-pages", VERDICT_PASS, "");
}

Test(check, a_probe_that_ended_early_reaches_nothing)
{
  struct evidence e = good();
  e.report.phase = WATCH_PAIRS;
  e.watched.verdict = BOOT_PANICKED;
  buf_adds(&e.watched.detail, "panicked: kerneltrap");
  expect(e, "invariant-contents", VERDICT_NOT_REACHED,
         "the end of the watchers' probe: it panicked: kerneltrap");
  e = good();
  e.report.phase = WATCH_PAIRS;
  e.report.own.calls = 0;
  expect(e, "traffic-shared", VERDICT_NOT_REACHED, "");
}

Test(check, traffic_is_held_to_its_limit_and_not_below_it)
{
  struct evidence e = good();
  e.report.own.shared = 100;
  expect(e, "traffic-shared", VERDICT_FAIL, "shared 100 in 100 calls");
  e = good();
  e.report.steal.away = 40;
  expect(e, "traffic-remote", VERDICT_PASS, "");
  e = good();
  e.report.steal.away = 41;
  expect(e, "traffic-remote", VERDICT_FAIL, "away 41 in 100 calls");
  e = good();
  e.report.robbed.away = 1;
  expect(e, "traffic-remote", VERDICT_FAIL, "away 100 in 100 calls");
}

// Adds a run of a program that printed `text` between its command and, where it
// ended, the prompt. The grader's word for it is "abc".
static void add_run(struct evidence *e, const char *id, const char *text,
                    bool ended)
{
  struct boot_facts *f = &e->plain;
  struct program_run run = {.id = xstrdup(id),
                            .nonce = "abc",
                            .overtime = "no end in sight",
                            .typed = true,
                            .ended = ended,
                            .cpu_s = 10,
                            .waited_s = 10};

  buf_addf(&f->console, "%s -n abc\n", id);
  run.from = f->console.len - 5;
  buf_adds(&f->console, text);
  buf_adds(&f->console, ended ? "$ " : "");
  run.to = f->console.len;
  f->runs = xreallocarray(f->runs, f->run_count + 1, sizeof run);
  f->runs[f->run_count++] = run;
  e->effort = EFFORT_FULL;
}

static void expect_usertests(const char *text, enum verdict verdict)
{
  struct evidence e = good();
  add_run(&e, "usertests", text, true);
  expect(e, "usertests", verdict,
         verdict == VERDICT_PASS ? "" : "did not print '... ALL TESTS PASSED'");
}

Test(check, a_line_is_credited_whole_and_with_the_word_of_its_run)
{
  expect_usertests("abc usertests starting\nabc ALL TESTS PASSED\n",
                   VERDICT_PASS);
  expect_usertests("ALL TESTS PASSED\n", VERDICT_FAIL);
  expect_usertests("abd ALL TESTS PASSED\n", VERDICT_FAIL);
  expect_usertests("NONCE ALL TESTS PASSED\n", VERDICT_FAIL);
  expect_usertests("x abc ALL TESTS PASSED\n", VERDICT_FAIL);
  expect_usertests("abc ALL TESTS PASSED x\n", VERDICT_FAIL);
  expect_usertests("abc ALL TESTS PASSED", VERDICT_FAIL);
}

#define KALLOCTEST                                          \
  "abc kalloctest: churn: OK\nabc kalloctest: gather: OK\n" \
  "abc kalloctest: exhaust: OK\nabc kalloctest: no leaks: OK\n"

Test(check, a_line_is_credited_in_its_own_run_and_in_order)
{
  struct evidence e = good();
  add_run(&e, "kchurn", KALLOCTEST "abc kalloctest: ALL OK\n", true);
  add_run(&e, "kalloctest", KALLOCTEST, true);
  add_run(&e, "usertests", "abc kalloctest: ALL OK\n", true);
  e.effort = EFFORT_TESTS;
  expect(e, "kalloctest", VERDICT_FAIL, "'... kalloctest: ALL OK'");
  e = good();
  add_run(&e, "kalloctest", "abc kalloctest: ALL OK\n" KALLOCTEST, true);
  expect(e, "kalloctest", VERDICT_FAIL, "'... kalloctest: ALL OK'");
  e = good();
  add_run(&e, "kalloctest", KALLOCTEST "abc kalloctest: ALL OK\n", true);
  expect(e, "kalloctest", VERDICT_PASS, "");
}

Test(check, what_was_not_run_is_not_reached)
{
  struct evidence e = good();
  add_run(&e, "kalloctest", KALLOCTEST "abc kalloctest: ALL OK\n", true);
  e.effort = EFFORT_TESTS;
  expect(e, "kalloctest-again", VERDICT_NOT_REACHED, "were not run");
  expect(good(), "kalloctest", VERDICT_NOT_REACHED, "were not run");
  e = good();
  e.effort = EFFORT_FULL;
  buf_adds(&e.plain.detail, "was stopped: it makes no progress");
  expect(e, "kalloctest", VERDICT_NOT_REACHED, "before it was run");
}

Test(check, a_hang_in_kalloctest_fails_it_with_the_report_and_not_the_boot)
{
  struct evidence e = good();
  add_run(&e, "kalloctest", KALLOCTEST "abc kalloctest: ALL OK\n", false);
  e.plain.verdict = BOOT_STOPPED;
  buf_adds(&e.plain.detail, "was stopped: it makes no progress");
  buf_adds(&e.plain.hang, "hart 0 holds kmem0\n");
  expect(e, "kalloctest", VERDICT_FAIL, "hart 0 holds kmem0");
  e = good();
  e.plain.verdict = BOOT_STOPPED;
  expect(e, "boot", VERDICT_PASS, "");
}

Test(check, a_time_limit_on_a_host_that_was_too_busy_is_not_judged)
{
  struct evidence e = good();
  add_run(&e, "usertests", "abc test x: FAILED -- no end in sight\n", true);
  e.plain.runs[0].waited_s = 41;
  expect(e, "usertests", VERDICT_NOT_JUDGED, "waited 41 s for 10 s");
  e = good();
  add_run(&e, "usertests", "abc test x: FAILED\n", true);
  e.plain.runs[0].waited_s = 41;
  expect(e, "usertests", VERDICT_FAIL, "did not print");
  e = good();
  add_run(&e, "usertests", "abc test x: FAILED -- no end in sight\n", true);
  expect(e, "usertests", VERDICT_FAIL, "did not print");
  e = good();
  add_run(&e, "usertests", "abc ALL TESTS PASSED\n", true);
  e.plain.runs[0].waited_s = 41;
  expect(e, "usertests", VERDICT_PASS, "");
}

Test(check, who_writes_to_the_console_forfeits_what_the_console_shows)
{
  struct check_result *results;
  struct evidence e = good();
  add_run(&e, "kalloctest", KALLOCTEST "abc kalloctest: ALL OK\n", true);
  buf_adds(&e.plain.tampering, "kernel/kalloc.c:9: kalloc() wrote\n");
  rubric_judge(&rubric, &e, &results);
  for (size_t i = 0; i < rubric.checks.count; i++) {
    const struct check_result *r = &results[i];
    int kind = r->check->kind;
    if (kind == CHECK_WRITERS)
      cr_expect_eq(r->verdict, VERDICT_FAIL);
    if (kind == CHECK_CONSOLE || kind == CHECK_BOOT ||
        kind == CHECK_CTRLP_FORM || kind == CHECK_CTRLP_SUM)
      cr_expect_eq(r->marks, 0, "%s", r->check->id);
  }
  check_results_release(results, rubric.checks.count);
  evidence_release(&e);
  e = good();
  buf_adds(&e.watched.tampering, "it switched the machine off\n");
  expect(e, "writers", VERDICT_FAIL, "switched the machine off");
}

Test(check, printed_counts_stand_beside_what_there_was)
{
  expect(good(), "ctrlp-sum", VERDICT_PASS, "add up to 8, and 8 pages are");
}

// Ways in which evidence is bad or lacks something.
static void no_build(struct evidence *e)
{
  e->built = false;
  buf_adds(&e->build_words, "kalloc.c:3: error: expected ';'\n");
}

static void no_plain_boot(struct evidence *e)
{
  e->plain.done = false;
}

static void plain_fault(struct evidence *e)
{
  e->plain.harness = true;
}

static void plain_stopped(struct evidence *e)
{
  e->plain.shell = e->plain.works = false;
  e->plain.verdict = BOOT_STOPPED;
}

static void plain_forms(struct evidence *e)
{
  e->plain.ctrlp.complete = e->watched.ctrlp.seen = false;
}

static void plain_not_run(struct evidence *e)
{
  e->effort = EFFORT_FULL;
}

static void no_watched_boot(struct evidence *e)
{
  e->watched.done = false;
}

static void watched_fault(struct evidence *e)
{
  e->watched.harness = true;
}

static void no_report(struct evidence *e)
{
  e->reported = false;
}

static void early_end(struct evidence *e)
{
  e->report.phase = WATCH_DRAIN;
  e->report.own.calls = 0;
  e->watched.verdict = BOOT_HUNG;
}

static void no_calls(struct evidence *e)
{
  e->report.steal.calls = 0;
}

static void never_quiet(struct evidence *e)
{
  e->report.obtainable_pages = -1;
}

static void not_explored(struct evidence *e)
{
  e->explored = false;
}

static void a_race(struct evidence *e)
{
  add_finding(e, "race", "deadlock", false);
}

static void tampering(struct evidence *e)
{
  buf_adds(&e->plain.tampering, "it wrote\n");
  e->report.own.shared = 100;
}

Test(check, whatever_is_no_pass_and_every_mark_lost_has_words_and_a_hint)
{
  static void (*const spoil[])(struct evidence *) = {
      no_build,      no_plain_boot,   plain_fault,   plain_stopped, plain_forms,
      plain_not_run, no_watched_boot, watched_fault, no_report,     early_end,
      no_calls,      never_quiet,     not_explored,  a_race,        tampering};
  size_t lost = 0;

  for (size_t i = 0; i < sizeof spoil / sizeof *spoil; i++) {
    struct check_result *results;
    struct evidence e = good();
    spoil[i](&e);
    rubric_judge(&rubric, &e, &results);
    size_t before = lost;
    for (size_t c = 0; c < rubric.checks.count; c++) {
      const struct check_result *r = &results[c];
      if (r->verdict == VERDICT_PASS && r->marks == r->check->marks)
        continue;
      lost++;
      cr_expect_gt(r->text.len, 1, "%s, spoilt by %zu: %s", r->check->id, i,
                   verdict_words(r->verdict));
      cr_expect(r->check->hint && *r->check->hint, "%s", r->check->id);
    }
    cr_expect_gt(lost, before, "%zu spoils nothing", i);
    check_results_release(results, rubric.checks.count);
    evidence_release(&e);
  }
}

Test(check, what_cannot_be_explored_is_the_files_or_the_hosts_fault)
{
  struct evidence e = good();
  e.explored = false;
  buf_adds(&e.explore_words, "gcc: not found\n");
  expect(e, "invariant-lock-order", VERDICT_NOT_JUDGED, "gcc: not found");
  e = good();
  e.explored = false;
  e.unexplorable = true;
  buf_adds(&e.explore_words, "the explorer cannot run this file\n");
  expect(e, "invariant-lock-order", VERDICT_NOT_REACHED, "cannot run this");
  e = good();
  e.explored = false;
  e.unexplorable = true;
  add_finding(&e, "explorer", "crash", false);
  expect(e, "invariant-pages", VERDICT_NOT_REACHED, "");
}

Test(check, a_hart_that_waits_while_it_need_not_shares_a_lock)
{
  struct evidence e = good();
  add_finding(&e, "race", "waits-while-apart", false);
  expect(e, "traffic-shared", VERDICT_FAIL, "what was seen");
}

Test(check, counts_are_held_to_the_plain_kernel_too)
{
  struct evidence e = good();
  e.plain.pages = 1008;
  e.watched.pages = 1000;
  e.plain.ctrlp.sum = 16 + 64;
  expect(e, "ctrlp-sum", VERDICT_PASS, "add up to 80, where about 16 would");
  e = good();
  e.plain.pages = 1008;
  e.watched.pages = 1000;
  e.plain.ctrlp.sum = 16 + 65;
  expect(e, "ctrlp-sum", VERDICT_FAIL, "add up to 81, where about 16 would");
  // A plain kernel that did not come so far is another check's.
  e = good();
  e.plain.pages = 1008;
  e.watched.pages = 1000;
  e.plain.ctrlp.sum = 999;
  e.plain.verdict = BOOT_STOPPED;
  expect(e, "ctrlp-sum", VERDICT_PASS, "add up to 8, and 8 pages are");
}

static void expect_error(const char *text, const char *words)
{
  char *folder;
  struct rubric r;
  struct error err = {0};
  cr_assert_eq(file_make_temp_dir(NULL, "rubric-", &folder, NULL), 0);
  char *path = path_join(folder, "r.yaml");
  cr_assert_eq(file_write(path, text, strlen(text), 0644, NULL), 0);
  cr_assert_eq(rubric_read(path, &arena, &r, &err), LG_EINPUT);
  cr_assert(strstr(err.message, words) != NULL, "%s", err.message);
  error_release(&err);
  file_remove_tree(folder, NULL);
  free(folder);
  free(path);
}

Test(check, a_rubric_with_a_mistake_says_where)
{
#define ONE(more)                   \
  "title: T\nobject: {}\nchecks:\n" \
  "  - {id: a, title: A, kind: build, marks: 1, hint: H}\n" more
  expect_error(ONE("  - {id: a, title: A, kind: boot, marks: 1, hint: H}\n"),
               "r.yaml:5:5: check 'a' is there twice");
  expect_error(ONE("  - {id: b, title: A, kind: boot, marks: 1, hint: H, "
                   "needs: [c]}\n"),
               "r.yaml:5:5: needs 'c'");
  expect_error(ONE("  - {id: b, title: A, kind: bot, marks: 1, hint: H}\n"),
               "r.yaml:5:");
  expect_error(ONE("  - {id: b, title: A, kind: boot, marks: -1, hint: H}\n"),
               "r.yaml:5:");
#define LINES(program, line)                                     \
  ONE("  - {id: b, title: A, kind: console, marks: 1, hint: H, " \
      "program: " program ", lines: [" line "]}\n")              \
  "programs: [{id: p, type: p -n NONCE, effort: full}]\n"
  expect_error(LINES("q", "NONCE OK"), "5:5: program 'q' is none of");
  expect_error(LINES("p", "OK"), "5:5: line 'OK' lacks the NONCE");
  expect_error(LINES("p", ""), "5:5: it has no 'lines'");
}
