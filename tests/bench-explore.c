// What the explorer costs: compiling, schedules a second on the reference,
// and the time until the first schedule that shows each bug of the catalogue.
// Times depend on the host and on what else runs; compare them with each other.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/explore.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/lab/bug.h"

#define MATERIAL "solutions/percpu-kalloc/"
#define REFERENCE MATERIAL "reference/05-counts/files/kernel/kalloc.c"

static int run(const char *path, int bound, struct explore_result *r)
{
  struct error err = {0};
  struct explore_options o = {.path = path,
                              .headers = "templates/base/kernel",
                              .child = LABGEN_BUILD "/labgen-explorer",
                              .bound = bound,
                              .schedules_most = 1000000};
  int rc = explore(&o, r, &err);
  if (rc < 0)
    fprintf(stderr, "%s\n", err.message);
  error_release(&err);
  return rc;
}

static int bench_reference(void)
{
  puts("reference, one core      compile    explore  schedules   per second");
  for (int bound = 0; bound <= 3; bound++) {
    struct explore_result r = {0};
    if (run(REFERENCE, bound, &r) < 0)
      return 1;
    double s = (double)(r.explore_ms > 0 ? r.explore_ms : 1) / 1000;
    printf("  bound %d             %7.2f s  %7.2f s  %9lu  %11.0f\n", bound,
           (double)r.compile_ms / 1000, s, (unsigned long)r.stories.schedules,
           (double)r.stories.schedules / s);
    explore_release(&r);
  }
  return 0;
}

// The finding that came first.
static const struct story *first(const struct stories *s)
{
  const struct story *best = NULL;
  for (size_t i = 0; i < s->findings; i++) {
    if (!best || s->finding[i].schedule < best->schedule)
      best = &s->finding[i];
  }
  return best;
}

static int bench_bug(const struct bug *bug, const struct buf *reference,
                     const char *path)
{
  struct tree tree = {0};
  struct explore_result r = {0};
  struct error err = {0};
  int rc = tree_put(&tree, "kernel/kalloc.c", reference->data, reference->len,
                    false, &err);
  if (rc == 0)
    rc = bug_apply(bug, NULL, &tree, &err);
  const struct tree_file *f = tree_find(&tree, "kernel/kalloc.c");
  if (rc == 0)
    rc = file_write(path, f->content->bytes, f->content->len, 0644, &err);
  if (rc == 0)
    rc = run(path, EXPLORE_BOUND, &r);
  if (rc == 0) {
    const struct story *s = first(&r.stories);
    if (s)
      printf("  %-32s %9lu  %8.2f ms  %s\n", bug->id,
             (unsigned long)s->schedule + 1, s->found_ms,
             ex_kind_name(s->kind));
    else
      printf("  %-32s %9s  %8s     %s\n", bug->id, "-", "-",
             r.stories.notes ? ex_kind_name(r.stories.note[0].kind) : "?");
  }
  if (err.message)
    fprintf(stderr, "%s\n", err.message);
  error_release(&err);
  explore_release(&r);
  tree_release(&tree);
  return rc;
}

static int bench_bugs(void)
{
  struct catalogue c = {0};
  struct buf reference = BUF_INIT;
  struct error err = {0};
  char *dir = NULL;
  int rc = catalogue_read(MATERIAL "bugs", MATERIAL "classes.yaml", &c, &err);
  if (rc == 0)
    rc = file_read(REFERENCE, 1 << 20, &reference, &err);
  if (rc == 0)
    rc = file_make_temp_dir(NULL, "bench-explore-", &dir, &err);
  if (rc < 0) {
    fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  char *path = path_join(dir, "kalloc.c");
  puts("\nbug                                 schedule   found after  as");
  for (size_t i = 0; i < c.bug_count && rc == 0; i++)
    rc = bench_bug(&c.bugs[i], &reference, path);
  file_remove_tree(dir, NULL);
  free(path);
  free(dir);
  buf_release(&reference);
  catalogue_release(&c);
  return rc < 0;
}

int main(void)
{
  return bench_reference() || bench_bugs();
}
