// usage: mutants FOLDER [STEP]
// Makes mutants of the reference and of two correct designs, and explores each,
// with few preemptions first, until there is a finding. Those that have none are
// graded on boots. Prints what nothing was found of. With STEP, only every
// STEP-th. What comes of a mutant is kept in FOLDER, under a name made of the
// mutant and of the tools, so that a run that was ended goes on.
//
// Deliberately no judgement of which survivors are equivalent: docs/validity.md
// has that.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/explore.h"
#include "graders/stock.h"
#include "graders/verify.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"
#include "tests/lib-mutate.h"

#define MATERIAL "solutions/percpu-kalloc/"
#define PROGRAM LABGEN_BUILD "/labgen-explorer"
#define PROGRAMS "graders/percpu-kalloc-explore.yaml"
#define RUNTIME "graders/explore/rt/glue.c"
#define RUBRIC "graders/percpu-kalloc.yaml"
enum { MAX_BYTES = 64 << 20 };

static const struct {
  const char *id, *path;
} sources[] = {
    {"reference", MATERIAL "reference/05-counts/files/kernel/kalloc.c"},
    {"global-order", MATERIAL "designs/global-order.c"},
    {"shared-pool", MATERIAL "designs/shared-pool.c"},
};

// Where the functions begin, in each.
static const char *const begins = "static ";

enum outcome { BROKEN, FOUND, NOTED, SILENT, OUTCOMES };
static const char *const outcome_names[OUTCOMES] = {"broken", "found", "noted",
                                                    "silent"};

struct item {
  char *id;    // owned; SOURCE-LINE-NUMBER
  char *text;  // owned; the whole file
  char *what;  // owned
  enum outcome outcome;
  char *kind;  // owned; of the first finding or note
};

struct run {
  const char *folder;
  char *key;   // owned; of the explorer and its data
  char *path;  // owned; where a mutant lies while it is explored
  struct item *item;
  size_t count, room;
};

// ---- exploring --------------------------------------------------------------

static int tool_key(char **ret, struct error *err)
{
  static const char *const files[] = {PROGRAM, PROGRAMS, RUNTIME};
  enum { FILES = sizeof files / sizeof files[0] };
  struct buf text[FILES] = {BUF_INIT};
  struct key_part parts[FILES];
  int rc = 0;
  for (int i = 0; i < FILES && rc == 0; i++) {
    rc = file_read(files[i], MAX_BYTES, &text[i], err);
    parts[i] = (struct key_part){text[i].data, text[i].len};
  }
  if (rc == 0)
    *ret = cache_key(parts, FILES);
  for (int i = 0; i < FILES; i++)
    buf_release(&text[i]);
  return rc;
}

static void set(struct item *it, enum outcome outcome, const char *kind)
{
  free(it->kind);
  it->outcome = outcome;
  it->kind = xstrdup(kind);
}

// Explores at one bound; what it says is in *it. LG_EHARNESS also when a signal
// ended it.
static int explore_at(const struct run *r, struct item *it, int bound,
                      struct error *err)
{
  struct explore_options o = {.path = r->path,
                              .headers = "templates/base/kernel",
                              .child = PROGRAM,
                              .bound = bound};
  struct explore_result result = {0};
  int rc = explore(&o, &result, err);
  if (rc == LG_EBUILD) {
    error_release(err);
    set(it, BROKEN, "does not compile");
    return 0;
  }
  if (rc == 0 && result.cut && result.stories.findings == 0)
    rc = error_set(err, LG_ELIMIT, "the time was up");
  if (rc < 0)
    return rc;
  if (result.stories.findings > 0)
    set(it, FOUND, ex_kind_name(result.stories.finding[0].kind));
  else if (result.stories.notes > 0)
    set(it, NOTED, ex_kind_name(result.stories.note[0].kind));
  else
    set(it, SILENT, "nothing");
  explore_release(&result);
  return 0;
}

// Reads what an earlier run wrote; returns whether it was there.
static bool load(const char *path, struct item *it)
{
  struct buf text = BUF_INIT;
  bool there = false;
  if (file_read(path, MAX_BYTES, &text, NULL) == 0) {
    for (int i = 0; i < OUTCOMES && !there; i++) {
      size_t len = strlen(outcome_names[i]);
      there = strncmp(buf_str(&text), outcome_names[i], len) == 0 &&
              buf_str(&text)[len] == ' ';
      if (there)
        set(it, (enum outcome)i, buf_str(&text) + len + 1);
    }
  }
  buf_release(&text);
  return there;
}

