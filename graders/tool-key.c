// Hashes files and a few lines of text. What a submission adds to the key of its
// result is in graders/grade.c.
#include "graders/tool-key.h"

#include <stdlib.h>
#include <string.h>

#include "graders/explore.h"
#include "graders/plugin.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

#define MAX_TOOL_BYTES (256u << 20)

// Adds the hash of a file.
static int add_file(struct buf *all, const char *path, struct error *err)
{
  struct buf bytes = BUF_INIT;
  int rc = file_read(path, MAX_TOOL_BYTES, &bytes, err);
  if (rc == 0) {
    const struct key_part part = {buf_str(&bytes), bytes.len};
    char *key = cache_key(&part, 1);
    buf_addf(all, "%s\n", key);
    free(key);
  }
  buf_release(&bytes);
  return rc;
}

static int add_files(struct buf *all, const struct argv *files,
                     struct error *err)
{
  int rc = 0;
  for (size_t i = 0; i < files->count && rc == 0; i++)
    rc = add_file(all, files->v[i], err);
  return rc;
}

// The name of what was put together; it is the caller's.
static char *name_of(const struct buf *all)
{
  const struct key_part part = {buf_str(all), all->len};
  return cache_key(&part, 1);
}

// What of the lab decides a verdict.
static void add_lab(struct buf *all, const struct lab *lab)
{
  const struct lab_submission *s = &lab->submission;
  buf_addf(all, "%ld %ld\n", lab->machine.harts, lab->machine.memory_mib);
  for (size_t i = 0; i < s->files.count; i++)
    buf_addf(all, "%s\n", s->files.items[i]);
  for (size_t i = 0; i < s->functions.count; i++) {
    const struct lab_function *f =
        LIST_AT(s->functions, struct lab_function, i);
    buf_addf(all, "%s %s\n", f->file, f->function);
  }
  for (size_t i = 0; i < s->prototypes.count; i++)
    buf_addf(all, "%s\n", s->prototypes.items[i]);
}

static int add_programs(struct buf *all, struct error *err)
{
  struct argv files = {0};
  char *plugin = NULL, *hang = NULL;
  const char *data = NULL;
  int rc = explore_files(&files, err);
  rc = rc ? rc : data_dir(&data, err);
  if (rc == 0) {
    hang = path_join(data, "graders/hang.py");
    argv_add(&files, hang);
    argv_add(&files, "/proc/self/exe");
    if (plugin_find(&plugin, NULL) == 0)
      argv_add(&files, plugin);
  }
  rc = rc ? rc : add_files(all, &files, err);
  argv_release(&files);
  free(plugin);
  free(hang);
  return rc;
}

int explorer_key(char **ret, struct error *err)
{
  struct buf all = BUF_INIT;
  struct argv files = {0};
  int rc = explore_files(&files, err);
  rc = rc ? rc : add_files(&all, &files, err);
  if (rc == 0)
    *ret = name_of(&all);
  argv_release(&files);
  buf_release(&all);
  return rc;
}

int tool_key(const struct course *course, const struct rubric *rubric,
             enum effort effort, const struct stock *stock, char **ret,
             struct error *err)
{
  struct buf all = BUF_INIT;
  char *compiler = path_join(stock->dir, "compiler");
  buf_addf(&all, "%s %d\n", stock->key, (int)effort);
  add_lab(&all, &course->lab);
  for (size_t i = 0; i < rubric->checks.count; i++)
    buf_addf(&all, "%s\n", LIST_AT(rubric->checks, struct check, i)->id);
  int rc = add_file(&all, rubric->at.path, err);
  rc = rc ? rc : add_file(&all, compiler, err);
  rc = rc ? rc : add_programs(&all, err);
  if (rc == 0)
    *ret = name_of(&all);
  buf_release(&all);
  free(compiler);
  return rc;
}
