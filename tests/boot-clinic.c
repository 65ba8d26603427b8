// The clinic, from labgen build to labgen grade: repositories as students have
// them, repaired and otherwise, on real kernels.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graders/record.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/lab/seed.h"
#include "labgen/repo/student.h"
#include "tests/lib-exam.h"
#include "tests/lib-lab.h"

#define KALLOC "kernel/kalloc.c"
#define SECRET "a secret of the tests' own\n"

// The exam's course with a secret of its own, which builds the clinic for s0 to
// s2 into the folder of submissions.
static void set_up(void)
{
  static const char demo[] = "templates/percpu-kalloc/demo/secret";
  struct error err = {0};
  struct buf lab = BUF_INIT;
  exam_set_up();
  char *secret = path_join(exam.dir, "secret");
  char *out = path_join(exam.dir, "out"), *clinic = path_join(out, "clinic");
  cr_assert_eq(file_write(secret, SECRET, strlen(SECRET), 0600, NULL), 0);
  cr_assert_eq(file_read(exam.lab, 1 << 20, &lab, NULL), 0);
  char *at = strstr(lab.data, demo);
  cr_assert(at);
  buf_splice(&lab, (size_t)(at - lab.data), strlen(demo), "secret", 6);
  cr_assert_eq(file_write(exam.lab, lab.data, lab.len, 0644, NULL), 0);
  course_release(&exam.course);
  cr_assert_eq(course_load(exam.lab, true, &exam.course, &err), 0, "%s",
               err.message);
  const struct toy_lab here = {exam.dir, exam.lab};
  cr_assert_eq(
      TOY_RUN(&here, NULL, "build", "-c", exam.lab, "-o", out, "-s", "s0", "-s",
              "s1", "-s", "s2", "--no-kernels", "--release-now"),
      0);
  cr_assert_eq(file_remove_tree(exam.work, NULL), 0);
  cr_assert_eq(rename(clinic, exam.work), 0);
  buf_release(&lab);
  free(secret);
  free(out);
  free(clinic);
}

TestSuite(clinic_grade, .init = set_up, .fini = exam_tear_down);

// --- helpers ----------------------------------------------------------------

static const struct student *student(const char *id)
{
  const struct student *s = roster_find(&exam.course.roster, id);
  cr_assert(s);
  return s;
}

// Renders the reference as in a student's kernel, with `bug` (NULL: none)
// instead of the one that is in it.
static char *render(const char *id, size_t number, const char *bug)
{
  const struct course *c = &exam.course;
  struct tree clean = {0}, variant = {0};
  struct draws d;
  char *purpose = xasprintf("rendering %zu", number), *function = NULL;
  draws_start(&d, buf_str(&c->secret), c->secret.len, c->lab.id, id, purpose);
  tree_copy(&clean, course_reference(c));
  tree_copy(&variant, &clean);
  if (bug)
    cr_assert_eq(
        bug_apply(catalogue_find(&c->catalogue, bug), NULL, &variant, NULL), 0);
  cr_assert_eq(
      render_pair(&c->rendering, &d, &clean, &variant, NULL, &function, NULL),
      0);
  char *text = xstrdup(tree_find(&variant, KALLOC)->content->bytes);
  tree_release(&clean);
  tree_release(&variant);
  free(purpose);
  free(function);
  return text;
}

// Commits files to a branch of a student's repository; NULL leaves one alone.
static void commit(const char *id, const char *branch, const char *kalloc,
                   const char *answers)
{
  char *folder = path_join(exam.work, id);
  char *kernel = xasprintf("%s/" KALLOC, id);
  char *sheet = xasprintf("%s/" ANSWERS_FILE, id);
  cr_assert_eq(GIT(folder, NULL, "checkout", "-q", branch), 0);
  if (kalloc)
    exam_put(kernel, kalloc);
  if (answers)
    exam_put(sheet, answers);
  cr_assert_eq(GIT(folder, NULL, "commit", "-qam", "done"), 0);
  free(folder);
  free(kernel);
  free(sheet);
}

