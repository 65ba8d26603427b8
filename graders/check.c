// Reads the rubric and judges evidence by it. One row of a table is one kind of
// check; what is checked is data.

#include "graders/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"

// ---- the rubric --------------------------------------------------------------------

static const char *const kind_names[] = {
#define NAME(number, name, words) name,
    CHECK_KINDS(NAME)
#undef NAME
        NULL};
static const char *const step_names[] = {"own", "steal", "robbed", NULL};
static const char *const count_names[] = {"away", "shared", "remote", NULL};

static const struct field limit_fields[] = {
    FIELD(struct traffic_limit, step, FIELD_CHOICE, .required = true,
          .choices = step_names, .doc = "step of the probe"),
    FIELD(struct traffic_limit, count, FIELD_CHOICE, .required = true,
          .choices = count_names,
          .doc = "calls that went away, or shared or remote acquisitions"),
    FIELD(struct traffic_limit, most, FIELD_INT, .required = true, .min = 0,
          .max = 100000, .doc = "in 100 calls"),
    FIELD_END,
};

static const struct schema limit_schema = {
    .name = "limit",
    .doc = "How often locks may be taken in a step of the probe.",
    .size = sizeof(struct traffic_limit),
    .fields = limit_fields,
};

static const struct field check_fields[] = {
    FIELD(struct check, id, FIELD_ID, .required = true, .doc = "its name"),
    FIELD(struct check, title, FIELD_TEXT, .required = true,
          .doc = "what a student is promised, in a line"),
    FIELD(struct check, kind, FIELD_CHOICE, .required = true,
          .choices = kind_names, .doc = "what it looks at"),
    FIELD(struct check, needs, FIELD_TEXTS,
          .doc = "checks before it; where one did not pass, it is not reached"),
    FIELD(struct check, worth_with, FIELD_TEXTS,
          .doc = "checks; where one fails, this one earns nothing, since what "
                 "a lab starts from passes it"),
    FIELD(struct check, findings, FIELD_TEXTS,
          .doc = "SOURCE/KIND that must not be found; sources are probe, run, "
                 "explorer, race"),
    FIELD(struct check, notes, FIELD_TEXTS,
          .doc = "SOURCE/KIND that is shown and costs nothing"),
    FIELD(struct check, program, FIELD_TEXT,
          .doc = "the program, by its id, that must print the lines"),
    FIELD(struct check, lines, FIELD_TEXTS,
          .doc = "whole lines of its output, in their order; " NONCE
                 " is the run's word"),
    FIELD(struct check, effort, FIELD_CHOICE, .choices = effort_names,
          .fallback = "full",
          .doc = "how much a boot must do for them: quick, tests (kalloctest), "
                 "full (usertests, kalloctest again)"),
    FIELD(struct check, limits, FIELD_STRUCTS, .sub = &limit_schema,
          .doc = "counts that must be small"),
    FIELD(struct check, marks, FIELD_INT, .required = true, .min = 0,
          .max = 1000, .doc = "what it is worth"),
    FIELD(struct check, visible, FIELD_BOOL, .fallback = "true",
          .doc = "whether students see its evidence at once"),
    FIELD(struct check, hint, FIELD_TEXT, .required = true,
          .doc = "where to look when it fails"),
    FIELD(struct check, see, FIELD_TEXT,
          .doc = "the command that shows it to a student"),
    FIELD_END,
};

static const struct schema check_schema = {
    .name = "check",
    .doc = "One line of the rubric.",
    .size = sizeof(struct check),
    .fields = check_fields,
};

const struct check *rubric_find(const struct rubric *rubric, const char *id)
{
  for (size_t i = 0; i < rubric->checks.count; i++) {
    const struct check *c = LIST_AT(rubric->checks, struct check, i);
    if (strcmp(c->id, id) == 0)
      return c;
  }
  return NULL;
}

