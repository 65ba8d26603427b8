// Trees from git repositories and unified diffs.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "labgen/base/file.h"
#include "labgen/repo/source.h"
#include "tests/lib-lab.h"

static void put(struct tree *t, const char *path, const char *text)
{
  cr_assert_eq(tree_put(t, path, text, strlen(text), false, NULL), 0);
}

Test(source, a_commit_of_a_repository_is_read_whatever_is_checked_out)
{
  struct toy_lab lab;
  struct tree tree = {0};
  struct error err = {0};
  toy_lab_make(&lab, 1);
  char *base = path_join(lab.dir, "base");
  GIT(base, NULL, "init", "-q");
  GIT(base, NULL, "add", "-A");
  GIT(base, NULL, "commit", "-qm", "one");
  GIT(base, NULL, "tag", "v1");
  toy_lab_write(&lab, "base/kernel/kalloc.c", "int later;\n");
  GIT(base, NULL, "commit", "-qam", "two");
  cr_assert_eq(source_git(base, "v1", &tree, &err), 0, "%s", err.message);
  cr_expect_eq(tree.count, 3);
  cr_expect_str_eq(tree_find(&tree, "kernel/kalloc.c")->content->bytes,
                   "int kalloc(void)\n{\n  return 0;\n}\n");
  tree_release(&tree);
  cr_expect_eq(source_git(base, "v2", &tree, &err), LG_ENOTFOUND);
  cr_expect(strstr(err.message, "commit 'v2'"), "%s", err.message);
  error_release(&err);
  cr_expect_eq(source_git(lab.dir, "v1", &tree, &err), LG_ENOTFOUND);
  error_release(&err);
  free(base);
  toy_lab_remove(&lab);
}

Test(source, a_link_in_a_repository_is_refused)
{
  struct toy_lab lab;
  struct tree tree = {0};
  struct error err = {0};
  toy_lab_make(&lab, 1);
  char *base = path_join(lab.dir, "base"), *link = path_join(base, "l");
  cr_assert_eq(symlink("/etc/passwd", link), 0);
  GIT(base, NULL, "init", "-q");
  GIT(base, NULL, "add", "-A");
  GIT(base, NULL, "commit", "-qm", "one");
  cr_expect_eq(source_git(base, "HEAD", &tree, &err), LG_EREFUSED);
  cr_expect_eq(tree.count, 0);
  error_release(&err);
  free(base);
  free(link);
  toy_lab_remove(&lab);
}

Test(source, a_lab_can_start_from_a_repository)
{
  struct toy_lab lab;
  struct buf out = BUF_INIT;
  toy_lab_make(&lab, 1);
  char *base = path_join(lab.dir, "base");
  GIT(base, NULL, "init", "-q");
  GIT(base, NULL, "add", "-A");
  GIT(base, NULL, "commit", "-qm", "one");
  toy_lab_change(&lab, "lab.yaml", "{folder: base}",
                 "{git: base, commit: HEAD}");
  toy_lab_write(&lab, "base/untracked", "not in the commit\n");
  TOY_BUILD(&lab, 0, NULL, "--no-kernels");
  char *mine = path_join(lab.dir, "out/students/s1");
  buf_truncate(&out, 0);
  GIT(mine, &out, "ls-files");
  cr_expect_str_eq(buf_str(&out),
                   "LAB.md\nMakefile\nkernel/kalloc.c\n"
                   "kernel/main.c\nuser/test.c\n");
  free(base);
  free(mine);
  buf_release(&out);
  toy_lab_remove(&lab);
}

static const char diff[] =
    "--- a/kernel/a.c\n+++ b/kernel/a.c\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n"
    " three\n"
    "--- /dev/null\n+++ b/new.c\n@@ -0,0 +1 @@\n+fresh\n";

