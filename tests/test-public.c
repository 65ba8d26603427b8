// What students get of a lab (graders/public), and what they must not get.
#include "graders/public.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/lab/edit.h"
#include "tests/lib-lab.h"

enum { MAX_BYTES = 64 << 20, TELLING_LINE = 24 };

static char *folder;
static struct public_lab lab;

static void make_folder(void)
{
  struct error err = {0};
  cr_assert_eq(file_make_temp_dir(NULL, "test-public", &folder, NULL), 0);
  cr_assert_eq(public_find("config.yaml", &lab, &err), 0, "%s",
               err.message ? err.message : "");
  cr_assert_eq(public_write(&lab, folder, &err), 0, "%s",
               err.message ? err.message : "");
}

static void remove_folder(void)
{
  public_release(&lab);
  file_remove_tree(folder, NULL);
  free(folder);
}

TestSuite(public, .init = make_folder, .fini = remove_folder);

// ---- leaks -------------------------------------------------------------------

// Bytes that are looked for in every file, and where one was found.
struct leak {
  const char *bytes;
  size_t len;
  char *found;
};

static int look_in(void *arg, const char *path, struct error *err)
{
  struct leak *leak = arg;
  struct buf bytes = BUF_INIT;
  char *full = path_join(folder, path);
  int rc = file_read(full, MAX_BYTES, &bytes, err);
  if (rc == 0 && !leak->found && bytes.len >= leak->len &&
      memmem(bytes.data, bytes.len, leak->bytes, leak->len))
    leak->found = xstrdup(path);
  buf_release(&bytes);
  free(full);
  return rc;
}

static void expect_nowhere(const char *bytes, size_t len)
{
  struct leak leak = {bytes, len, NULL};
  cr_assert_eq(file_walk(folder, look_in, &leak, NULL), 0);
  cr_expect_null(leak.found, "%s holds '%.*s'", leak.found, (int)len, bytes);
  free(leak.found);
}

static bool has_bytes(const struct tree *tree, const char *bytes, size_t len)
{
  for (size_t i = 0; i < tree->count; i++) {
    if (memmem(tree->files[i].content->bytes, tree->files[i].content->len,
               bytes, len))
      return true;
  }
  return false;
}

// A loop over the CPUs is nobody's secret; the watchers have one too.
#define COMMON "for (int cpu = 0; cpu < NCPU; cpu++)"

// Lines that would tell: not those that the start has as well.
static size_t expect_no_line_of(const char *text)
{
  size_t lines = 0;
  while (*text) {
    size_t len = strcspn(text, "\n"), skip = strspn(text, " \t");
    if (skip < len && len - skip >= TELLING_LINE &&
        strncmp(text + skip, COMMON, strlen(COMMON)) != 0 &&
        !has_bytes(&lab.start, text + skip, len - skip)) {
      expect_nowhere(text + skip, len - skip);
      lines++;
    }
    text += len + (text[len] == '\n');
  }
  return lines;
}

Test(public, no_line_of_the_solution_is_in_it)
{
  const struct tree_file *kalloc =
      tree_find(course_reference(&lab.course), "kernel/kalloc.c");
  cr_expect_gt(expect_no_line_of(kalloc->content->bytes), 20);
}

Test(public, no_bug_is_in_it)
{
  const struct catalogue *all = &lab.course.catalogue;
  size_t looked = 0;
  for (size_t i = 0; i < all->bug_count; i++) {
    const struct bug *b = &all->bugs[i];
    expect_nowhere(b->id, strlen(b->id));
    expect_nowhere(b->title, strlen(b->title));
    for (size_t k = 0; k < b->edits.count; k++) {
      const struct edit *e = LIST_AT(b->edits, struct edit, k);
      const char *with = e->with ? e->with : e->insert;
      looked += with ? expect_no_line_of(with) : 0;
    }
  }
  cr_expect_gt(looked, 20, "only %zu lines of edits were looked for", looked);
}

Test(public, nobody_of_the_roster_and_no_secret_is_in_it)
{
  struct buf secret = BUF_INIT;
  for (size_t i = 0; i < lab.course.roster.count; i++) {
    const struct student *s = &lab.course.roster.students[i];
    expect_nowhere(s->name, strlen(s->name));
    expect_nowhere(s->email, strlen(s->email));
  }
  cr_assert_eq(
      lab_read_secret(&lab.course.lab, &lab.course.roster, &secret, NULL), 0);
  expect_nowhere(secret.data, secret.len);
  buf_release(&secret);
}