// Needs must name checks above, or nothing could be judged in one pass.
static int check_names(const struct rubric *rubric, size_t i, struct reader *r)
{
  const struct check *c = LIST_AT(rubric->checks, struct check, i);
  int rc = 0;

  for (size_t j = 0; j < i; j++)
    if (strcmp(LIST_AT(rubric->checks, struct check, j)->id, c->id) == 0)
      rc = reader_error(r, &c->at, "check '%s' is there twice", c->id);
  for (size_t n = 0; n < c->needs.count; n++) {
    size_t j = 0;
    while (j < i && strcmp(LIST_AT(rubric->checks, struct check, j)->id,
                           c->needs.items[n]) != 0)
      j++;
    if (j == i)
      rc = reader_error(r, &c->at, "needs '%s', which is no check above it",
                        c->needs.items[n]);
  }
  for (size_t n = 0; n < c->worth_with.count; n++)
    if (rubric_find(rubric, c->worth_with.items[n]) == NULL)
      rc = reader_error(r, &c->at, "worth_with '%s', which is no check",
                        c->worth_with.items[n]);
  return rc;
}

// A line without the nonce, of a program that prints one, could be anybody's.
static int check_program(const struct rubric *rubric, const struct check *c,
                         struct reader *r)
{
  const struct program *p = NULL;
  int rc = 0;

  for (size_t i = 0; c->program != NULL && i < rubric->programs.count; i++) {
    const struct program *one = LIST_AT(rubric->programs, struct program, i);
    if (strcmp(one->id, c->program) == 0)
      p = one;
  }
  if (p == NULL)
    return reader_error(r, &c->at, "program '%s' is none of 'programs'",
                        c->program ? c->program : "");
  if (c->lines.count == 0)
    return reader_error(r, &c->at, "it has no 'lines', and so cannot fail");
  if (p->effort != c->effort)
    rc = reader_error(r, &c->at, "its program '%s' has effort '%s'", p->id,
                      effort_names[p->effort]);
  for (size_t n = 0; n < c->lines.count; n++)
    if (strstr(p->type, NONCE) && !strstr(c->lines.items[n], NONCE))
      rc =
          reader_error(r, &c->at, "line '%s' lacks the " NONCE " that is typed",
                       c->lines.items[n]);
  return rc;
}

static int check_rubric(const void *value, struct reader *r)
{
  const struct rubric *rubric = value;
  int rc = 0;

  for (size_t i = 0; i < rubric->checks.count; i++) {
    const struct check *c = LIST_AT(rubric->checks, struct check, i);
    int names = check_names(rubric, i, r);
    int program = c->kind == CHECK_CONSOLE ? check_program(rubric, c, r) : 0;
    rc = names ? names : program ? program : rc;
  }
  return rc;
}

static const struct field rubric_fields[] = {
    FIELD(struct rubric, title, FIELD_TEXT, .required = true,
          .doc = "the lab's name"),
    FIELD(struct rubric, object, FIELD_STRUCT, .required = true,
          .sub = &object_rules_schema, .doc = "rules for the compiled file"),
    FIELD(struct rubric, designs, FIELD_FOLDER,
          .doc = "designs that labgen verify proves the checks on"),
    FIELD(struct rubric, start_fails, FIELD_TEXTS,
          .doc = "checks that the start must fail"),
    FIELD(struct rubric, start_notes, FIELD_TEXTS,
          .doc = "what the explorer must note of the start"),
    FIELD(struct rubric, programs, FIELD_STRUCTS, .sub = &program_schema,
          .doc = "the programs that the boots run, in their order"),
    FIELD(struct rubric, checks, FIELD_STRUCTS, .required = true,
          .sub = &check_schema, .doc = "the checks, in their order"),
    FIELD_END,
};

const struct schema rubric_schema = {
    .name = "rubric",
    .doc = "What is checked, and what it is worth.",
    .size = sizeof(struct rubric),
    .fields = rubric_fields,
    .check = check_rubric,
};

int rubric_read(const char *path, struct arena *arena, struct rubric *ret,
                struct error *err)
{
  return schema_read_file(&rubric_schema, path, arena, ret, err);
}

const char *verdict_words(enum verdict v)
{
  static const char *const words[] = {
#define WORDS(number, words) words,
      VERDICTS(WORDS)
#undef WORDS
  };
  return words[v];
}

// ---- kinds ---------------------------------------------------------------------------

bool check_asks_explorer(const struct check *c)
{
  for (size_t i = 0; i < c->findings.count; i++)
    if (strncmp(c->findings.items[i], "explorer/", 9) == 0 ||
        strncmp(c->findings.items[i], "race/", 5) == 0)
      return true;
  return false;
}

