// The clinic as it comes back, as far as no kernel is booted for it: answers,
// keys, and whose work it is.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graders/clinic.h"
#include "graders/copies.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

// --- answers.yaml -----------------------------------------------------------

static const struct bug_class classes[] = {{.id = "lost-page"},
                                           {.id = "wrong-list"}};

#define WHOLE                                                              \
  "class: lost-page\nfunction: kfree()\nline: 12\nexplanation: |\n  two\n" \
  "  lines\nseen: it hung\n"

static void read_answers(const char *text, size_t len, struct answers *a,
                         struct buf *problems)
{
  answers_read(text, len, classes, 2, a, problems);
}

Test(answers, a_whole_file_is_read)
{
  struct answers a = {0};
  struct buf problems = BUF_INIT;
  read_answers(WHOLE, strlen(WHOLE), &a, &problems);
  cr_expect_str_eq(buf_str(&problems), "");
  cr_expect_str_eq(a.class_id, "lost-page");
  cr_expect_str_eq(a.function, "kfree");
  cr_expect_eq(a.line, 12);
  cr_expect_str_eq(a.explanation, "two\nlines\n");
  cr_expect(answers_says(a.seen));
  answers_release(&a);
  buf_release(&problems);
}

static const struct {
  const char *text, *problem;
  const char *class_id;  // what counts all the same
  long line;
} broken[] = {
    {"", "answers.yaml:1:1: the file is empty", NULL, 0},
    {"class: [a\n", "answers.yaml:2:1: ", NULL, 0},
    {"- class\n", "answers.yaml:1:1: answers.yaml: a map is needed", NULL, 0},
    {"class: lost-pages\nline: 3\n",
     "answers.yaml:1:8: 'lost-pages' is no class (did you mean 'lost-page'?)",
     NULL, 3},
    {"class: wrong-list\nline: three\n",
     "answers.yaml:2:7: 'line' needs a whole number, not 'three'", "wrong-list",
     0},
    {"class: wrong-list\nline: -1\n",
     "answers.yaml:2:7: 'line' must lie between", "wrong-list", 0},
    {"class: wrong-list\nline: 99999999999999999999\n",
     "answers.yaml:2:7: 'line' needs a whole number", "wrong-list", 0},
    {"class: wrong-list\nline: 7\n",
     "answers.yaml:1:1: answers.yaml: key 'function' is missing", "wrong-list",
     7},
    {"class: wrong-list\nline: 7\nfunction:\n",
     "answers.yaml:3:10: 'function' has no value", "wrong-list", 7},
    {"class: wrong-list\nclass: lost-page\n",
     "answers.yaml:2:1: key 'class' is there twice", NULL, 0},
    {"class: wrong-list\nlien: 4\n",
     "unknown key 'lien' (did you mean 'line'?)", "wrong-list", 0},
    {"class: {a: b}\nline: 4\n",
     "answers.yaml:1:8: 'class' needs text, not a "
     "map",
     NULL, 4},
    {"a: &x [1]\nb: [*x, *x]\n",
     "answers.yaml:1:4: anchors and aliases are not supported", NULL, 0},
    {"class: \"\\x00\"\n", "answers.yaml:1:8: text must not hold a NUL", NULL,
     0},
    {"class: \xff\n", "answers.yaml: byte 7: ", NULL, 0},
    {"class: wrong-list\n---\nclass: lost-page\n",
     "answers.yaml:2:1: more than one document", NULL, 0},
};

Test(answers, each_mistake_is_said_with_its_place_and_the_rest_counts)
{
  for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
    struct answers a = {0};
    struct buf problems = BUF_INIT;
    read_answers(broken[i].text, strlen(broken[i].text), &a, &problems);
    cr_expect(strstr(buf_str(&problems), broken[i].problem), "%s: %s",
              broken[i].problem, buf_str(&problems));
    cr_expect_eq(a.line, broken[i].line, "%s", broken[i].text);
    cr_expect_eq(a.class_id != NULL, broken[i].class_id != NULL, "%s",
                 broken[i].text);
    if (a.class_id && broken[i].class_id)
      cr_expect_str_eq(a.class_id, broken[i].class_id);
    answers_release(&a);
    buf_release(&problems);
  }
}