Test(public, what_the_leak_tests_look_for_they_find)
{
  char *path = path_join(folder, "graders/leak");
  struct leak leak = {"a bug by name", 13, NULL};
  cr_assert_eq(file_write(path, "x\0a bug by name", 15, 0644, NULL), 0);
  cr_assert_eq(file_walk(folder, look_in, &leak, NULL), 0);
  cr_assert_str_eq(leak.found, "graders/leak");
  free(leak.found);
  free(path);
}

// ---- contents ----------------------------------------------------------------

Test(public, it_is_a_data_folder_with_the_same_start_and_the_same_checks)
{
  struct public_lab students = {0};
  struct error err = {0};
  char *solutions = path_join(folder, "solutions");
  cr_expect_not(file_exists(solutions));
  free(solutions);
  setenv("LABGEN_DATA", folder, 1);
  cr_assert_eq(public_find(NULL, &students, &err), 0, "%s",
               err.message ? err.message : "");
  cr_expect(tree_equal(&students.start, &lab.start));
  const struct list *mine = &students.facts.rubric.checks;
  const struct list *theirs = &lab.facts.rubric.checks;
  cr_assert_eq(mine->count, theirs->count);
  for (size_t i = 0; i < mine->count; i++) {
    const struct check *a = LIST_AT(*mine, struct check, i);
    const struct check *b = LIST_AT(*theirs, struct check, i);
    cr_expect_str_eq(a->id, b->id);
    cr_expect_eq(a->kind, b->kind);
    cr_expect_eq(a->marks, b->marks);
    cr_expect_eq(a->effort, b->effort);
    cr_expect_eq(a->findings.count, b->findings.count);
    cr_expect_eq(a->limits.count, b->limits.count);
    cr_expect_eq(a->lines.count, b->lines.count);
  }
  cr_expect_eq(students.facts.rubric.object.references.count,
               lab.facts.rubric.object.references.count);
  cr_expect_eq(students.facts.machine.harts, lab.facts.machine.harts);
  public_release(&students);
}

// ---- hidden checks -----------------------------------------------------------

#define RUBRIC(more)                                                           \
  "title: T\nobject: {}\nchecks:\n"                                            \
  "  - {id: seen, title: Seen, kind: build, marks: 1, hint: H}\n"              \
  "  - {id: secret-one, title: What nobody knows, kind: boot, marks: "         \
  "1, visible: false, hint: H}\n"                                              \
  "  - {id: last-of-three, title: Third, kind: boot, marks: 1, hint: H, " more \
  "}\n"

// Writes a toy lab with hidden checks; returns the exit status of `public`.
static int write_toy(const char *rubric, struct buf *out, struct toy_lab *toy)
{
  toy_lab_make(toy, 1);
  toy_lab_write(toy, "rubric.yaml", rubric);
  toy_lab_change(toy, "lab.yaml", "id: toy\n",
                 "id: toy\nrubric: rubric.yaml\n");
  return TOY_RUN(toy, out, "public", "-c", "lab.yaml", "for-students");
}

Test(public, a_hidden_check_is_not_in_it)
{
  struct toy_lab toy;
  struct buf out = BUF_INIT;
  cr_assert_eq(write_toy(RUBRIC("needs: [seen]"), &out, &toy), 0, "%s",
               buf_str(&out));
  char *all = folder;
  folder = path_join(toy.dir, "for-students");
  expect_nowhere("secret-one", 10);
  expect_nowhere("What nobody knows", 17);
  struct leak third = {"last-of-three", 13, NULL};
  cr_assert_eq(file_walk(folder, look_in, &third, NULL), 0);
  cr_expect_str_eq(third.found, PUBLIC_FILE);
  free(third.found);
  free(folder);
  folder = all;
  buf_release(&out);
  toy_lab_remove(&toy);
}

static void refuse_hidden(const char *rubric)
{
  struct toy_lab toy;
  struct buf out = BUF_INIT;
  cr_expect_eq(write_toy(rubric, &out, &toy), 2);
  cr_expect_not_null(strstr(buf_str(&out), "rubric.yaml:6:"), "%s",
                     buf_str(&out));
  cr_expect_not_null(
      strstr(buf_str(&out),
             "'last-of-three' is visible and needs 'secret-one'"),
      "%s", buf_str(&out));
  buf_release(&out);
  toy_lab_remove(&toy);
}

Test(public, a_visible_check_that_needs_a_hidden_one_is_an_error)
{
  refuse_hidden(RUBRIC("needs: [seen, secret-one]"));
  refuse_hidden(RUBRIC("worth_with: [secret-one]"));
}
