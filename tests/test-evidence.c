// What is gathered of a submission without a boot.
#include <criterion/criterion.h>
#include <string.h>

#include "graders/evidence.h"
#include "graders/splice.h"
#include "labgen/base/alloc.h"
#include "labgen/repo/course.h"

// Compiled kernels are kept from test to test.
#define CACHE "build/test-cache"
#define KALLOC "kernel/kalloc.c"

static struct course course;
static struct stock stock;

static void open_course(void)
{
  struct error err = {0};
  int rc = course_load("config.yaml", false, &course, &err);
  rc = rc ? rc : stock_open(CACHE, course_start(&course), false, &stock, &err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
}

static void close_course(void)
{
  stock_close(&stock);
  course_release(&course);
}

TestSuite(evidence, .init = open_course, .fini = close_course, .timeout = 300);

// Compiles and explores the reference with `text` in front of its kalloc.c.
static struct evidence explored(const char *text)
{
  static const struct object_rules no_rules;
  const struct tree *reference = course_reference(&course);
  const struct content *file = tree_find(reference, KALLOC)->content;
  struct tree submission = {0}, tree = {0};
  struct buf changed = BUF_INIT, notes = BUF_INIT;
  struct evidence e = {0};
  struct error err = {0};
  struct gather_spec spec = {
      .stock = &stock, .tree = &tree, .rules = &no_rules, .explore = true};
  buf_adds(&changed, text);
  buf_add(&changed, file->bytes, file->len);
  tree_copy(&submission, reference);
  int rc = tree_put(&submission, KALLOC, buf_str(&changed), changed.len, false,
                    &err);
  rc = rc ? rc
          : splice(course_start(&course), &submission, &course.lab.submission,
                   &tree, &notes, &err);
  rc = rc ? rc : evidence_gather(&spec, &e, &err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
  buf_release(&changed);
  buf_release(&notes);
  tree_release(&submission);
  tree_release(&tree);
  return e;
}

static bool has_race(const struct evidence *e)
{
  for (size_t i = 0; i < e->finding_count; i++)
    if (strcmp(e->findings[i].source, "race") == 0 && !e->findings[i].note)
      return true;
  return false;
}

Test(evidence, what_is_explored_is_what_the_kernel_compiles)
{
  struct evidence e = explored("");
  cr_expect(e.explored);
  cr_expect(!has_race(&e));
  evidence_release(&e);

  // Without locks where the kernel runs, and with them on any other machine.
  e = explored(
      "#include \"types.h\"\n#include \"spinlock.h\"\n"
      "#include \"riscv.h\"\n#include \"defs.h\"\n"
      "#ifdef __riscv\n"
      "#define acquire(lock) push_off()\n"
      "#define release(lock) pop_off()\n"
      "#endif\n");
  cr_expect(e.built, "%s", buf_str(&e.build_words));
  cr_expect(e.explored);
  cr_expect(has_race(&e), "%s", buf_str(&e.explore_words));
  evidence_release(&e);
}