Test(answers, depth_and_size_are_bounded)
{
  struct answers a = {0};
  struct buf deep = BUF_INIT, large = BUF_INIT, problems = BUF_INIT;
  for (int i = 0; i < 5000; i++)
    buf_addc(&deep, '[');
  read_answers(buf_str(&deep), deep.len, &a, &problems);
  cr_expect(strstr(buf_str(&problems), "too deep"), "%s", buf_str(&problems));
  buf_adds(&large, WHOLE "#");
  while (large.len <= ANSWERS_MAX_BYTES)
    buf_addc(&large, 'x');
  buf_truncate(&problems, 0);
  read_answers(buf_str(&large), large.len, &a, &problems);
  cr_expect(strstr(buf_str(&problems), "at most 16384 are read"), "%s",
            buf_str(&problems));
  cr_expect_null(a.class_id);
  buf_truncate(&large, 0);
  for (int i = 0; i < 3000; i++)
    buf_addf(&large, "%x:\n", i);
  buf_truncate(&problems, 0);
  read_answers(buf_str(&large), large.len, &a, &problems);
  cr_expect_str_eq(buf_str(&problems),
                   "answers.yaml:1:1: 3000 keys; the file as it was handed out "
                   "has five\n");
  answers_release(&a);
  buf_release(&deep);
  buf_release(&large);
  buf_release(&problems);
}

// A file as it was handed out says nothing, and each missing answer is named.
Test(answers, texts_that_are_blank_say_nothing)
{
  static const char blank[] =
      "class: lost-page\nfunction: f\nline: 1\nexplanation: |\n  \nseen: |\n"
      "  \n";
  struct answers a = {0};
  struct buf problems = BUF_INIT;
  read_answers(blank, sizeof(blank) - 1, &a, &problems);
  cr_expect_str_eq(buf_str(&problems), "");
  cr_expect_not(answers_says(a.explanation));
  cr_expect_not(answers_says(a.seen));
  answers_release(&a);
  buf_release(&problems);
}

// --- keys -------------------------------------------------------------------

Test(clinic, a_place_is_a_function_that_differs_and_a_line_near_one_that_does)
{
  char *functions[] = {(char *)"take", (char *)"kalloc"};
  struct changed_lines lines[] = {{20, 3}, {40, 0}};
  struct clinic_branch key = {.function = (char *)"take",
                              .functions = functions,
                              .function_count = 2,
                              .lines = lines,
                              .line_count = 2};
  static const struct {
    long line, tolerance;
    bool fits;
  } rows[] = {{20, 0, true}, {22, 0, true}, {23, 0, false}, {19, 0, false},
              {17, 3, true}, {25, 3, true}, {26, 3, false}, {16, 3, false},
              {39, 0, true}, {40, 0, true}, {41, 0, false}, {38, 0, false},
              {0, 30, false}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct answers a = {.function = "kalloc", .line = rows[i].line};
    cr_expect_eq(clinic_fits_line(&key, &a, rows[i].tolerance), rows[i].fits,
                 "line %ld", rows[i].line);
    cr_expect(clinic_fits_function(&key, &a));
  }
  struct answers other = {.function = "kfree"};
  cr_expect_not(clinic_fits_function(&key, &other));
  other.function = NULL;
  cr_expect_not(clinic_fits_function(&key, &other));
}

// --- the lab file -----------------------------------------------------------

// Loads the lab that ships, with something put in front of the clinic's picks.
static int load_with(const char *text, struct error *err)
{
  struct course course = {0};
  struct buf bytes = BUF_INIT;
  const char *data;
  char *dir;
  cr_assert_eq(data_dir(&data, NULL), 0);
  cr_assert_eq(file_make_temp_dir(NULL, "test-clinic-", &dir, NULL), 0);
  char *from = path_join(data, "config.yaml"), *to = path_join(dir, "lab.yaml");
  cr_assert_eq(file_read(from, 1 << 20, &bytes, NULL), 0);
  char *at = strstr(bytes.data, "  picks:");
  cr_assert(at);
  buf_splice(&bytes, (size_t)(at - bytes.data), 0, text, strlen(text));
  cr_assert_eq(file_write(to, bytes.data, bytes.len, 0644, NULL), 0);
  int rc = course_load(to, false, &course, err);
  course_release(&course);
  buf_release(&bytes);
  file_remove_tree(dir, NULL);
  free(from);
  free(to);
  free(dir);
  return rc;
}

Test(clinic, class_and_place_are_at_most_a_quarter_of_the_marks)
{
  struct error err = {0};
  cr_expect_eq(load_with("  marks: {gone: 5, unbroken: 1, class: 1, place: 1, "
                         "words: 0}\n",
                         &err),
               0, "%s", err.message);
  cr_expect_eq(load_with("  marks: {gone: 4, unbroken: 1, class: 1, place: 1, "
                         "words: 0}\n",
                         &err),
               LG_EINPUT);
  cr_expect(strstr(err.message,
                   "'class' and 'place' are 2 of 7; at most a "
                   "quarter may be"),
            "%s", err.message);
  error_release(&err);
}

