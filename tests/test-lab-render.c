// Renderings: C rewritten as text, and the real lab's clinic kernels.
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/lab/ctext.h"
#include "labgen/lab/render.h"
#include "labgen/repo/course.h"
#include "labgen/repo/source.h"
#include "labgen/run/child.h"

Test(ctext, comments_go_and_strings_stay)
{
  struct buf b = BUF_INIT;
  ctext_strip(
      "// top\n\nint a;  // one\n/* two\n lines */ int b;\n"
      "char *s = \"// no /* comment\";\nchar c = '\"';  /* x */\n"
      "\n\n// gone\n\nint d;\n",
      &b);
  cr_expect_str_eq(buf_str(&b),
                   "int a;\n int b;\n"
                   "char *s = \"// no /* comment\";\n"
                   "char c = '\"';\n\nint d;\n");
  buf_release(&b);
}

Test(ctext, blanked_comments_leave_every_character_in_its_place)
{
  struct buf b = BUF_INIT;
  ctext_blank("a /* x\ny */ b // c\n\"//\" d\n", &b);
  cr_expect_str_eq(buf_str(&b), "a     \n     b     \n\"//\" d\n");
  buf_release(&b);
}

static const char *to_upper(void *arg, const char *name, size_t len)
{
  (void)arg;
  return len == 2 && memcmp(name, "ab", 2) == 0 ? "XY" : NULL;
}

Test(ctext, whole_identifiers_are_renamed_outside_of_text)
{
  struct buf b = BUF_INIT;
  ctext_rename(
      "#include \"ab.h\"\nint ab = abc + x.ab; // ab\n"
      "char *s = \"ab\"; char c = 'ab'; 0xab; ab(ab)\n",
      to_upper, NULL, &b);
  cr_expect_str_eq(buf_str(&b),
                   "#include \"ab.h\"\nint XY = abc + x.XY; // ab\n"
                   "char *s = \"ab\"; char c = 'ab'; 0xab; XY(XY)\n");
  buf_release(&b);
}

Test(ctext, file_scope_splits_into_directives_declarations_and_functions)
{
  struct ctext_items all;
  struct error err = {0};
  cr_assert_eq(ctext_split("#define A \\\n  1\nstruct s { int x; };\n\n"
                           "static int f(int);\nint t[] = {1, 2};\n"
                           "static int f(int x)\n{ if (x) { return '}'; } "
                           "return 0; }\nvoid g(void) { f(\"}\"[0]); }",
                           &all, &err),
               0, "%s", err.message);
  cr_assert_eq(all.count, 6);
  cr_expect_str_eq(all.items[0].text, "#define A \\\n  1");
  cr_expect(all.items[2].is_prototype && all.items[2].after_blank);
  cr_expect_not(all.items[3].is_prototype);
  cr_expect_str_eq(all.items[4].function, "f");
  cr_expect(all.items[4].is_static);
  cr_expect_str_eq(all.items[5].function, "g");
  char *prototype = ctext_prototype(&all.items[4]);
  cr_expect_str_eq(prototype, "static int f(int x);");
  free(prototype);
  ctext_items_release(&all);
  cr_expect_eq(ctext_split("int f(void) { if (1) {\n", &all, &err), LG_EINPUT);
  error_release(&err);
}

// --- the real lab ----------------------------------------------------------

static struct course course;

static void load_course(void)
{
  struct error err = {0};
  const char *data;
  cr_assert_eq(data_dir(&data, NULL), 0);
  char *path = path_join(data, "config.yaml");
  cr_assert_eq(course_load(path, true, &course, &err), 0, "%s", err.message);
  free(path);
}

static void unload_course(void)
{
  course_release(&course);
}

TestSuite(rendering, .init = load_course, .fini = unload_course);

static const struct content *kalloc_of(const struct tree *t)
{
  return tree_find(t, course.rendering.file)->content;
}

// Lines that are new or gone between two versions of the rendered file.
static size_t changed(const struct tree *old, const struct tree *new)
{
  struct changed_lines *there, *back;
  size_t n = 0, there_count, back_count;
  cr_assert_eq(
      source_diff(kalloc_of(old), kalloc_of(new), &there, &there_count, NULL),
      0);
  cr_assert_eq(
      source_diff(kalloc_of(new), kalloc_of(old), &back, &back_count, NULL), 0);
  for (size_t i = 0; i < there_count; i++)
    n += there[i].count;
  for (size_t i = 0; i < back_count; i++)
    n += back[i].count;
  free(there);
  free(back);
  return n;
}

static void strip_file(struct tree *t)
{
  struct buf b = BUF_INIT;
  ctext_strip(kalloc_of(t)->bytes, &b);
  cr_assert_eq(tree_put(t, course.rendering.file, b.data, b.len, false, NULL),
               0);
  buf_release(&b);
}

// The reference and a bug, as they are and in one student's rendering.
struct versions {
  struct tree clean, bugged, clean_rendered, bugged_rendered;
};

static void make_versions(const struct bug *bug, const char *student,
                          struct versions *v)
{
  struct error err = {0};
  struct draws d;
  *v = (struct versions){0};
  tree_copy(&v->clean, course_reference(&course));
  tree_copy(&v->bugged, &v->clean);
  cr_assert_eq(bug_apply(bug, NULL, &v->bugged, &err), 0, "%s", err.message);
  tree_copy(&v->clean_rendered, &v->clean);
  tree_copy(&v->bugged_rendered, &v->bugged);
  draws_start(&d, "secret", 6, "lab", student, bug->id);
  cr_assert_eq(render_pair(&course.rendering, &d, &v->clean_rendered,
                           &v->bugged_rendered, NULL, NULL, &err),
               0, "%s", err.message);
  strip_file(&v->clean);
  strip_file(&v->bugged);
}

