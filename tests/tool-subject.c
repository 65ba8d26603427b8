// usage: tool-subject SUBJECT FOLDER
// Lays what a submission of a subject (`labgen verify` lists their ids) would
// bring over the tree in FOLDER: for the demo, which makes its submissions from
// the catalogue.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/subject.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/repo/course.h"

// Writes the files that differ from the start's.
static int write_changes(const struct tree *start, const struct tree *tree,
                         const char *folder, struct error *err)
{
  int rc = 0;
  for (size_t i = 0; rc == 0 && i < tree->count; i++) {
    const struct tree_file *f = &tree->files[i];
    const struct tree_file *old = tree_find(start, f->path);
    if (old && old->content->len == f->content->len &&
        memcmp(old->content->bytes, f->content->bytes, f->content->len) == 0)
      continue;
    char *path = path_join(folder, f->path);
    rc = file_write(path, f->content->bytes, f->content->len, 0644, err);
    free(path);
  }
  return rc;
}

int main(int argc, char **argv)
{
  struct course course = {0};
  struct subjects all = {0};
  struct rubric rubric = {.designs = "solutions/percpu-kalloc/designs"};
  struct error err = {0};
  const struct subject *found = NULL;
  if (argc != 3) {
    fputs("usage: tool-subject SUBJECT FOLDER\n", stderr);
    return 2;
  }
  int rc = course_load("config.yaml", false, &course, &err);
  rc = rc ? rc : subjects_make(&course, &rubric, &all, &err);
  for (size_t i = 0; i < all.count; i++) {
    if (strcmp(all.items[i].id, argv[1]) == 0)
      found = &all.items[i];
  }
  if (rc == 0 && !found)
    rc = error_set(&err, LG_ENOTFOUND, "there is no subject '%s'", argv[1]);
  rc = rc ? rc
          : write_changes(course_start(&course), &found->tree, argv[2], &err);
  if (rc)
    fprintf(stderr, "tool-subject: %s\n", err.message);
  error_release(&err);
  subjects_release(&all);
  course_release(&course);
  return rc ? 1 : 0;
}