// --- judging ----------------------------------------------------------------

static struct course course;
static struct rubric rubric;
static struct arena arena;
static struct student_work own, other;

static void set_up(void)
{
  struct error err = {0};
  const char *data;
  cr_assert_eq(data_dir(&data, NULL), 0);
  char *lab = path_join(data, "config.yaml");
  cr_assert_eq(course_load(lab, true, &course, &err), 0, "%s", err.message);
  cr_assert_eq(rubric_read(course.lab.rubric, &arena, &rubric, &err), 0);
  cr_assert_eq(student_make(&course, &course.roster.students[0], &own, &err),
               0);
  cr_assert_eq(student_make(&course, &course.roster.students[1], &other, &err),
               0);
  free(lab);
}

static void tear_down(void)
{
  student_release(&own);
  student_release(&other);
  arena_release(&arena);
  course_release(&course);
}

// The kernels as they were handed out, with answers.
static void bring(struct submission *s, const char *const *answers)
{
  s->clinic = xcalloc(own.clinic_count, sizeof(*s->clinic));
  s->clinic_count = own.clinic_count;
  for (size_t i = 0; i < own.clinic_count; i++) {
    s->clinic[i].number = i + 1;
    tree_copy(&s->clinic[i].tree, &own.clinic[i].tree);
    if (answers[i])
      cr_assert_eq(tree_put(&s->clinic[i].tree, ANSWERS_FILE, answers[i],
                            strlen(answers[i]), false, NULL),
                   0);
  }
}

// The answer to a kernel, as it should be.
static char *answer_to(const struct clinic_branch *key)
{
  return xasprintf(
      "class: %s\nfunction: %s\nline: %zu\nexplanation: x\nseen: y\n",
      key->assignment.bug->class_id, key->functions[0], key->lines[0].first);
}

static void judge(const struct submission *s, struct clinic *ret)
{
  struct error err = {0};
  struct gather_spec gather = {0};
  struct clinic_spec spec = {&course, &rubric, &course.roster.students[0], s,
                             &gather};
  cr_assert_eq(clinic_judge(&spec, ret, &err), 0, "%s", err.message);
}

Test(clinic, an_unchanged_kernel_earns_nothing_and_a_right_answer_its_own_part,
     .init = set_up, .fini = tear_down)
{
  struct submission s = {0};
  struct clinic c = {0};
  char *right = answer_to(&own.clinic[0]);
  bring(&s, (const char *const[]){right, NULL, "class: x\n"});
  judge(&s, &c);
  cr_assert_eq(c.count, 3);
  static const enum verdict first[] = {VERDICT_FAIL, VERDICT_NOT_REACHED,
                                       VERDICT_PASS, VERDICT_PASS,
                                       VERDICT_PASS};
  for (int part = 0; part < CLINIC_PART_COUNT; part++) {
    cr_expect_eq(c.kernels[0].verdicts[part], first[part], "part %d", part);
    cr_expect_neq(c.kernels[1].verdicts[part], VERDICT_PASS, "part %d", part);
    cr_expect_neq(c.kernels[2].verdicts[part], VERDICT_PASS, "part %d", part);
  }
  cr_expect(strstr(buf_str(&c.notes), "clinic-2: answers.yaml:"), "%s",
            buf_str(&c.notes));
  cr_expect(
      strstr(buf_str(&c.notes), "clinic-3: answers.yaml:1:8: 'x' is no class"),
      "%s", buf_str(&c.notes));
  cr_expect_str_eq(buf_str(&c.staff), "");
  clinic_release(&c);
  submission_release(&s);
  free(right);
}

Test(clinic, no_text_for_the_student_gives_the_key_away, .init = set_up,
     .fini = tear_down)
{
  struct submission s = {0};
  struct clinic c = {0};
  char *wrong = xasprintf("class: %s\nfunction: %s\nline: 1\n",
                          other.clinic[1].assignment.bug->class_id,
                          own.clinic[0].functions[0]);
  bring(&s, (const char *const[]){wrong, NULL, NULL});
  judge(&s, &c);
  for (int part = 0; part < CLINIC_PART_COUNT; part++) {
    const char *text = buf_str(&c.kernels[0].texts[part]);
    cr_expect_not(strstr(text, own.clinic[0].assignment.bug->class_id), "%s",
                  text);
    cr_expect_not(strstr(text, own.clinic[0].assignment.bug->id), "%s", text);
  }
  clinic_release(&c);
  submission_release(&s);
  free(wrong);
}