static void release_versions(struct versions *v)
{
  tree_release(&v->clean);
  tree_release(&v->bugged);
  tree_release(&v->clean_rendered);
  tree_release(&v->bugged_rendered);
}

Test(rendering, a_variant_differs_from_its_own_rendering_by_the_bug_alone)
{
  static const char *const students[] = {"ada", "bo", "chidi", "dagny", "x1"};
  for (size_t i = 0; i < course.catalogue.bug_count; i++) {
    for (size_t s = 0; s < 5; s++) {
      struct versions v;
      make_versions(&course.catalogue.bugs[i], students[s], &v);
      size_t bug = changed(&v.clean, &v.bugged);
      size_t seen = changed(&v.clean_rendered, &v.bugged_rendered);
      // A new static function has a prototype too, which the reference's
      // order needs not.
      cr_expect(seen >= bug && seen <= bug + 1, "%s for %s: %zu, not %zu",
                course.catalogue.bugs[i].id, students[s], seen, bug);
      release_versions(&v);
    }
  }
}

Test(rendering, it_is_far_from_the_reference_and_from_a_neighbour)
{
  struct versions a, b;
  const struct bug *bug = &course.catalogue.bugs[0];
  make_versions(bug, "ada", &a);
  make_versions(bug, "bo", &b);
  size_t lines =
      ctext_line(kalloc_of(&a.clean)->bytes, kalloc_of(&a.clean)->len);
  size_t own = changed(&a.clean_rendered, &a.bugged_rendered);
  cr_expect_gt(changed(&a.clean, &a.bugged_rendered), lines / 2 + own);
  cr_expect_gt(changed(&a.bugged_rendered, &b.bugged_rendered),
               lines / 2 + own);
  release_versions(&a);
  release_versions(&b);
}

Test(rendering, the_same_draws_give_the_same_text)
{
  struct versions a, b;
  make_versions(&course.catalogue.bugs[3], "ada", &a);
  make_versions(&course.catalogue.bugs[3], "ada", &b);
  cr_expect(tree_equal(&a.bugged_rendered, &b.bugged_rendered));
  release_versions(&a);
  release_versions(&b);
}

Test(rendering, a_stale_form_is_an_error_with_its_place)
{
  struct error err = {0};
  struct tree clean = {0}, variant = {0};
  struct draws d;
  tree_copy(&clean, course_reference(&course));
  cr_assert_eq(
      tree_put(&clean, course.rendering.file, "int x;\n", 7, false, NULL), 0);
  tree_copy(&variant, &clean);
  draws_start(&d, "secret", 6, "lab", "ada", "x");
  cr_expect_eq(
      render_pair(&course.rendering, &d, &clean, &variant, NULL, NULL, &err),
      LG_EINPUT);
  cr_expect(strstr(err.message, "render.yaml:") &&
                strstr(err.message, "is there 0 times"),
            "%s", err.message);
  cr_expect_str_eq(kalloc_of(&clean)->bytes, "int x;\n");
  error_release(&err);
  tree_release(&clean);
  tree_release(&variant);
}

// Has the compiler look at the rendered file in its tree.
static void expect_compiles(const struct tree *tree, const char *dir,
                            const char *what)
{
  const char *argv[] = {"riscv64-unknown-elf-gcc",
                        "-fsyntax-only",
                        "-Wall",
                        "-Wextra",
                        "-Werror",
                        "-O1",
                        "-march=rv64imac_zicsr_zifencei",
                        "-mabi=lp64",
                        "-mcmodel=medany",
                        "-ffreestanding",
                        "-fno-builtin",
                        "-I.",
                        course.rendering.file,
                        NULL};
  struct child_spec spec = {.argv = argv, .dir = dir, .merge_stderr = true};
  struct child_result result = {0};
  const struct content *c = kalloc_of(tree);
  char *path = path_join(dir, course.rendering.file);
  cr_assert_eq(file_write(path, c->bytes, c->len, 0644, NULL), 0);
  cr_assert_eq(child_run(&spec, &result, NULL), 0);
  cr_expect_eq(result.status, 0, "%s:\n%s", what, buf_str(&result.out));
  child_result_release(&result);
  free(path);
}

Test(rendering, every_bug_compiles_without_warnings)
{
  char *dir;
  cr_assert_eq(file_make_temp_dir(NULL, "render-", &dir, NULL), 0);
  cr_assert_eq(tree_write(course_reference(&course), dir, NULL), 0);
  cr_assert_geq(course.catalogue.bug_count, 20);
  for (size_t i = 0; i < course.catalogue.bug_count; i++) {
    struct versions v;
    make_versions(&course.catalogue.bugs[i], "ada", &v);
    expect_compiles(&v.bugged_rendered, dir, course.catalogue.bugs[i].id);
    expect_compiles(&v.clean_rendered, dir, "the rendering without the bug");
    release_versions(&v);
  }
  cr_assert_eq(file_remove_tree(dir, NULL), 0);
  free(dir);
}
