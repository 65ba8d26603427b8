// Edits anchored on text: what they change, and what they refuse.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/lab/edit.h"

static struct tree tree_of(const char *path, const char *text)
{
  struct tree t = {0};
  cr_assert_eq(tree_put(&t, path, text, strlen(text), false, NULL), 0);
  return t;
}

static const char *text_of(const struct tree *t, const char *path)
{
  const struct tree_file *f = tree_find(t, path);
  return f ? f->content->bytes : "(no file)";
}

Test(edit, after_before_and_replace_change_the_one_place)
{
  struct tree t = tree_of("a.c", "one\ntwo\nthree\n");
  struct edit edits[] = {
      {.file = "a.c", .after = "one\n", .insert = "1.5\n"},
      {.file = "a.c", .before = "three", .insert = "2.5\n"},
      {.file = "a.c", .replace = "two", .with = "2"},
  };
  cr_assert_eq(edits_apply(&t, edits, 3, NULL, 0, NULL), 0);
  cr_assert_str_eq(text_of(&t, "a.c"), "one\n1.5\n2\n2.5\nthree\n");
  tree_release(&t);
}

Test(edit, an_empty_replacement_takes_the_text_away)
{
  struct tree t = tree_of("a.c", "keep drop keep2");
  struct edit e = {.file = "a.c", .replace = " drop", .with = ""};
  cr_assert_eq(edits_apply(&t, &e, 1, NULL, 0, NULL), 0);
  cr_assert_str_eq(text_of(&t, "a.c"), "keep keep2");
  tree_release(&t);
}

Test(edit, an_anchor_found_twice_is_refused_with_file_anchor_and_count)
{
  struct tree t = tree_of("k/a.c", "x = 1;\nx = 1;\n");
  struct edit e = {.at = {"bug.yaml", 7, 5},
                   .file = "k/a.c",
                   .after = "x = 1;\n",
                   .insert = "y"};
  struct error err = {0};
  cr_assert_eq(edits_apply(&t, &e, 1, NULL, 0, &err), LG_EINPUT);
  cr_assert_str_eq(err.message,
                   "bug.yaml:7:5: k/a.c: the anchor \"x = 1;\\n\" is there 2 "
                   "times, but must be there exactly once (make it longer)");
  cr_assert_str_eq(text_of(&t, "k/a.c"), "x = 1;\nx = 1;\n");
  error_release(&err);
  tree_release(&t);
}

Test(edit, a_missing_anchor_says_when_its_first_line_is_there)
{
  struct tree t = tree_of("a.c", "if (x)\n    y();\n");
  struct edit e = {.at = {"bug.yaml", 2, 1},
                   .file = "a.c",
                   .replace = "if (x)\n  y();\n",
                   .with = ""};
  struct error err = {0};
  cr_assert_eq(edits_apply(&t, &e, 1, NULL, 0, &err), LG_EINPUT);
  cr_assert(strstr(err.message, "is there 0 times"), "%s", err.message);
  cr_assert(strstr(err.message, "its first line is there"), "%s", err.message);
  error_release(&err);
  tree_release(&t);
}

Test(edit, when_one_of_several_fails_the_tree_is_as_it_was)
{
  struct tree t = tree_of("a.c", "one\n");
  struct edit edits[] = {
      {.file = "a.c", .after = "one\n", .insert = "two\n"},
      {.at = {"b.yaml", 1, 1}, .file = "none.c", .after = "x", .insert = "y"},
  };
  struct error err = {0};
  cr_assert_eq(edits_apply(&t, edits, 2, NULL, 0, &err), LG_EINPUT);
  cr_assert_str_eq(err.message, "b.yaml:1:1: none.c: no such file in the tree");
  cr_assert_str_eq(text_of(&t, "a.c"), "one\n");
  error_release(&err);
  tree_release(&t);
}

Test(edit, parameters_stand_for_their_values)
{
  struct tree t = tree_of("a.c", "enum { N = 64 };\n");
  struct edit e = {
      .file = "a.c", .replace = "N = ${old}", .with = "N = ${new}"};
  struct param params[] = {{"old", "64"}, {"new", "16"}};
  cr_assert_eq(edits_apply(&t, &e, 1, params, 2, NULL), 0);
  cr_assert_str_eq(text_of(&t, "a.c"), "enum { N = 16 };\n");
  tree_release(&t);
}