bool check_shows_tampering(const struct check *c)
{
  return c->kind == CHECK_OBJECT || c->kind == CHECK_WRITERS;
}

// Whether a finding is the one that SOURCE/KIND names.
static bool is_named(const struct found *f, const char *name)
{
  size_t len = strlen(f->source);
  return strncmp(f->source, name, len) == 0 && name[len] == '/' &&
         strcmp(name + len + 1, f->kind) == 0;
}

static size_t add_findings(const struct texts *names, const struct evidence *e,
                           bool notes, struct buf *text)
{
  size_t count = 0;

  for (size_t i = 0; i < e->finding_count; i++) {
    const struct found *f = &e->findings[i];
    for (size_t n = 0; n < names->count; n++) {
      if (!is_named(f, names->items[n]) || (f->note && !notes))
        continue;
      buf_addf(text, "%s%s", notes ? "note: " : "", f->text);
      if (f->count > 1)
        buf_addf(text, " (%u times)", f->count);
      buf_addc(text, '\n');
      count++;
    }
  }
  return count;
}

static enum verdict judge_build(const struct check *c, const struct evidence *e,
                                struct buf *text)
{
  (void)c;
  if (e->built)
    return VERDICT_PASS;
  buf_adds(text, buf_str(&e->build_words));
  return VERDICT_FAIL;
}

static enum verdict judge_object(const struct check *c,
                                 const struct evidence *e, struct buf *text)
{
  (void)c;
  buf_adds(text, buf_str(&e->object_problems));
  return e->object_problems.len == 0 ? VERDICT_PASS : VERDICT_FAIL;
}

// Whether the boot shows nothing of the submission, for a reason that is not the
// submission's.
static bool was_not_booted(const struct boot_facts *f, const char *kernel,
                           struct buf *text)
{
  if (f->done && !f->harness)
    return false;
  buf_addf(text, "the %s kernel was not booted: %s\n", kernel,
           f->done ? buf_str(&f->detail) : "no boot was made");
  return true;
}

// The same of what the watchers report.
static bool was_not_watched(const struct evidence *e, struct buf *text)
{
  if (was_not_booted(&e->watched, "watched", text))
    return true;
  if (!e->reported)
    buf_addf(text, "the watchers left no report; the watched kernel %s\n",
             buf_str(&e->watched.detail));
  return !e->reported;
}

// VERDICT_PASS when what the check asks the explorer for is there. That a file
// cannot be explored is nobody else's fault, and may be an accident.
static enum verdict look_for_explorer(const struct check *c,
                                      const struct evidence *e,
                                      struct buf *text)
{
  if (e->explored || !check_asks_explorer(c))
    return VERDICT_PASS;
  if (e->explore_words.len > 0)
    buf_adds(text, buf_str(&e->explore_words));
  else
    buf_adds(text, "the explorer was not run\n");
  return e->unexplorable ? VERDICT_NOT_REACHED : VERDICT_NOT_JUDGED;
}

// The same of what the watchers and the explorer report.
static enum verdict look_for_report(const struct check *c,
                                    const struct evidence *e, struct buf *text)
{
  return was_not_watched(e, text) ? VERDICT_NOT_JUDGED
                                  : look_for_explorer(c, e, text);
}

static void add_watched_end(const struct evidence *e, const char *before,
                            struct buf *text)
{
  buf_addf(text, "the watched kernel did not come to %s: it %s\n", before,
           buf_str(&e->watched.detail));
}

static enum verdict judge_boot(const struct check *c, const struct evidence *e,
                               struct buf *text)
{
  const struct boot_facts *f = &e->plain;

  if (was_not_booted(f, "plain", text))
    return VERDICT_NOT_JUDGED;
  if (f->works)
    return VERDICT_PASS;
  buf_addf(
      text, "the kernel %s %s\n",
      f->shell ? "reached the shell, and then" : "did not reach the shell; it",
      buf_str(&f->detail));
  buf_adds(text, buf_str(&f->hang));
  add_findings(&c->notes, e, true, text);
  return VERDICT_FAIL;
}

