// Splicing: what a submission may bring goes in, and nothing else does.
#include "graders/splice.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define COURSE_PROC                                       \
  "#include \"defs.h\"\n\n"                               \
  "int other(void)\n{\n  return 1;\n}\n\n"                \
  "// Prints the processes.\n"                            \
  "void procdump(void)\n{\n  printf(\"list\\n\");\n}\n\n" \
  "int last(void)\n{\n  return 2;\n}\n"
#define COURSE_DEFS \
  "#ifndef DEFS_H\n#define DEFS_H\nvoid kfree(void *);\n#endif\n"

static const char *const whole_files[] = {"kernel/kalloc.c"};
static const char *const headers[] = {"kernel/defs.h"};
static struct lab_function function = {.file = "kernel/proc.c",
                                       .function = "procdump"};
static const struct lab_submission rules = {
    .files = {(const char **)whole_files, 1},
    .functions = {&function, 1},
    .prototypes = {(const char **)headers, 1},
};

static void put(struct tree *t, const char *path, const char *text)
{
  if (text != NULL)
    cr_assert_eq(tree_put(t, path, text, strlen(text), false, NULL), 0);
}

// The result's file, after splicing a submission of these three.
static char *spliced(const char *path, const char *kalloc, const char *proc,
                     const char *defs, struct buf *notes)
{
  struct tree course = {0}, student = {0}, result = {0};
  struct error err = {0};

  put(&course, "kernel/kalloc.c", "int start;\n");
  put(&course, "kernel/proc.c", COURSE_PROC);
  put(&course, "kernel/defs.h", COURSE_DEFS);
  put(&course, "Makefile", "all:\n");
  put(&student, "kernel/kalloc.c", kalloc);
  put(&student, "kernel/proc.c", proc);
  put(&student, "kernel/defs.h", defs);
  put(&student, "Makefile", "all: cheat\n");
  cr_assert_eq(splice(&course, &student, &rules, &result, notes, &err), 0, "%s",
               err.message ? err.message : "");
  char *text = strdup(tree_find(&result, path)->content->bytes);
  tree_release(&course);
  tree_release(&student);
  tree_release(&result);
  return text;
}

static void expect_has(const char *text, const char *words)
{
  cr_assert(strstr(text, words) != NULL, "'%s' is not in:\n%s", words, text);
}

static void expect_lacks(const char *text, const char *words)
{
  cr_assert(strstr(text, words) == NULL, "'%s' is in:\n%s", words, text);
}

Test(splice, a_whole_file_is_taken_without_carriage_returns)
{
  struct buf notes = {0};
  char *text = spliced("kernel/kalloc.c", "int mine;\r\nchar c = '\\r';\r\n",
                       COURSE_PROC, COURSE_DEFS, &notes);
  cr_assert_str_eq(text, "int mine;\nchar c = '\\r';\n");
  free(text);
  buf_release(&notes);
}

Test(splice, a_file_that_is_not_the_students_to_change_stays_the_courses)
{
  struct buf notes = {0};
  char *text = spliced("Makefile", "", COURSE_PROC, COURSE_DEFS, &notes);
  cr_assert_str_eq(text, "all:\n");
  free(text);
  buf_release(&notes);
}

Test(splice, a_missing_file_is_refused_and_the_result_untouched)
{
  struct tree course = {0}, student = {0}, result = {0};
  struct buf notes = {0};
  struct error err = {0};

  put(&course, "kernel/kalloc.c", "int start;\n");
  cr_assert_eq(splice(&course, &student, &rules, &result, &notes, &err),
               LG_EREFUSED);
  expect_has(err.message, "the submission has no kernel/kalloc.c");
  cr_assert_eq(result.count, 0);
  error_release(&err);
  tree_release(&course);
  buf_release(&notes);
}

Test(splice, the_functions_text_is_taken_and_its_neighbours_are_not)
{
  struct buf notes = {0};
  char *text = spliced("kernel/proc.c", "",
                       "#include \"defs.h\"\n"
                       "int other(void) { return 666; }\n"
                       "void procdump(void)\n{\n  // \"}\" in a comment: }\n"
                       "  printf(\"list\\n\");\n  kmemdump('}');\n}\n",
                       COURSE_DEFS, &notes);
  expect_has(text, "kmemdump('}');\n}\n");
  expect_has(text, "return 1;");
  expect_has(text, "return 2;");
  expect_lacks(text, "666");
  expect_has(text, "#line 3 \"kernel/proc.c\"\nvoid procdump");
  free(text);
  buf_release(&notes);
}

Test(splice, what_only_the_function_needs_comes_along)
{
  struct buf notes = {0};
  char *text = spliced("kernel/proc.c", "",
                       "struct pool { int count; };\n"
                       "extern struct pool kmem[8];\n"
                       "static int total(void) { return kmem[0].count; }\n"
                       "static int unused(void) { return 3; }\n"
                       "#define other last\n"
                       "void procdump(void) { printf(\"%d\", total()); }\n",
                       COURSE_DEFS, &notes);
  expect_has(text, "extern struct pool kmem[8];");
  expect_has(text, "static int total(void)");
  expect_has(text, "struct pool {");
  expect_lacks(text, "unused");
  expect_lacks(text, "#define");
  cr_assert(strstr(text, "struct pool {") < strstr(text, "total(void)"));
  cr_assert(strstr(text, "total(void)") < strstr(text, "procdump(void)"));
  free(text);
  buf_release(&notes);
}

Test(splice, prototypes_are_taken_and_macros_are_not)
{
  struct buf notes = {0};
  char *text = spliced("kernel/defs.h", "", COURSE_PROC,
                       "#ifndef DEFS_H\n#define DEFS_H\n#define panic(x)\n"
                       "void kfree(void *);\nvoid kmemdump(void);\n"
                       "static inline int f(void) { return 1; }\n#endif\n",
                       &notes);
  expect_has(text, "void kfree(void *);\nvoid kmemdump(void);\n#endif");
  expect_lacks(text, "panic");
  expect_lacks(text, "inline");
  free(text);
  buf_release(&notes);
}

Test(splice, a_file_without_the_function_is_noted_and_not_used)
{
  struct buf notes = {0};
  char *text =
      spliced("kernel/proc.c", "", "void procdump(void);\n", NULL, &notes);
  cr_assert_str_eq(text, COURSE_PROC);
  expect_has(buf_str(&notes), "kernel/proc.c: procdump() was not found");
  expect_has(buf_str(&notes), "kernel/defs.h: not in the submission");
  free(text);
  buf_release(&notes);
}

Test(splice, braces_that_do_not_match_do_no_harm)
{
  struct buf notes = {0};
  char *text = spliced("kernel/proc.c", "",
                       "void procdump(void) { printf(\"x\"); }\nint f(void) {",
                       COURSE_DEFS, &notes);
  expect_has(text, "void procdump(void) { printf(\"x\"); }");
  expect_has(buf_str(&notes), "its braces do not match");
  free(text);
  buf_release(&notes);
}