Test(source, a_commit_of_a_lab_can_be_a_diff)
{
  struct toy_lab lab;
  struct buf out = BUF_INIT;
  static const char *const same[] = {"students", "clinic", "instructor", NULL};
  toy_lab_make(&lab, 2);
  TOY_BUILD(&lab, 0, NULL, "--no-kernels", "-o", "a");
  toy_lab_write(&lab, "start/commit.yaml",
                "message: Test program\npatch: start.diff\n");
  toy_lab_write(&lab, "start/start.diff",
                "--- a/Makefile\n+++ b/Makefile\n@@ -1,2 +1,3 @@\n+# toy\n"
                " CC = cc\n LD = ld\n");
  TOY_BUILD(&lab, 0, NULL, "--no-kernels", "-o", "b");
  toy_lab_expect_same(&lab, "a", "b", same);
  toy_lab_change(&lab, "start/start.diff", " CC = cc", " CC = gcc");
  TOY_BUILD(&lab, 2, &out, "--no-kernels", "-o", "c");
  expect_said(&out,
              "start/start.diff: Makefile: @@ -1,2 +1,3 @@: hunk at line "
              "1 did not apply");
  char *c = toy_lab_path(&lab, "c");
  cr_expect_not(file_exists(c));
  free(c);
  buf_release(&out);
  toy_lab_remove(&lab);
}

Test(source, a_base_that_cannot_be_had_is_named_with_its_place)
{
  struct toy_lab lab;
  struct buf out = BUF_INIT;
  toy_lab_make(&lab, 1);
  char *base = toy_lab_path(&lab, "base");
  GIT(base, NULL, "init", "-q");
  toy_lab_change(&lab, "lab.yaml", "{folder: base}",
                 "{git: base, commit: abcdef0}");
  TOY_BUILD(&lab, 2, &out, "--no-kernels");
  expect_said(&out, "lab.yaml:4:7: base: that commit of 'base' cannot be had");
  free(base);
  buf_release(&out);
  toy_lab_remove(&lab);
}

Test(source, a_diff_changes_and_adds_files)
{
  struct objects *o;
  struct tree t = {0};
  struct error err = {0};
  cr_assert_eq(objects_open(&o, NULL), 0);
  put(&t, "kernel/a.c", "one\ntwo\nthree\n");
  put(&t, "kernel/b.c", "b\n");
  cr_assert_eq(source_patch(o, &t, "p.diff", diff, &err), 0, "%s", err.message);
  cr_expect_eq(t.count, 3);
  cr_expect_str_eq(tree_find(&t, "kernel/a.c")->content->bytes,
                   "one\nTWO\nthree\n");
  cr_expect_str_eq(tree_find(&t, "new.c")->content->bytes, "fresh\n");
  // And what git itself would have written.
  const char *git_diff =
      "diff --git a/kernel/b.c b/kernel/b.c\ndeleted file mode 100644\n"
      "--- a/kernel/b.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n";
  cr_assert_eq(source_patch(o, &t, "p.diff", git_diff, &err), 0, "%s",
               err.message);
  cr_expect_null(tree_find(&t, "kernel/b.c"));
  tree_release(&t);
  objects_close(o);
}

Test(source, a_diff_that_does_not_fit_changes_nothing)
{
  struct objects *o;
  struct tree t = {0};
  struct error err = {0};
  cr_assert_eq(objects_open(&o, NULL), 0);
  put(&t, "kernel/a.c", "one\n2\nthree\n");
  cr_expect_eq(source_patch(o, &t, "p.diff", diff, &err), LG_EINPUT);
  cr_expect_str_eq(err.message,
                   "p.diff: kernel/a.c: @@ -1,3 +1,3 @@: hunk at line 1 did "
                   "not apply; make the diff anew from the tree that it is "
                   "for");
  cr_expect_eq(t.count, 1);
  cr_expect_str_eq(tree_find(&t, "kernel/a.c")->content->bytes,
                   "one\n2\nthree\n");
  error_release(&err);
  cr_expect_eq(source_patch(o, &t, "p.diff", "words\n", &err), LG_EINPUT);
  error_release(&err);
  tree_release(&t);
  objects_close(o);
}

Test(source, changed_lines_are_counted_in_the_new_text)
{
  struct tree t = {0};
  struct changed_lines *runs;
  size_t count;
  put(&t, "a", "1\n2\n3\n4\n5\n");
  put(&t, "b", "1\nx\ny\n3\n5\n");
  cr_assert_eq(source_diff(tree_find(&t, "a")->content,
                           tree_find(&t, "b")->content, &runs, &count, NULL),
               0);
  cr_assert_eq(count, 2);
  cr_expect_eq(runs[0].first, 2);
  cr_expect_eq(runs[0].count, 2);
  cr_expect_eq(runs[1].first, 5);
  cr_expect_eq(runs[1].count, 0);
  free(runs);
  tree_release(&t);
}
