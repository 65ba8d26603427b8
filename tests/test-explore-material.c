// Everything in solutions/ under the explorer: the findings and notes that each
// entry declares, no others, and traces that another process repeats. With
// LABGEN_BOUND=3, correct designs alone, within that bound (make bound-3).
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/claim.h"
#include "graders/explore.h"
#include "graders/subject.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

#define RUBRIC "graders/percpu-kalloc.yaml"
#define HEADERS "templates/base/kernel"
// Past the usual bound nothing is left out: the largest program of a correct
// design has 3,528,628 schedules at bound 3.
enum { FURTHER_MS = 1800 * 1000, FURTHER_SCHEDULES = 100000000 };

static struct course course;
static struct arena arena;
static struct rubric rubric;
static struct subjects subjects;
static struct error err;

static void set_up(void)
{
  cr_assert_eq(course_load("config.yaml", false, &course, &err), 0, "%s",
               err.message);
  cr_assert_eq(rubric_read(RUBRIC, &arena, &rubric, &err), 0, "%s",
               err.message);
  cr_assert_eq(subjects_make(&course, &rubric, &subjects, &err), 0, "%s",
               err.message);
}

static void tear_down(void)
{
  subjects_release(&subjects);
  course_release(&course);
  arena_release(&arena);
}

TestSuite(explore_material, .timeout = 3600);

static int further(void)
{
  const char *bound = getenv("LABGEN_BOUND");
  return bound ? atoi(bound) : EXPLORE_BOUND;
}

// Repeats a finding in another process, from its file.
static void repeat(const struct subject *s, const char *path, const char *dir,
                   const struct story *f)
{
  struct explore_result again = {0};
  char *replay = path_join(dir, "finding.json");
  json_t *j = story_write(f);
  char *text = json_dumps(j, 0);
  struct explore_options o = {
      .path = path, .headers = HEADERS, .replay = replay};
  cr_assert_eq(file_write(replay, text, strlen(text), 0644, NULL), 0);
  cr_assert_eq(explore(&o, &again, &err), 0, "%s: %s", s->id, err.message);
  cr_expect_eq(again.stories.findings, 1, "%s: %s", s->id, f->text);
  if (again.stories.findings == 1)
    cr_expect_eq(again.stories.finding[0].hash, f->hash, "%s: %s", s->id,
                 f->text);
  explore_release(&again);
  free(text);
  json_decref(j);
  free(replay);
}

// How far a subject was explored: to the end, or nothing is proved.
static void tell(const struct subject *s, const struct explore_result *r,
                 int bound)
{
  size_t open = 0;
  for (size_t i = 0; i < r->stories.coverages; i++)
    open += !r->stories.coverage[i].complete[bound];
  printf("%s: bound %d, %.1f s, %lu schedules, %zu programs not finished\n",
         s->id, bound, (double)r->explore_ms / 1000,
         (unsigned long)r->stories.schedules, open);
  cr_expect_eq(open, 0, "%s: %zu programs are not finished", s->id, open);
}

static void examine(const struct subject *s, int bound)
{
  const struct tree_file *f = tree_find(&s->tree, "kernel/kalloc.c");
  struct explore_result r = {0};
  bool deep = bound > EXPLORE_BOUND;
  char *dir;
  cr_assert_eq(file_make_temp_dir(NULL, "explore-material-", &dir, NULL), 0);
  char *path = path_join(dir, "kalloc.c");
  cr_assert_eq(file_write(path, f->content->bytes, f->content->len, 0644, NULL),
               0);
  struct explore_options o = {.path = path,
                              .headers = HEADERS,
                              .bound = bound,
                              .schedules_most = deep ? FURTHER_SCHEDULES : 0,
                              .time_ms = deep ? FURTHER_MS : 0};
  cr_assert_eq(explore(&o, &r, &err), 0, "%s: %s", s->id, err.message);
  cr_expect(!r.cut, "%s: the time was up", s->id);
  struct explore_said said = said_of_stories(&r.stories);
  const struct explore_said *const runs[] = {&said};
  struct buf differences = BUF_INIT;
  cr_expect_eq(claim_differences(s, runs, 1, &differences), 0, "%s",
               buf_str(&differences));
  buf_release(&differences);
  said_release(&said);
  for (size_t i = 0; i < r.stories.findings; i++) {
    cr_expect(r.stories.finding[i].repeats, "%s: %s", s->id,
              r.stories.finding[i].text);
    repeat(s, path, dir, &r.stories.finding[i]);
  }
  if (deep)
    tell(s, &r, bound);
  explore_release(&r);
  file_remove_tree(dir, NULL);
  free(path);
  free(dir);
}

ParameterizedTestParameters(explore_material, is_as_declared)
{
  static size_t number[256];
  size_t count = 0;
  set_up();
  for (size_t i = 0; i < subjects.count && count < 256; i++) {
    enum subject_kind kind = subjects.items[i].kind;
    if (further() <= EXPLORE_BOUND || kind == SUBJECT_REFERENCE ||
        kind == SUBJECT_CORRECT)
      number[count++] = i;
  }
  tear_down();
  return cr_make_param_array(size_t, number, count);
}

ParameterizedTest(size_t *number, explore_material, is_as_declared,
                  .init = set_up, .fini = tear_down)
{
  examine(&subjects.items[*number], further());
}
