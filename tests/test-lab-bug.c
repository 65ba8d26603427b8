// The catalogue, and who gets what of it.
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/lab/assign.h"
#include "tests/lib-lab.h"

static struct toy_lab lab;

static void set_up(void)
{
  cr_assert_geq(sodium_init(), 0);
  toy_lab_make(&lab, 1);
}

static void tear_down(void)
{
  toy_lab_remove(&lab);
}

TestSuite(catalogue, .init = set_up, .fini = tear_down);

static int read_catalogue(struct catalogue *c, struct error *err)
{
  char *bugs = path_join(lab.dir, "bugs");
  char *classes = path_join(lab.dir, "classes.yaml");
  int rc = catalogue_read(bugs, classes, c, err);
  free(bugs);
  free(classes);
  return rc;
}

Test(catalogue, bugs_come_sorted_with_what_their_files_say)
{
  struct catalogue c;
  struct error err = {0};
  cr_assert_eq(read_catalogue(&c, &err), 0, "%s", err.message);
  cr_assert_eq(c.bug_count, 3);
  cr_expect_str_eq(c.bugs[0].id, "minus-one");
  cr_expect_str_eq(c.bugs[1].id, "negated");
  const struct bug *b = catalogue_find(&c, "times-four");
  cr_assert_not_null(b);
  cr_expect_str_eq(b->class_id, "factors");
  cr_expect_eq(b->difficulty, 3);
  cr_expect(b->in_clinic);
  cr_expect_null(catalogue_find(&c, "none"));
  catalogue_release(&c);
}

static const char *const mistakes[][4] = {
    {"bugs/negated.yaml", "id: negated", "id: other",
     "bugs/negated.yaml:1:1: id 'other' must be the file's name, 'negated'"},
    {"bugs/negated.yaml", "class: signs", "class: sign",
     "bugs/negated.yaml:1:1: unknown class 'sign' (did you mean 'signs'?)"},
    {"bugs/negated.yaml", "difficulty: 2", "difficulty: 4",
     "bugs/negated.yaml:4:13: 'difficulty' must lie between 1 and 3, not be 4"},
    {"bugs/minus-one.yaml", "${by}", "1",
     "bugs/minus-one.yaml:1:1: parameter 'by' is used by no edit"},
    {"bugs/minus-one.yaml", "[1, 2, 3, 4]", "[]",
     "bugs/minus-one.yaml:5:14: 'by' has no value to choose from"},
    {"bugs/minus-one.yaml", "replace: seed + 1, with", "replace: x, insert",
     "bugs/minus-one.yaml:6:9: 'replace' needs 'with' with the new text"},
    {"bugs/minus-one.yaml", "replace: seed + 1, ", "",
     "bugs/minus-one.yaml:6:9: an edit has exactly one of 'after', 'before' "
     "and "
     "'replace'; this one has 0"},
};

Test(catalogue, mistakes_are_named_with_their_place)
{
  for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
    struct catalogue c = {.bug_count = 5};
    struct error err = {0};
    toy_lab_change(&lab, mistakes[i][0], mistakes[i][1], mistakes[i][2]);
    cr_expect_eq(read_catalogue(&c, &err), LG_EINPUT);
    cr_expect_str_eq(err.message + strlen(lab.dir) + 1, mistakes[i][3]);
    cr_expect_eq(c.bug_count, 5);
    error_release(&err);
    tear_down();
    toy_lab_make(&lab, 1);
  }
}

Test(catalogue, a_pick_needs_more_classes_than_there_are_picks_before_it)
{
  struct catalogue c;
  struct error err = {0};
  const char *sums[] = {"sums"}, *unknown[] = {"sumz"};
  struct lab_pick picks[3] = {
      {.at = {"lab.yaml", 5, 3}},
      {.at = {"lab.yaml", 6, 3}, .classes = {sums, 1}},
      {.at = {"lab.yaml", 7, 3}, .classes = {unknown, 1}},
  };
  struct lab_clinic clinic = {.picks = {picks, 3}};
  cr_assert_eq(read_catalogue(&c, &err), 0);
  cr_expect_eq(assign_check(&clinic, &c, &err), LG_EINPUT);
  cr_expect_str_eq(
      err.message,
      "lab.yaml:6:3: this pick has bugs of 1 classes to choose "
      "from, but needs 2: the picks before it may take 1\n"
      "lab.yaml:7:3: the catalogue has no class 'sumz' (did you mean 'sums'?)");
  error_release(&err);
  catalogue_release(&c);
}

Test(catalogue, bugs_of_a_student_are_of_different_classes_and_all_get_used)
{
  struct catalogue c;
  struct lab_pick picks[3] = {0};
  struct lab_clinic clinic = {.picks = {picks, 3}};
  size_t first[3] = {0}, by[4] = {0};
  cr_assert_eq(read_catalogue(&c, NULL), 0);
  cr_assert_eq(assign_check(&clinic, &c, NULL), 0);
  for (int i = 0; i < 600; i++) {
    struct assignment got[3];
    struct draws d;
    char id[16];
    snprintf(id, sizeof(id), "s%d", i);
    draws_start(&d, "secret", 6, "lab", id, "bugs");
    assign_bugs(&clinic, &c, &d, got);
    for (int k = 0; k < 3; k++) {
      cr_assert_str_neq(got[k].bug->class_id, got[(k + 1) % 3].bug->class_id);
      if (strcmp(got[k].bug->id, "minus-one") == 0)
        by[got[k].choice[0]]++;
    }
    first[got[0].bug - c.bugs]++;
  }
  for (int i = 0; i < 3; i++)
    cr_expect(first[i] > 150 && first[i] < 250, "bug %d: %zu", i, first[i]);
  for (int i = 0; i < 4; i++)
    cr_expect(by[i] > 100 && by[i] < 200, "value %d: %zu", i, by[i]);
  catalogue_release(&c);
}

Test(catalogue, a_bug_is_applied_with_the_chosen_value)
{
  struct catalogue c;
  struct tree t = {0};
  size_t choice[] = {2};
  cr_assert_eq(read_catalogue(&c, NULL), 0);
  cr_assert_eq(
      tree_put(&t, "kernel/kalloc.c", "x = seed + 1;", 13, false, NULL), 0);
  cr_assert_eq(bug_apply(catalogue_find(&c, "minus-one"), choice, &t, NULL), 0);
  cr_expect_str_eq(tree_find(&t, "kernel/kalloc.c")->content->bytes,
                   "x = seed - 3;");
  tree_release(&t);
  catalogue_release(&c);
}