static char *answer_to(const struct clinic_branch *key)
{
  return xasprintf(
      "class: %s\nfunction: %s\nline: %zu\nexplanation: |\n  <i>it</i> was\n"
      "seen: |\n  =gdb\n",
      key->assignment.bug->class_id, key->functions[0], key->lines[0].first);
}

static void expect_marks(const json_t *record, long marks, long max)
{
  const json_t *final = json_object_get(record, "final");
  cr_expect_eq(record_number(final, "marks"), marks, "%ld marks",
               record_number(final, "marks"));
  cr_expect_eq(record_number(final, "max"), max, "%ld at most",
               record_number(final, "max"));
}

static void expect(const json_t *record, const char *check, const char *verdict)
{
  cr_expect_str_eq(exam_verdict(record, check), verdict, "%s: %s", check,
                   exam_verdict(record, check));
}

// Whether a line of a list of the record has a part.
static bool has(const json_t *record, const char *key, const char *part)
{
  size_t i;
  json_t *line;
  json_array_foreach(json_object_get(record, key), i, line)
  {
    if (strstr(json_string_value(line), part))
      return true;
  }
  return false;
}

#define ALL                                                                 \
  "clinic-1-gone,clinic-1-unbroken,clinic-1-class,clinic-1-place,clinic-1-" \
  "words,clinic-2-gone,clinic-2-unbroken,clinic-2-class,clinic-2-place,"    \
  "clinic-2-words,clinic-3-gone,clinic-3-unbroken,clinic-3-class,clinic-3-" \
  "place,clinic-3-words"

// --- tests ------------------------------------------------------------------

// s0 repairs one kernel, writes a comment into the next, and breaks the third
// while it is repaired; s1 hands in what s0 repaired.
Test(clinic_grade, a_mistake_is_gone_or_not_and_what_is_not_ones_own_is_seen)
{
  struct student_work own = {0};
  cr_assert_eq(student_make(&exam.course, student("s0"), &own, NULL), 0);
  const char *third = own.clinic[2].assignment.bug->class_id;
  char *repaired = render("s0", 1, NULL), *answer = answer_to(&own.clinic[0]);
  char *remark =
      xasprintf("// a remark\n%s",
                tree_find(&own.clinic[1].tree, KALLOC)->content->bytes);
  char *broken =
      render("s0", 3,
             strcmp(third, "page-contents") == 0 ? "kfree-onto-list-zero"
                                                 : "junk-free-lost");
  commit("s0", "clinic-1", repaired, answer);
  commit("s0", "clinic-2", remark, "class: [\n");
  exam_put("s0/kernel/vm.c", "");
  commit("s0", "clinic-3", broken, NULL);
  commit("s1", "clinic-1", repaired, NULL);
  EXAM_RUN(1, "-s", "s0", "-s", "s1", "--only", ALL, "--effort", "quick");
  json_t *s0 = exam_result("s0"), *s1 = exam_result("s1");
  expect(s0, "clinic-1-gone", "pass");
  expect(s0, "clinic-1-unbroken", "pass");
  expect(s0, "clinic-1-class", "pass");
  expect(s0, "clinic-1-place", "pass");
  expect(s0, "clinic-1-words", "pass");
  expect(s0, "clinic-2-gone", "fail");
  expect(s0, "clinic-2-unbroken", "not reached");
  expect(s0, "clinic-2-class", "fail");
  expect(s0, "clinic-3-gone", "pass");
  expect(s0, "clinic-3-unbroken", "fail");
  expect_marks(s0, 10 + 5, 30);
  cr_expect(has(s0, "notes", "clinic-2: answers.yaml:2:1: "));
  cr_expect(has(s0, "notes", "clinic-3: kernel/vm.c: changed; not used"));
  cr_expect_not(has(s0, "notes", "clinic-1"));
  cr_expect(has(s1, "staff", "handed out to s0 (clinic-1)"));
  cr_expect(has(s1, "copies",
                "clinic-1: the kernel is, byte for byte, that of "
                "s0 (clinic-1)"));
  cr_expect(has(s0, "copies", "that of s1 (clinic-1)"));
  exam_expect_text("s1", "feedback.md", "s0", false);
  exam_expect_text("s1", "results.json", "handed out to", false);
  exam_expect_text("s0", "feedback.md", "\\<i\\>it", false);
  exam_expect_text("s0", "feedback.md", "    <i>it</i> was\n", true);
  exam_expect_text("", "report.html", "&lt;i&gt;it", true);
  exam_expect_text("", "report.html", "handed out to s0 (clinic-1)", true);
  exam_expect_text("", "gradebook.csv", "clinic: read the notes for staff",
                   true);
  json_decref(s0);
  json_decref(s1);
  student_release(&own);
  free(repaired);
  free(answer);
  free(remark);
  free(broken);
}