Test(edit, a_misspelt_parameter_is_an_error)
{
  struct tree t = tree_of("a.c", "x");
  struct edit e = {
      .at = {"b.yaml", 3, 4}, .file = "a.c", .replace = "x", .with = "${bach}"};
  struct param params[] = {{"batch", "64"}};
  struct error err = {0};
  cr_assert_eq(edits_apply(&t, &e, 1, params, 1, &err), LG_EINPUT);
  cr_assert_str_eq(err.message, "b.yaml:3:4: '${bach}' is no parameter here");
  cr_assert_str_eq(text_of(&t, "a.c"), "x");
  error_release(&err);
  tree_release(&t);
}

Test(edit, without_parameters_a_makefile_keeps_its_dollars)
{
  struct tree t = tree_of("Makefile", "UPROGS=\\\n");
  struct edit e = {
      .file = "Makefile", .after = "UPROGS=\\\n", .insert = "\t${U}/_x\\\n"};
  cr_assert_eq(edits_apply(&t, &e, 1, NULL, 0, NULL), 0);
  cr_assert_str_eq(text_of(&t, "Makefile"), "UPROGS=\\\n\t${U}/_x\\\n");
  tree_release(&t);
}

Test(tree, paths_that_leave_the_tree_or_enter_git_are_refused)
{
  static const char *const bad[] = {
      "",   "/etc/passwd", "../x",           "a/../b", "a//b", "./a",
      "a/", ".git/config", "a/.GIT/hooks/x", "a\nb",   "a\\b"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    cr_expect_not(tree_path_ok(bad[i]), "%s", bad[i]);
  cr_expect(tree_path_ok("kernel/kalloc.c"));
  cr_expect(tree_path_ok(".gitignore"));
  cr_expect(tree_path_ok(".github/workflows/lab.yml"));
}

Test(tree, a_path_is_not_both_file_and_folder)
{
  struct tree t = tree_of("a/b", "x");
  struct error err = {0};
  cr_assert_eq(tree_put(&t, "a", "y", 1, false, &err), LG_EINPUT);
  error_release(&err);
  cr_assert_eq(tree_put(&t, "a/b/c", "y", 1, false, &err), LG_EINPUT);
  cr_assert_eq(t.count, 1);
  error_release(&err);
  tree_release(&t);
}

Test(tree, a_copy_does_not_see_later_changes)
{
  struct tree t = tree_of("a", "old"), copy = {0};
  tree_copy(&copy, &t);
  cr_assert(tree_equal(&copy, &t));
  cr_assert_eq(tree_put(&t, "a", "new", 3, false, NULL), 0);
  cr_assert_str_eq(text_of(&copy, "a"), "old");
  cr_assert_not(tree_equal(&copy, &t));
  tree_release(&copy);
  tree_release(&t);
}

Test(tree, a_folder_that_was_built_in_gives_its_sources_alone)
{
  static const char *const sources[] = {"Makefile", "kernel/main.c",
                                        "user/usys.S"};
  static const char *const built[] = {"kernel/main.o",  "kernel/kernel",
                                      "kernel/image.S", "kernel/image/sh",
                                      "user/_sh",       ".gdbinit"};
  char *folder;
  cr_assert_eq(file_make_temp_dir(NULL, "tree-", &folder, NULL), 0);
  for (size_t i = 0; i < 3 + 6; i++) {
    char *path = path_join(folder, i < 3 ? sources[i] : built[i - 3]);
    char *parent = xstrndup(path, (size_t)(strrchr(path, '/') - path));
    cr_assert_eq(file_mkdirs(parent, NULL), 0);
    cr_assert_eq(file_write(path, "x", 1, 0644, NULL), 0);
    free(parent);
    free(path);
  }
  struct tree t = {0};
  cr_expect_eq(tree_add_folder(&t, folder, "", NULL), 0);
  cr_expect_eq(t.count, 3);
  for (size_t i = 0; i < 3; i++)
    cr_expect(tree_find(&t, sources[i]), "%s", sources[i]);
  tree_release(&t);
  file_remove_tree(folder, NULL);
  free(folder);
}