Test(clinic, an_answer_that_fits_another_students_kernel_is_for_staff,
     .init = set_up, .fini = tear_down)
{
  struct submission s = {0};
  struct clinic c = {0};
  char *theirs = answer_to(&other.clinic[0]);
  bring(&s, (const char *const[]){NULL, theirs, NULL});
  judge(&s, &c);
  char *who = xasprintf("that of %s (clinic-1)", other.student->id);
  cr_expect(strstr(buf_str(&c.staff), who), "%s", buf_str(&c.staff));
  cr_expect_not(strstr(buf_str(&c.notes), other.student->id), "%s",
                buf_str(&c.notes));
  cr_expect_neq(c.kernels[1].verdicts[CLINIC_PLACE], VERDICT_PASS);
  clinic_release(&c);
  submission_release(&s);
  free(theirs);
  free(who);
}

Test(clinic, a_file_that_was_handed_out_to_another_is_for_staff, .init = set_up,
     .fini = tear_down)
{
  struct error err = {0};
  struct clinic_kernel kernels[2] = {{.key = &own.clinic[0], .there = true},
                                     {.key = &own.clinic[1], .there = true}};
  struct clinic c = {.kernels = kernels, .count = 2};
  struct submission none = {0};
  struct clinic_spec spec = {&course, &rubric, own.student, &none, NULL};
  kernels[0].changed = kernels[1].changed = true;
  tree_copy(&kernels[0].tree, &own.clinic[0].tree);
  tree_copy(&kernels[1].tree, &other.clinic[2].tree);
  cr_assert_eq(clinic_compare(&spec, &c, &err), 0, "%s", err.message);
  char *line = xasprintf(
      "100 %% are those of the kernel that was handed out "
      "to %s (clinic-3)",
      other.student->id);
  cr_expect(strstr(buf_str(&c.staff), line), "%s", buf_str(&c.staff));
  cr_expect_not(strstr(buf_str(&c.staff), "clinic-1:"), "%s",
                buf_str(&c.staff));
  tree_release(&kernels[0].tree);
  tree_release(&kernels[1].tree);
  buf_release(&c.staff);
  free(line);
}

// --- the class --------------------------------------------------------------

Test(clinic, kernels_that_two_students_hand_in_alike_are_found)
{
  static const char text[] = "id,name\nada,A\nbo,B\nchidi,C\n";
  static const char *const records[] = {
      "{\"clinic\":[{\"branch\":\"clinic-1\",\"hash\":\"aa\"},"
      "{\"branch\":\"clinic-2\"}],\"checks\":[{\"max\":5}]}",
      "{\"clinic\":[{\"branch\":\"clinic-1\"},"
      "{\"branch\":\"clinic-2\",\"hash\":\"aa\"}]}",
      "{\"clinic\":[{\"branch\":\"clinic-1\",\"hash\":\"bb\"}]}"};
  struct roster roster = {0};
  struct copies c = {0};
  char *dir;
  cr_assert_eq(roster_parse("r.csv", text, sizeof(text) - 1, &roster, NULL), 0);
  cr_assert_eq(file_make_temp_dir(NULL, "test-copies-", &dir, NULL), 0);
  for (size_t i = 0; i < 3; i++) {
    char *folder = path_join(dir, roster.students[i].id);
    char *path = path_join(folder, "result.json");
    cr_assert_eq(file_mkdirs(folder, NULL), 0);
    cr_assert_eq(file_write(path, records[i], strlen(records[i]), 0644, NULL),
                 0);
    free(folder);
    free(path);
  }
  copies_read(dir, &roster, &c);
  cr_expect(c.clinic);
  cr_expect_eq(c.max, 5);
  json_t *ada = copies_of(&c, &roster.students[0]);
  json_t *chidi = copies_of(&c, &roster.students[2]);
  cr_assert_eq(json_array_size(ada), 1);
  cr_expect_str_eq(json_string_value(json_array_get(ada, 0)),
                   "clinic-1: the kernel is, byte for byte, that of bo "
                   "(clinic-2)");
  cr_expect_eq(json_array_size(chidi), 0);
  json_decref(ada);
  json_decref(chidi);
  copies_release(&c);
  roster_release(&roster);
  file_remove_tree(dir, NULL);
  free(dir);
}
