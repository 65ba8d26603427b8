// What a submission changed, and which of it is used.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graders/policy.h"
#include "labgen/base/file.h"

static struct course course;
static struct submission work;
static struct policy policy;

static void set_up(void)
{
  struct error err = {0};
  const char *data;
  cr_assert_eq(data_dir(&data, NULL), 0);
  char *lab = path_join(data, "config.yaml");
  cr_assert_eq(course_load(lab, true, &course, &err), 0, "%s", err.message);
  free(lab);
  work.history.start = FOREIGN_NO_START;
  tree_copy(&work.tree, course_start(&course));
}

static void tear_down(void)
{
  policy_release(&policy);
  tree_release(&work.tree);
  course_release(&course);
}

TestSuite(policy, .init = set_up, .fini = tear_down);

static void put(const char *path, const char *text)
{
  cr_assert_eq(tree_put(&work.tree, path, text, strlen(text), false, NULL), 0);
}

// Replaces the first `old` in a file of the submission.
static void change(const char *path, const char *old, const char *new)
{
  struct buf b = BUF_INIT;
  const struct content *c = tree_find(&work.tree, path)->content;
  const char *at = strstr(c->bytes, old);
  cr_assert(at, "no '%s' in %s", old, path);
  buf_add(&b, c->bytes, c->len);
  buf_splice(&b, (size_t)(at - c->bytes), strlen(old), new, strlen(new));
  put(path, buf_str(&b));
  buf_release(&b);
}

static const struct policy_file *file(const char *path)
{
  for (size_t i = 0; i < policy.count; i++)
    if (strcmp(policy.files[i].path, path) == 0)
      return &policy.files[i];
  return NULL;
}

Test(policy, an_untouched_start_has_no_changes)
{
  policy_compare(&course, &work, &policy);
  cr_assert_eq(policy.count, 0);
  cr_assert_eq(policy.start, course.start);
  cr_assert_not(policy.by_history);
}

Test(policy, line_ends_and_the_handout_do_not_count)
{
  struct buf crlf = BUF_INIT;
  const char *p = tree_find(&work.tree, "kernel/vm.c")->content->bytes;
  for (; *p; p++)
    buf_adds(&crlf, *p == '\n' ? "\r\n" : (char[]){*p, '\0'});
  put("kernel/vm.c", buf_str(&crlf));
  put(course.lab.start.handout_file, "Notes of mine\n");
  policy_compare(&course, &work, &policy);
  cr_assert_eq(policy.count, 0);
  buf_release(&crlf);
}

Test(policy, changes_are_told_function_by_function)
{
  change("kernel/kalloc.c", "kfree(void *",
         "static int mine;\n\n"
         "void helper(void)\n{\n}\n\n"
         "void\nkfree(void *");
  policy_compare(&course, &work, &policy);
  const struct policy_file *f = file("kernel/kalloc.c");
  cr_assert_eq(policy.count, 1);
  cr_assert_eq(f->change, POLICY_CHANGED);
  cr_assert_eq(f->use, POLICY_USED);
  cr_assert(strstr(buf_str(&f->parts), "helper() added"), "%s",
            buf_str(&f->parts));
  cr_assert(strstr(buf_str(&f->parts), "declarations changed"));
}

Test(policy, other_files_are_told_and_not_used)
{
  change("kernel/proc.c", "procdump(", "procdump( ");
  put("kernel/extra.c", "int extra;\n");
  change("Makefile", "CFLAGS", "CFLAGS += -DX\nCFLAGS");
  tree_drop(&work.tree, "kernel/plic.c");
  policy_compare(&course, &work, &policy);
  cr_assert_eq(policy.count, 4);
  cr_assert_eq(file("kernel/proc.c")->use, POLICY_PARTS_USED);
  cr_assert_eq(file("kernel/extra.c")->change, POLICY_ADDED);
  cr_assert_eq(file("kernel/extra.c")->use, POLICY_NOT_USED);
  cr_assert_eq(file("kernel/plic.c")->change, POLICY_REMOVED);
  cr_assert_eq(file("Makefile")->use, POLICY_NOT_USED);
}

Test(policy, single_files_say_nothing_of_the_others)
{
  tree_release(&work.tree);
  put("kernel/kalloc.c", "int k;\n");
  policy_compare(&course, &work, &policy);
  cr_assert_eq(policy.count, 1);
  cr_assert_str_eq(policy.files[0].path, "kernel/kalloc.c");
}

Test(policy, a_start_in_the_history_is_what_counts)
{
  work.history.start = course.start - 1;
  policy_compare(&course, &work, &policy);
  cr_assert(policy.by_history);
  cr_assert_eq(policy.start, course.start);
}

Test(policy, a_compile_error_names_the_file_that_was_not_used)
{
  struct buf words = BUF_INIT;
  change("kernel/param.h", "#define NCPU", "#define MYLISTS 4\n#define NCPU");
  policy_compare(&course, &work, &policy);
  policy_explain(&policy, &work.tree, course_start(&course),
                 "kalloc.c:12: error: \xe2\x80\x98MYLISTS\xe2\x80\x99 "
                 "undeclared\n",
                 &words);
  cr_assert(strstr(buf_str(&words), "kernel/param.h: 'MYLISTS' comes from"),
            "%s", buf_str(&words));
  buf_truncate(&words, 0);
  policy_explain(&policy, &work.tree, course_start(&course),
                 "kalloc.c:12: error: 'NCPU' undeclared\n", &words);
  cr_assert_str_eq(buf_str(&words), "");
  buf_release(&words);
}
