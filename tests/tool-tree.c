// usage: tool-tree OUT BASE COMMIT...
// Writes to the folder OUT what the folder BASE becomes by commits such as
// templates/percpu-kalloc/start; for the kernels that tests boot.
#include <stdio.h>

#include "labgen/base/file.h"
#include "labgen/lab/bug.h"
#include "labgen/lab/tree.h"
#include "labgen/repo/course.h"
#include "labgen/repo/objects.h"

static int make_tree(int argc, char **argv, struct tree *tree,
                     struct error *err)
{
  struct objects *objects = NULL;
  int rc = objects_open(&objects, err);
  if (rc == 0)
    rc = tree_add_folder(tree, argv[2], "", err);
  for (int i = 3; rc == 0 && i < argc; i++) {
    struct arena arena = {0};
    struct commit_step step;
    rc = commit_step_read(argv[i], &arena, &step, err);
    if (rc == 0)
      rc = course_step(objects, &step, tree, err);
    arena_release(&arena);
  }
  if (rc == 0)
    rc = file_remove_tree(argv[1], err);
  if (rc == 0)
    rc = tree_write(tree, argv[1], err);
  if (objects)
    objects_close(objects);
  return rc;
}

int main(int argc, char **argv)
{
  struct tree tree = {0};
  struct error err = {0};
  if (argc < 3) {
    fputs("usage: tool-tree OUT BASE COMMIT...\n", stderr);
    return 2;
  }
  int rc = make_tree(argc, argv, &tree, &err);
  if (rc)
    fprintf(stderr, "tool-tree: %s\n", err.message);
  tree_release(&tree);
  error_release(&err);
  return rc ? 1 : 0;
}