static enum verdict judge_ctrlp_form(const struct check *c,
                                     const struct evidence *e, struct buf *text)
{
  const struct ctrlp_line *line = &e->plain.ctrlp;

  (void)c;
  if (was_not_booted(&e->plain, "plain", text))
    return VERDICT_NOT_JUDGED;
  if (line->complete && line->named)
    return VERDICT_PASS;
  if (!line->seen)
    buf_adds(text, "Ctrl-P printed no line that begins with 'free pages:'\n");
  else
    buf_addf(text, "%s: %s\n",
             line->complete ? "the names are not kmem0 to kmem7"
                            : "it is not a name and a count for each CPU",
             buf_str(&line->text));
  return VERDICT_FAIL;
}

// Whether the plain kernel counts as the watched one does, where it came to its
// end: both have the same pages in use then, but for a few that a program may
// not have given back at that moment. It tells counts that are right only where
// somebody counts, too.
static bool holds_in_plain(const struct evidence *e, struct buf *text)
{
  enum { A_FEW = 64 };
  const struct boot_facts *f = &e->plain;
  long in_use = e->watched.pages - (long)e->report.obtainable_pages;
  long there = f->pages - in_use;

  if (f->verdict != BOOT_COMPLETED || !f->ctrlp.complete || f->pages == 0)
    return true;
  buf_addf(text,
           "in the plain kernel they add up to %ld, where about %ld would be "
           "there: %s\n",
           f->ctrlp.sum, there, buf_str(&f->ctrlp.text));
  return labs(f->ctrlp.sum - there) <= A_FEW;
}

static enum verdict judge_ctrlp_sum(const struct check *c,
                                    const struct evidence *e, struct buf *text)
{
  const struct ctrlp_line *line = &e->watched.ctrlp;

  if (add_findings(&c->findings, e, false, text) > 0)
    return VERDICT_FAIL;
  enum verdict report = look_for_report(c, e, text);
  if (report != VERDICT_PASS)
    return report;
  if (e->watched.verdict != BOOT_COMPLETED || !line->seen) {
    add_watched_end(e, "the last Ctrl-P", text);
    return VERDICT_NOT_REACHED;
  }
  if (e->report.obtainable_pages < 0) {
    buf_adds(text, "the machine was never quiet when Ctrl-P was pressed\n");
    return VERDICT_NOT_JUDGED;
  }
  // Invented counts that add up stand beside what there was, too.
  buf_addf(text, "the counts add up to %ld, and %lld pages are there: %s\n",
           line->sum, e->report.obtainable_pages, buf_str(&line->text));
  if (line->sum != e->report.obtainable_pages || !holds_in_plain(e, text))
    return VERDICT_FAIL;
  return VERDICT_PASS;
}

static const struct program_run *run_of(const struct boot_facts *f,
                                        const char *program)
{
  for (size_t i = 0; i < f->run_count; i++)
    if (strcmp(f->runs[i].id, program) == 0)
      return &f->runs[i];
  return NULL;
}

// Finds a whole line at or behind `at` and before `end`; returns where it ends,
// or NULL.
static const char *find_line(const char *at, const char *end, const char *line)
{
  size_t len = strlen(line);

  while (at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (stop == NULL)
      return NULL;
    if ((size_t)(stop - at) == len && memcmp(at, line, len) == 0)
      return stop + 1;
    at = stop + 1;
  }
  return NULL;
}

// A program's time limits are of the guest's clock, which goes on while the host
// has no CPU for the guest. They are ten times what is needed; it is not the
// student's fault when the host takes so much.
static bool was_starved(const struct boot_facts *f,
                        const struct program_run *run)
{
  enum { TIMES = 4 };
  const char *text = buf_str(&f->console) + run->from;

  return run->overtime != NULL && run->waited_s > TIMES * run->cpu_s &&
         memmem(text, run->to - run->from, run->overtime,
                strlen(run->overtime)) != NULL;
}

// The first line that a run did not print, as people see it, or NULL. The
// caller owns it.
static char *missing_line(const struct check *c, const struct boot_facts *f,
                          const struct program_run *run)
{
  const char *text = buf_str(&f->console);
  const char *at = text + run->from, *end = text + run->to;

  for (size_t i = 0; i < c->lines.count; i++) {
    char *line = script_fill(c->lines.items[i], run->nonce);
    at = find_line(at, end, line);
    free(line);
    if (at == NULL)
      return script_fill(c->lines.items[i], "...");
  }
  return NULL;
}