static int explore_one(const struct run *r, struct item *it, struct error *err)
{
  const struct key_part parts[] = {{r->key, strlen(r->key)},
                                   {it->text, strlen(it->text)}};
  char *key = cache_key(parts, 2);
  char *kept = xasprintf("%s/explored/%s", r->folder, key);
  int rc = 0;
  if (!load(kept, it)) {
    rc = file_write(r->path, it->text, strlen(it->text), 0644, err);
    it->outcome = SILENT;
    for (int b = 0; rc == 0 && b <= EXPLORE_BOUND && it->outcome >= NOTED; b++)
      rc = explore_at(r, it, b, err);
    char *line = xasprintf("%s %s", outcome_names[it->outcome], it->kind);
    if (rc == 0)
      rc = file_write_atomic(kept, line, strlen(line), 0644, err);
    free(line);
  }
  free(kept);
  free(key);
  return rc;
}

static int add_source(struct run *r, const char *id, const char *path,
                      size_t step, struct error *err)
{
  struct buf text = BUF_INIT;
  struct mutant *m;
  int rc = file_read(path, MAX_BYTES, &text, err);
  if (rc < 0)
    return rc;
  size_t count = mutants_make(buf_str(&text), begins, &m);
  for (size_t i = 0; i < count; i += step) {
    GROW(r->item, r->count, r->room);
    r->item[r->count++] =
        (struct item){.id = xasprintf("%s-%d-%zu", id, atoi(m[i].what), i),
                      .text = xstrdup(m[i].text),
                      .what = xstrdup(m[i].what)};
  }
  mutants_release(m, count);
  buf_release(&text);
  return 0;
}

// What a mutant that could not be explored lacks is said, and counted in
// *ret_failed; only a signal ends the run.
static int explore_all(struct run *r, int *ret_failed, struct error *err)
{
  int rc = 0;
  for (size_t i = 0; i < r->count && rc == 0; i++) {
    struct item *it = &r->item[i];
    rc = explore_one(r, it, err);
    if (rc == LG_ELIMIT) {
      printf("%zu/%zu %s: not judged: %s\n", i + 1, r->count, it->id,
             err->message);
      ++*ret_failed;
      set(it, SILENT, "not judged");
      error_release(err);
      rc = 0;
    } else if (rc == 0) {
      printf("%zu/%zu %s: %s, %s\n", i + 1, r->count, it->id,
             outcome_names[it->outcome], it->kind);
    }
    fflush(stdout);
  }
  return rc;
}

// ---- booting ----------------------------------------------------------------

struct booting {
  struct course course;
  struct arena arena;
  struct rubric rubric;
  struct subjects subjects;
  struct verify_result result;
};

static struct subject *add_subject(struct subjects *s, const char *id,
                                   enum subject_kind kind,
                                   const struct tree *tree)
{
  GROW(s->items, s->count, s->room);
  struct subject *new = &s->items[s->count++];
  *new = (struct subject){.id = id, .title = id, .kind = kind};
  tree_copy(&new->tree, tree);
  return new;
}

// The start, which others are measured by, and each mutant without a finding.
static int add_subjects(const struct run *r, struct booting *b,
                        struct error *err)
{
  int rc = 0;
  add_subject(&b->subjects, "start", SUBJECT_START, course_start(&b->course))
      ->fails = b->rubric.start_fails;
  for (size_t i = 0; i < r->count && rc == 0; i++) {
    const struct item *it = &r->item[i];
    if (it->outcome < NOTED)
      continue;
    struct subject *s = add_subject(&b->subjects, it->id, SUBJECT_CORRECT,
                                    course_reference(&b->course));
    rc = tree_put(&s->tree, "kernel/kalloc.c", it->text, strlen(it->text),
                  false, err);
  }
  return rc;
}

static void show_trial(void *arg, const char *subject, size_t done,
                       size_t total)
{
  (void)arg;
  printf("%zu/%zu %s: booted\n", done, total, subject);
  fflush(stdout);
}

