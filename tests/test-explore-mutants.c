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

// Beginnings of what the mutants of the sample are, without line numbers.
static const char *const sample[] = {
    "without 'from->freelist = cut.last->next;'",
    "without 'acquire(&victim->lock);'",
    "'cpuid()' becomes '0' in 'int me",
    "'% NCPU' becomes '% (NCPU - 1)'",
    "'pop_off' becomes 'intr_on'",
};

static bool noticed(const struct mutant *m, const char *dir)
{
  struct explore_result r = {0};
  struct error err = {0};
  char *path = path_join(dir, "kalloc.c");
  struct explore_options o = {
      .path = path, .headers = "templates/base/kernel", .bound = 1};
  cr_assert_eq(file_write(path, m->text, strlen(m->text), 0644, &err), 0);
  cr_assert_eq(explore(&o, &r, &err), 0, "%s: %s", m->what, err.message);
  bool any = r.stories.findings > 0 || r.stories.notes > 0;
  explore_release(&r);
  free(path);
  return any;
}

Test(explore_mutants, a_sample_of_the_references_mutants_is_noticed)
{
  struct buf text = BUF_INIT;
  struct mutant *m;
  char *dir;
  cr_assert_eq(file_read(REFERENCE, 1 << 20, &text, NULL), 0);
  cr_assert_eq(file_make_temp_dir(NULL, "mutant-", &dir, NULL), 0);
  size_t count = mutants_make(buf_str(&text), "static ", &m);
  cr_assert_geq(count, 80);
  for (size_t s = 0; s < sizeof sample / sizeof sample[0]; s++) {
    size_t i = 0;
    while (i < count && !strstr(m[i].what, sample[s]))
      i++;
    cr_assert_lt(i, count, "there is no mutant %s", sample[s]);
    cr_assert(noticed(&m[i], dir), "%s", m[i].what);
  }
  mutants_release(m, count);
  file_remove_tree(dir, NULL);
  free(dir);
  buf_release(&text);
}
