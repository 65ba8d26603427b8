// solutions/percpu-kalloc: every commit of the reference, every bug and every
// other design is compiled as the kernel's Makefile compiles it, with warnings
// as errors. What they do when they run is labgen verify's to say.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graders/subject.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/repo/course.h"
#include "labgen/run/argv.h"
#include "labgen/run/child.h"

TestSuite(material, .timeout = 600);

#define DESIGNS "solutions/percpu-kalloc/designs"
// The least that the clinic needs.
enum { BUGS_MIN = 20, CLASSES_MIN = 6 };

static struct course course;
static struct subjects subjects;
static struct error err;

static void set_up(void)
{
  struct rubric rubric = {.designs = DESIGNS};

  int rc = course_load("config.yaml", false, &course, &err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
  rc = subjects_make(&course, &rubric, &subjects, &err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
}

static void tear_down(void)
{
  subjects_release(&subjects);
  course_release(&course);
  error_release(&err);
}

// Puts a tree's kalloc.c into `all` under another name, and has make build it.
static void add_variant(struct tree *all, struct argv *make, const char *id,
                        const struct tree *tree)
{
  const struct tree_file *f = tree_find(tree, "kernel/kalloc.c");
  char *name = xasprintf("kernel/variant-%s.c", id);

  cr_assert_not_null(f, "%s", id);
  cr_assert_eq(
      tree_put(all, name, f->content->bytes, f->content->len, false, NULL), 0);
  argv_addf(make, "kernel/variant-%s.o", id);
  free(name);
}

Test(material, compiles_without_warnings, .init = set_up, .fini = tear_down)
{
  struct tree all = {0};
  struct argv make = {0};
  struct child_result result = {0};
  char *dir;

  cr_assert_eq(file_make_temp_dir(NULL, "material-", &dir, NULL), 0);
  tree_copy(&all, course_reference(&course));
  argv_add(&make, "make");
  argv_add(&make, "-j2");
  argv_add(&make, "EXTRA=-Werror");
  for (size_t i = 0; i < subjects.count; i++)
    add_variant(&all, &make, subjects.items[i].id, &subjects.items[i].tree);
  for (size_t i = 1; i < course.chain_count; i++) {
    char *id = xasprintf("commit-%zu", i);
    add_variant(&all, &make, id, &course.chain[i].tree);
    free(id);
  }
  cr_assert_eq(tree_write(&all, dir, NULL), 0);
  struct child_spec spec = {
      .argv = argv_list(&make), .dir = dir, .merge_stderr = true};
  cr_assert_eq(child_run(&spec, &result, NULL), 0);
  cr_expect_eq(result.status, 0, "%s", buf_str(&result.out));

  child_result_release(&result);
  argv_release(&make);
  tree_release(&all);
  file_remove_tree(dir, NULL);
  free(dir);
}

Test(material, no_two_entries_are_the_same, .init = set_up, .fini = tear_down)
{
  for (size_t i = 0; i < subjects.count; i++)
    for (size_t j = 0; j < i; j++)
      cr_expect(!tree_equal(&subjects.items[i].tree, &subjects.items[j].tree),
                "%s and %s", subjects.items[i].id, subjects.items[j].id);
}

Test(material, there_are_bugs_enough_for_a_clinic, .init = set_up,
     .fini = tear_down)
{
  size_t bugs = 0, classes = 0;

  for (size_t i = 0; i < course.catalogue.bug_count; i++)
    bugs += course.catalogue.bugs[i].in_clinic;
  for (size_t c = 0; c < course.catalogue.class_count; c++) {
    bool used = false;
    for (size_t i = 0; i < course.catalogue.bug_count; i++)
      used = used || strcmp(course.catalogue.bugs[i].class_id,
                            course.catalogue.classes[c].id) == 0;
    cr_expect(used, "class %s has a bug", course.catalogue.classes[c].id);
    classes += used;
  }
  cr_expect_geq(bugs, BUGS_MIN);
  cr_expect_geq(classes, CLASSES_MIN);
}