// Credits what a program has printed between its command and the next prompt.
static enum verdict judge_console(const struct check *c,
                                  const struct evidence *e, struct buf *text)
{
  const struct boot_facts *f = &e->plain;
  const struct program_run *run = run_of(f, c->program);

  if ((int)e->effort < c->effort) {
    buf_adds(text, "the programs that show it were not run\n");
    return VERDICT_NOT_REACHED;
  }
  if (was_not_booted(f, "plain", text))
    return VERDICT_NOT_JUDGED;
  if (run == NULL || !run->typed) {
    buf_addf(text, "the kernel %s before it was run\n", buf_str(&f->detail));
    return VERDICT_NOT_REACHED;
  }
  if (!run->ended) {
    buf_addf(text, "while it ran, the kernel %s\n%s", buf_str(&f->detail),
             buf_str(&f->hang));
    return VERDICT_FAIL;
  }
  char *missing = missing_line(c, f, run);
  if (missing == NULL)
    return VERDICT_PASS;
  buf_addf(text, "it did not print '%s' where it should\n", missing);
  free(missing);
  if (!was_starved(f, run))
    return VERDICT_FAIL;
  buf_addf(text,
           "'%s' came while QEMU waited %.0f s for %.0f s of CPU time: to be "
           "run again on a host that is less busy\n",
           run->overtime, run->waited_s, run->cpu_s);
  return VERDICT_NOT_JUDGED;
}

// Not only the plain kernel's: in neither boot may the machine be switched off.
static enum verdict judge_writers(const struct check *c,
                                  const struct evidence *e, struct buf *text)
{
  (void)c;
  buf_adds(text, buf_str(&e->plain.tampering));
  buf_adds(text, buf_str(&e->watched.tampering));
  if (text->len > 0)
    return VERDICT_FAIL;
  return was_not_booted(&e->plain, "plain", text) ? VERDICT_NOT_JUDGED
                                                  : VERDICT_PASS;
}

static enum verdict judge_findings(const struct check *c,
                                   const struct evidence *e, struct buf *text)
{
  size_t found = add_findings(&c->findings, e, false, text);

  add_findings(&c->notes, e, true, text);
  if (found > 0) {
    if (e->watched.verdict == BOOT_PANICKED)
      buf_addf(text, "the watched kernel %s\n", buf_str(&e->watched.detail));
    buf_adds(text, buf_str(&e->watched.hang));
    return VERDICT_FAIL;
  }
  enum verdict report = look_for_report(c, e, text);
  if (report != VERDICT_PASS)
    return report;
  if (e->report.phase >= WATCH_STORM)
    return VERDICT_PASS;
  // What ended the probe before its end is a finding of another check.
  add_watched_end(e, "the end of the watchers' probe", text);
  return VERDICT_NOT_REACHED;
}

static const struct watch_traffic *traffic_of(const struct evidence *e,
                                              int step)
{
  const struct watch_traffic *const steps[] = {
      [TRAFFIC_OWN] = &e->report.own,
      [TRAFFIC_STEAL] = &e->report.steal,
      [TRAFFIC_ROBBED] = &e->report.robbed,
  };
  return steps[step];
}

double traffic_measured(const struct evidence *e,
                        const struct traffic_limit *limit)
{
  const struct watch_traffic *t = traffic_of(e, limit->step);
  unsigned count = limit->count == TRAFFIC_AWAY     ? t->away
                   : limit->count == TRAFFIC_SHARED ? t->shared
                                                    : t->remote;
  return t->calls > 0 ? 100.0 * count / t->calls : -1;
}

static enum verdict judge_traffic(const struct check *c,
                                  const struct evidence *e, struct buf *text)
{
  enum verdict verdict = VERDICT_PASS;

  if (add_findings(&c->findings, e, false, text) > 0)
    return VERDICT_FAIL;
  enum verdict report = look_for_report(c, e, text);
  if (report != VERDICT_PASS)
    return report;
  for (size_t i = 0; i < c->limits.count; i++) {
    const struct traffic_limit *limit =
        LIST_AT(c->limits, struct traffic_limit, i);
    double measured = traffic_measured(e, limit);
    if (measured < 0) {
      add_watched_end(e, "the part in which calls are counted", text);
      return VERDICT_NOT_REACHED;
    }
    if (measured <= (double)limit->most)
      continue;
    buf_addf(text, "%s: %s %.0f in 100 calls; at most %ld is expected\n",
             step_names[limit->step], count_names[limit->count], measured,
             limit->most);
    verdict = VERDICT_FAIL;
  }
  return verdict;
}

