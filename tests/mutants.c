// usage: mutants [STEP]
// Makes mutants of the reference and of two correct designs, explores each, and
// prints those that nothing was said about. With STEP, only every STEP-th.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/explore.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "tests/lib-mutate.h"

#define MATERIAL "solutions/percpu-kalloc/"

static const char *const sources[] = {
    MATERIAL "reference/05-counts/files/kernel/kalloc.c",
    MATERIAL "designs/global-order.c",
    MATERIAL "designs/shared-pool.c",
};

// Where the functions begin, in each.
static const char *const begins = "static ";

struct tally {
  int made, broken, found, noted, survived, failed;
};

static void explore_one(const struct mutant *m, const char *path,
                        struct tally *t)
{
  struct explore_options o = {.path = path,
                              .headers = "templates/base/kernel",
                              .bound = EXPLORE_BOUND,
                              .schedules_most = 2000};
  struct explore_result r = {0};
  struct error err = {0};
  int rc = file_write(path, m->text, strlen(m->text), 0644, &err);
  if (rc == 0)
    rc = explore(&o, &r, &err);
  t->made++;
  if (rc == LG_EBUILD) {
    t->broken++;
  } else if (rc < 0) {
    t->failed++;
    printf("  failed: %s: %s\n", m->what, err.message);
  } else if (r.stories.findings > 0) {
    t->found++;
  } else if (r.stories.notes > 0) {
    t->noted++;
  } else {
    t->survived++;
    printf("  survived: %s\n", m->what);
  }
  fflush(stdout);
  error_release(&err);
  explore_release(&r);
}

static void explore_source(const char *source, const char *path, size_t step,
                           struct tally *t)
{
  struct buf text = BUF_INIT;
  struct error err = {0};
  struct mutant *m;
  printf("%s\n", source);
  if (file_read(source, 1 << 20, &text, &err) < 0) {
    printf("  failed: %s\n", err.message);
    error_release(&err);
    t->failed++;
    return;
  }
  size_t count = mutants_make(buf_str(&text), begins, &m);
  for (size_t i = 0; i < count; i += step)
    explore_one(&m[i], path, t);
  mutants_release(m, count);
  buf_release(&text);
}

int main(int argc, char **argv)
{
  size_t step = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
  struct tally t = {0};
  struct error err = {0};
  char *dir;
  if (step == 0 || file_make_temp_dir(NULL, "mutants-", &dir, &err) < 0) {
    fprintf(stderr, "%s\n", err.message ? err.message : "STEP must be above 0");
    return 2;
  }
  char *path = path_join(dir, "kalloc.c");
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
    explore_source(sources[i], path, step, &t);
  printf(
      "%d mutants: %d do not compile, %d give a finding, %d a note, %d "
      "survive, %d failed\n",
      t.made, t.broken, t.found, t.noted, t.survived, t.failed);
  file_remove_tree(dir, NULL);
  free(path);
  free(dir);
  return t.failed > 0;
}
