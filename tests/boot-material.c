// solutions/percpu-kalloc: every commit of the reference, every bug, every other
// design, and renderings of the bugs are compiled as the kernel's Makefile
// compiles it, with warnings as errors. What they do when they run is labgen
// verify's to say. `make renderings` takes more renderings.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graders/check.h"
#include "graders/object.h"
#include "graders/subject.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/lab/render.h"
#include "labgen/lab/seed.h"
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

// What is compiled in one folder: the reference's tree with variants in it.
struct compilation {
  struct tree all;
  struct argv make;
  char *dir;
};

static void begin_compilation(struct compilation *c)
{
  *c = (struct compilation){0};
  cr_assert_eq(file_make_temp_dir(NULL, "material-", &c->dir, NULL), 0);
  tree_copy(&c->all, course_reference(&course));
  argv_add(&c->make, "make");
  argv_add(&c->make, "-j2");
  argv_add(&c->make, "-k");
  argv_add(&c->make, "EXTRA=-Werror");
}

static void expect_compiled(struct compilation *c)
{
  struct child_result result = {0};
  cr_assert_eq(tree_write(&c->all, c->dir, NULL), 0);
  struct child_spec spec = {.argv = argv_list(&c->make),
                            .dir = c->dir,
                            .merge_stderr = true,
                            .max_output_bytes = 1 << 20};
  cr_assert_eq(child_run(&spec, &result, NULL), 0);
  cr_expect_eq(result.status, 0, "%s", buf_str(&result.out));
  child_result_release(&result);
}

static void end_compilation(struct compilation *c)
{
  argv_release(&c->make);
  tree_release(&c->all);
  file_remove_tree(c->dir, NULL);
  free(c->dir);
}

Test(material, compiles_without_warnings, .init = set_up, .fini = tear_down)
{
  struct compilation c;
  begin_compilation(&c);
  for (size_t i = 0; i < subjects.count; i++)
    add_variant(&c.all, &c.make, subjects.items[i].id, &subjects.items[i].tree);
  for (size_t i = 1; i < course.chain_count; i++) {
    char *id = xasprintf("commit-%zu", i);
    add_variant(&c.all, &c.make, id, &course.chain[i].tree);
    free(id);
  }
  expect_compiled(&c);
  end_compilation(&c);
}

// Renders the reference and a bug with parameters of its own for a seed, and
// adds both.
static void add_rendering(struct compilation *c, const struct bug *bug,
                          int seed)
{
  struct draws d;
  struct tree clean = {0}, variant = {0};
  size_t choice[16] = {0};
  char *student = xasprintf("s%d", seed);
  char *id = xasprintf("%s-%d", bug->id, seed);
  char *reference = xasprintf("%s-clean", id);
  draws_start(&d, "renderings", 10, course.lab.id, student, bug->id);
  for (size_t i = 0; i < bug->params.count && i < 16; i++)
    choice[i] = draw_below(
        &d,
        (uint32_t)LIST_AT(bug->params, struct named_texts, i)->values.count);
  tree_copy(&clean, course_reference(&course));
  tree_copy(&variant, &clean);
  int rc = bug_apply(bug, choice, &variant, &err);
  rc = rc ? rc
          : render_pair(&course.rendering, &d, &clean, &variant, NULL, NULL,
                        &err);
  cr_assert_eq(rc, 0, "%s: %s", id, err.message);
  add_variant(&c->all, &c->make, id, &variant);
  add_variant(&c->all, &c->make, reference, &clean);
  tree_release(&clean);
  tree_release(&variant);
  free(student);
  free(id);
  free(reference);
}

// Whether a bug is one of those that break the rules by what they are: they
// switch interrupts on and off.
static bool breaks_rules(const char *file)
{
  for (size_t i = 0; i < course.catalogue.bug_count; i++) {
    const struct bug *bug = &course.catalogue.bugs[i];
    char *prefix = xasprintf("variant-%s-", bug->id);
    bool is_it = strncmp(file, prefix, strlen(prefix)) == 0 &&
                 strchr("0123456789", file[strlen(prefix)]);
    free(prefix);
    for (size_t k = 0; is_it && k < bug->checks.count; k++)
      if (strcmp(bug->checks.items[k], "invariant-interrupts") == 0)
        return !strstr(file, "-clean.o");
  }
  return false;
}

// Expects that an object keeps to the rules for what students hand in.
static int expect_rules(void *arg, const char *path, struct error *ret)
{
  const struct object_rules *rules = ((void **)arg)[0];
  struct binary object = {0};
  struct child_result dump = {0};
  struct buf problems = BUF_INIT;
  (void)ret;
  if (strncmp(path, "variant-", 8) != 0 || !strstr(path, ".o"))
    return 0;
  char *full = path_join(((void **)arg)[1], path);
  const char *argv[] = {"riscv64-unknown-elf-objdump", "-d", full, NULL};
  struct child_spec spec = {.argv = argv, .max_output_bytes = 4 << 20};
  cr_assert_eq(child_run(&spec, &dump, NULL), 0);
  cr_assert_eq(object_read(full, &object, NULL), 0, "%s", full);
  object_check(&object, rules, NULL, 0, buf_str(&dump.out), &problems);
  if (!breaks_rules(path))
    cr_expect_str_eq(buf_str(&problems), "", "%s: %s", path,
                     buf_str(&problems));
  (*(size_t *)((void **)arg)[2])++;
  object_release(&object);
  child_result_release(&dump);
  buf_release(&problems);
  free(full);
  return 0;
}

Test(material, renderings_compile_and_keep_the_rules_of_objects, .init = set_up,
     .fini = tear_down)
{
  const char *more = getenv("LABGEN_RENDERINGS");
  int seeds = more ? atoi(more) : 1;
  struct compilation c;
  struct rubric rubric;
  struct arena arena = {0};
  size_t added = 0, checked = 0;
  begin_compilation(&c);
  for (size_t i = 0; i < course.catalogue.bug_count; i++) {
    for (int seed = 0; seed < seeds && course.catalogue.bugs[i].in_clinic;
         seed++, added += 2)
      add_rendering(&c, &course.catalogue.bugs[i], seed);
  }
  expect_compiled(&c);
  cr_assert_eq(rubric_read(course.lab.rubric, &arena, &rubric, &err), 0, "%s",
               err.message);
  char *objects = path_join(c.dir, "kernel");
  cr_assert_eq(file_walk(objects, expect_rules,
                         (void *[]){&rubric.object, objects, &checked}, &err),
               0);
  cr_expect_eq(checked, added);
  free(objects);
  arena_release(&arena);
  end_compilation(&c);
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