static int boot_all(const struct run *r, struct booting *b, struct error *err)
{
  char *cache = path_join(r->folder, "cache");
  char *results = path_join(r->folder, "booted");
  int rc = course_load("config.yaml", false, &b->course, err);
  if (rc == 0)
    rc = rubric_read(RUBRIC, &b->arena, &b->rubric, err);
  if (rc == 0)
    rc = add_subjects(r, b, err);
  struct verify_spec spec = {.course = &b->course,
                             .rubric = &b->rubric,
                             .subjects = &b->subjects,
                             .cache = cache,
                             .results = results,
                             .boots = 1,
                             .jobs = 1,
                             .effort = EFFORT_QUICK,
                             .on_trial = show_trial};
  if (rc == 0)
    rc = verify_run(&spec, &b->result, err);
  free(cache);
  free(results);
  return rc;
}

static void booting_release(struct booting *b)
{
  verify_release(&b->result);
  subjects_release(&b->subjects);
  arena_release(&b->arena);
  course_release(&b->course);
}

// ---- the end ----------------------------------------------------------------

// Adds the checks that a mutant failed; returns how many.
static int failed_checks(const struct booting *b, const char *id,
                         struct buf *ret)
{
  int count = 0;
  for (size_t s = 0; s < b->subjects.count; s++) {
    if (strcmp(b->subjects.items[s].id, id) != 0)
      continue;
    for (size_t c = 0; c < b->rubric.checks.count; c++) {
      if (b->result.trials[s][0].verdicts[c] != VERDICT_FAIL)
        continue;
      buf_addf(ret, " %s", LIST_AT(b->rubric.checks, struct check, c)->id);
      count++;
    }
  }
  return count;
}

static void show(const struct run *r, const struct booting *b)
{
  size_t by[OUTCOMES] = {0}, booted = 0, survived = 0;
  puts("\nWithout a finding of the explorer:");
  for (size_t i = 0; i < r->count; i++) {
    const struct item *it = &r->item[i];
    struct buf checks = BUF_INIT;
    by[it->outcome]++;
    if (it->outcome >= NOTED) {
      bool failed = failed_checks(b, it->id, &checks) > 0;
      booted += failed;
      survived += !failed;
      printf("  %s: %s\n    explorer: %s; %s%s\n", it->id, it->what, it->kind,
             failed ? "boots:" : "SURVIVES", buf_str(&checks));
    }
    buf_release(&checks);
  }
  printf(
      "%zu mutants: %zu do not compile, %zu have a finding, %zu only a note, "
      "%zu neither; of the last two the boots see %zu, and %zu survive\n",
      r->count, by[BROKEN], by[FOUND], by[NOTED], by[SILENT], booted, survived);
}

static void run_release(struct run *r)
{
  for (size_t i = 0; i < r->count; i++) {
    free(r->item[i].id);
    free(r->item[i].text);
    free(r->item[i].what);
    free(r->item[i].kind);
  }
  free(r->item);
  free(r->key);
  free(r->path);
}

static int run_all(struct run *r, size_t step, int *ret_failed,
                   struct error *err)
{
  struct booting b = {0};
  char *explored = path_join(r->folder, "explored");
  int rc = file_mkdirs(explored, err);
  free(explored);
  r->path = path_join(r->folder, "kalloc.c");
  if (rc == 0)
    rc = tool_key(&r->key, err);
  for (size_t i = 0; i < sizeof sources / sizeof sources[0] && rc == 0; i++)
    rc = add_source(r, sources[i].id, sources[i].path, step, err);
  if (rc == 0)
    rc = explore_all(r, ret_failed, err);
  if (rc == 0)
    rc = boot_all(r, &b, err);
  if (rc == 0)
    show(r, &b);
  booting_release(&b);
  return rc;
}

int main(int argc, char **argv)
{
  size_t step = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
  struct run r = {.folder = argv[1]};
  struct error err = {0};
  int failed = 0;
  if (argc < 2 || step == 0) {
    fputs("usage: mutants FOLDER [STEP]\n", stderr);
    return error_exit_status(LG_EUSAGE);
  }
  int rc = run_all(&r, step, &failed, &err);
  if (rc < 0)
    fprintf(stderr, "mutants: %s\n", err.message);
  error_release(&err);
  run_release(&r);
  child_raise_signal();
  return rc < 0 ? error_exit_status(rc) : failed > 0;
}
