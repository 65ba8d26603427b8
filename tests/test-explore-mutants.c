// A sample of the mutation run ('make mutants' has all): the explorer notices
// small changes of the reference.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graders/explore.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "tests/lib-mutate.h"

#define REFERENCE \
  "solutions/percpu-kalloc/reference/05-counts/files/kernel/kalloc.c"

#define GLOBAL_ORDER "solutions/percpu-kalloc/designs/global-order.c"
#define SHARED_POOL "solutions/percpu-kalloc/designs/shared-pool.c"

// Beginnings of what the mutants of the sample are, without line numbers.
static const char *const sample[] = {
    "without 'from->freelist = cut.last->next;'",
    "without 'acquire(&victim->lock);'",
    "'cpuid()' becomes '0' in 'int me",
    "'% NCPU' becomes '% (NCPU - 1)'",
    "'pop_off' becomes 'intr_on'",
};

// Makes the mutants of a file, and finds the one that `what` is part of.
static const struct mutant *find(const char *path, const char *what,
                                 struct mutant **ret_all, size_t *ret_count)
{
  struct buf text = BUF_INIT;
  size_t i = 0;
  cr_assert_eq(file_read(path, 1 << 20, &text, NULL), 0);
  *ret_count = mutants_make(buf_str(&text), "static ", ret_all);
  cr_assert_geq(*ret_count, 70);
  while (i < *ret_count && !strstr((*ret_all)[i].what, what))
    i++;
  cr_assert_lt(i, *ret_count, "there is no mutant %s", what);
  buf_release(&text);
  return &(*ret_all)[i];
}

// Explores a mutant; the caller owns *ret.
static void explore_mutant(const char *file, const char *what,
                           struct explore_result *ret)
{
  struct error err = {0};
  struct mutant *all;
  size_t count;
  char *dir;
  const struct mutant *m = find(file, what, &all, &count);
  cr_assert_eq(file_make_temp_dir(NULL, "mutant-", &dir, NULL), 0);
  char *path = path_join(dir, "kalloc.c");
  struct explore_options o = {
      .path = path, .headers = "templates/base/kernel", .bound = 1};
  cr_assert_eq(file_write(path, m->text, strlen(m->text), 0644, &err), 0);
  cr_assert_eq(explore(&o, ret, &err), 0, "%s: %s", m->what, err.message);
  mutants_release(all, count);
  file_remove_tree(dir, NULL);
  free(path);
  free(dir);
}

Test(explore_mutants, a_sample_of_the_references_mutants_is_noticed)
{
  for (size_t s = 0; s < sizeof sample / sizeof sample[0]; s++) {
    struct explore_result r = {0};
    explore_mutant(REFERENCE, sample[s], &r);
    cr_assert(r.stories.findings > 0 || r.stories.notes > 0, "%s", sample[s]);
    explore_release(&r);
  }
}

// A cache that gives pages back to a pool is robbed between two statements.
Test(explore_mutants, a_batch_of_nothing_that_is_given_back_is_found)
{
  struct explore_result r = {0};
  explore_mutant(SHARED_POOL, "' > ' becomes ' >= ' in 'if (n > 0)'", &r);
  cr_assert_eq(r.stories.findings, 1);
  cr_assert_eq(r.stories.finding[0].kind, EX_WILD);
  cr_assert_str_eq(r.stories.finding[0].program.name, "robbed-of-all");
  explore_release(&r);
}

// The page that shows it was freed before the harts began.
Test(explore_mutants, a_search_that_ends_when_another_list_has_pages_is_found)
{
  struct explore_result r = {0};
  explore_mutant(GLOBAL_ORDER, "'[me]' becomes '[0]' in 'for (int victim = me",
                 &r);
  cr_assert_eq(r.stories.findings, 1);
  cr_assert_eq(r.stories.finding[0].kind, EX_FALSE_EMPTY);
  cr_assert_str_eq(r.stories.finding[0].program.name, "robbed-meanwhile");
  explore_release(&r);
}