// ---- all of them -----------------------------------------------------------------------

static enum verdict (*const judges[])(const struct check *,
                                      const struct evidence *, struct buf *) = {
    [CHECK_BUILD] = judge_build,         [CHECK_OBJECT] = judge_object,
    [CHECK_BOOT] = judge_boot,           [CHECK_CTRLP_FORM] = judge_ctrlp_form,
    [CHECK_CTRLP_SUM] = judge_ctrlp_sum, [CHECK_CONSOLE] = judge_console,
    [CHECK_WRITERS] = judge_writers,     [CHECK_FINDINGS] = judge_findings,
    [CHECK_TRAFFIC] = judge_traffic,
};

// Whether the check reads what this evidence was never to hold.
static bool is_beside_the_point(const struct check *c, const struct evidence *e)
{
  return e->unwatched &&
         (c->kind == CHECK_FINDINGS || c->kind == CHECK_TRAFFIC);
}

// Whether a check can say why those that need it are not judged. One that was
// not reached for want of evidence can when another has a finding: that ended
// the evidence. Where none has, those that need it say what did.
static bool says_why(const struct check_result *r, bool found)
{
  return r->verdict != VERDICT_PASS &&
         (r->verdict != VERDICT_NOT_REACHED || r->needed != NULL || found);
}

// The first check that this one needs and that did not pass, or NULL.
static const struct check_result *unmet(const struct check *c,
                                        const struct evidence *e,
                                        const struct check_result *before,
                                        size_t count)
{
  bool found = false;

  for (size_t i = 0; i < count; i++)
    found |= before[i].check->kind == CHECK_FINDINGS &&
             before[i].verdict == VERDICT_FAIL;
  for (size_t n = 0; n < c->needs.count; n++)
    for (size_t i = 0; i < count; i++)
      if (strcmp(before[i].check->id, c->needs.items[n]) == 0 &&
          says_why(&before[i], found) &&
          !is_beside_the_point(before[i].check, e))
        return &before[i];
  return NULL;
}

static void give_marks(const struct check_result *all, size_t count,
                       struct check_result *r)
{
  r->marks = r->verdict == VERDICT_PASS ? r->check->marks : 0;
  for (size_t n = 0; r->marks > 0 && n < r->check->worth_with.count; n++)
    for (size_t i = 0; i < count; i++)
      if (strcmp(all[i].check->id, r->check->worth_with.items[n]) == 0 &&
          all[i].verdict == VERDICT_FAIL) {
        r->marks = 0;
        buf_addf(&r->text, "it earns nothing while '%s' fails\n",
                 all[i].check->id);
      }
}

void rubric_judge(const struct rubric *rubric, const struct evidence *e,
                  struct check_result **ret)
{
  size_t count = rubric->checks.count;
  struct check_result *results = xcalloc(count + 1, sizeof *results);

  for (size_t i = 0; i < count; i++) {
    struct check_result *r = &results[i];
    r->check = LIST_AT(rubric->checks, struct check, i);
    const struct check_result *before = unmet(r->check, e, results, i);
    if (before != NULL) {
      r->needed = before->check;
      r->verdict = before->verdict == VERDICT_NOT_JUDGED ? VERDICT_NOT_JUDGED
                                                         : VERDICT_NOT_REACHED;
      buf_addf(&r->text, "'%s' comes before it: %s\n", before->check->id,
               verdict_words(before->verdict));
    } else {
      r->verdict = judges[r->check->kind](r->check, e, &r->text);
    }
  }
  for (size_t i = 0; i < count; i++)
    give_marks(results, count, &results[i]);
  *ret = results;
}

void check_results_release(struct check_result *results, size_t count)
{
  for (size_t i = 0; results != NULL && i < count; i++)
    buf_release(&results[i].text);
  free(results);
}