// In one repository: the lab's branch beside the clinic's.
Test(clinic_grade, the_lab_counts_beside_it_and_a_changed_answer_is_judged_anew)
{
  struct student_work own = {0};
  cr_assert_eq(student_make(&exam.course, student("s2"), &own, NULL), 0);
  char *folder = path_join(exam.work, "s2");
  char *lab = path_join(exam.dir, "out/students/s2");
  char *answer = answer_to(&own.clinic[0]);
  static const char only[] = "build,clinic-1-class";
  commit("s2", "clinic-1", NULL, "class: accounting\n");
  EXAM_RUN(1, "-s", "s2", "--only", only, "--effort", "quick");
  json_t *alone = exam_result("s2");
  expect_marks(alone, 0, 1);
  expect(alone, "build", "none");
  cr_assert_eq(GIT(folder, NULL, "fetch", "-q", lab,
                   "my-percpu-kalloc:my-percpu-kalloc"),
               0);
  commit("s2", "clinic-1", NULL, answer);
  EXAM_RUN(0, "-s", "s2", "--only", only, "--effort", "quick");
  json_t *both = exam_result("s2");
  expect(both, "build", "pass");
  expect(both, "clinic-1-class", "pass");
  expect_marks(both, 3, 3);
  struct ran again =
      EXAM_RUN_WITH(NULL, "-s", "s2", "--only", only, "--effort", "quick");
  cr_expect(strstr(buf_str(&again.text), "0 graded now, 1 unchanged"), "%s",
            buf_str(&again.text));
  buf_release(&again.text);
  json_decref(alone);
  json_decref(both);
  student_release(&own);
  free(folder);
  free(lab);
  free(answer);
}

// Staff who have no secret judge what needs none; with it, the rest follows.
Test(clinic_grade,
     without_the_course_secret_the_lab_is_judged_and_the_rest_said)
{
  char *folder = path_join(exam.work, "s2");
  char *lab = path_join(exam.dir, "out/students/s2");
  char *secret = path_join(exam.dir, "secret");
  static const char only[] = "build,object,clinic-1-class";
  commit("s2", "clinic-1", NULL, "class: accounting\n");
  cr_assert_eq(GIT(folder, NULL, "fetch", "-q", lab,
                   "my-percpu-kalloc:my-percpu-kalloc"),
               0);
  cr_assert_eq(file_remove_tree(secret, NULL), 0);
  EXAM_RUN(3, "-s", "s2", "--only", only, "--effort", "quick");
  json_t *without = exam_result("s2");
  expect(without, "build", "pass");
  expect(without, "object", "pass");
  expect(without, "clinic-1-class", "not judged");
  cr_expect_str_eq(record_text(without, "status"), "not judged");
  exam_expect_text("s2", "result.json", "follow from the course secret", true);
  exam_expect_text("s2", "feedback.md", "not judged", true);
  exam_expect_text("s2", "feedback.md", "course secret", true);
  exam_expect_text("s2", "feedback.md", "you lose nothing by it", true);
  cr_assert_eq(file_write(secret, SECRET, strlen(SECRET), 0600, NULL), 0);
  EXAM_RUN(1, "-s", "s2", "--only", only, "--effort", "quick");
  json_t *with = exam_result("s2");
  cr_expect_str_eq(record_text(with, "status"), "judged");
  json_decref(without);
  json_decref(with);
  free(folder);
  free(lab);
  free(secret);
}
