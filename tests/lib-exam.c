// The tests' course. Results of its runs are those with --only, which keeps
// them from booting more than they must.
#include "tests/lib-exam.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graders/record.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/argv.h"
#include "labgen/run/child.h"

struct exam exam;

// A roster of s0 to s19.
static void write_lab(const char *data)
{
  struct buf text = BUF_INIT, roster = BUF_INIT;
  char *from = path_join(data, "config.yaml");
  char *to = path_join(exam.dir, "roster.csv");
  cr_assert_eq(file_read(from, 1 << 20, &text, NULL), 0);
  char *at = strstr(text.data, "templates/percpu-kalloc/demo/roster.csv");
  cr_assert(at);
  buf_splice(&text, (size_t)(at - text.data),
             strlen("templates/percpu-kalloc/demo/roster.csv"), "roster.csv",
             10);
  buf_adds(&roster, "id,name,email\n");
  for (int i = 0; i < 20; i++)
    buf_addf(&roster, "s%d,\"=cmd|x <b>%d\",s%d@example.org\n", i, i, i);
  cr_assert_eq(file_write(exam.lab, buf_str(&text), text.len, 0644, NULL), 0);
  cr_assert_eq(file_write(to, buf_str(&roster), roster.len, 0644, NULL), 0);
  buf_release(&text);
  buf_release(&roster);
  free(from);
  free(to);
}

void exam_set_up(void)
{
  struct error err = {0};
  const char *data;
  cr_assert_eq(data_dir(&data, NULL), 0);
  cr_assert_eq(file_make_temp_dir(NULL, "boot-grade-", &exam.dir, NULL), 0);
  exam.lab = path_join(exam.dir, "lab.yaml");
  exam.work = path_join(exam.dir, "work");
  exam.results = path_join(exam.dir, "results");
  exam.program = path_join(data, LABGEN_BUILD "/labgen");
  exam.cache = path_join(data, "build/grade-cache");
  cr_assert_eq(file_mkdirs(exam.work, NULL), 0);
  write_lab(data);
  cr_assert_eq(course_load(exam.lab, false, &exam.course, &err), 0, "%s",
               err.message);
}

void exam_tear_down(void)
{
  course_release(&exam.course);
  file_remove_tree(exam.dir, NULL);
  char **const owned[] = {&exam.dir,     &exam.lab,     &exam.work,
                          &exam.results, &exam.program, &exam.cache};
  for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
    free(*owned[i]);
}

void exam_put(const char *name, const char *text)
{
  char *path = path_join(exam.work, name), *slash = strrchr(path, '/');
  *slash = '\0';
  cr_assert_eq(file_mkdirs(path, NULL), 0);
  *slash = '/';
  cr_assert_eq(file_write(path, text, strlen(text), 0644, NULL), 0);
  free(path);
}

void exam_hand_in(const char *student, const struct tree *tree)
{
  char *path = path_join(exam.work, student);
  cr_assert_eq(tree_write(tree, path, NULL), 0);
  free(path);
}

void exam_change(const char *student, const char *file, const char *old,
                 const char *new)
{
  struct buf b = BUF_INIT;
  char *name = xasprintf("%s/%s", student, file);
  char *path = path_join(exam.work, name);
  cr_assert_eq(file_read(path, 1 << 20, &b, NULL), 0);
  char *at = strstr(b.data, old);
  cr_assert(at, "no '%s' in %s", old, file);
  buf_splice(&b, (size_t)(at - b.data), strlen(old), new, strlen(new));
  exam_put(name, buf_str(&b));
  buf_release(&b);
  free(name);
  free(path);
}

void exam_hand_in_changed(const char *student, const char *before,
                          const char *inside)
{
  static const char function[] = "void *kalloc(void)\n{\n";
  exam_hand_in(student, course_reference(&exam.course));
  char *text = xasprintf("%s\n%s%s\n", before, function, inside);
  exam_change(student, "kernel/kalloc.c", function, text);
  free(text);
}

struct ran exam_run_with(const char *const *env, const char *const *options)
{
  struct argv argv = {0};
  struct child_result result = {0};
  struct error err = {0};
  const char *const first[] = {exam.program, "grade",      "-c", exam.lab,
                               "-o",         exam.results, "-j", "2",
                               "--cache",    exam.cache,   NULL};
  argv_add_all(&argv, first);
  argv_add_all(&argv, options);
  argv_add(&argv, exam.work);
  struct child_spec spec = {
      .argv = argv_list(&argv), .env = env, .merge_stderr = true};
  cr_assert_eq(child_run(&spec, &result, &err), 0, "%s", err.message);
  struct ran ran = {result.status, result.out};
  result.out = (struct buf)BUF_INIT;
  child_result_release(&result);
  argv_release(&argv);
  return ran;
}

void exam_run_expecting(int status, const char *const *env, const char *part,
                        const char *const *options)
{
  struct ran ran = exam_run_with(env, options);
  cr_assert_eq(ran.status, status, "%d: %s", ran.status, buf_str(&ran.text));
  cr_assert(!part || strstr(buf_str(&ran.text), part), "no '%s' in: %s", part,
            buf_str(&ran.text));
  buf_release(&ran.text);
}

char *exam_place(const char *student, const char *name)
{
  return xasprintf("%s/only/%s%s%s", exam.results, student, *student ? "/" : "",
                   name);
}

char *exam_read(const char *student, const char *name)
{
  struct buf b = BUF_INIT;
  char *path = exam_place(student, name);
  cr_assert_eq(file_read(path, 16 << 20, &b, NULL), 0, "%s", path);
  free(path);
  return buf_detach(&b);
}

json_t *exam_result(const char *student)
{
  char *path = exam_place(student, "result.json");
  json_t *record = record_read(path);
  cr_assert(record, "%s", path);
  free(path);
  return record;
}

const char *exam_verdict(const json_t *record, const char *check)
{
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(record, "checks"), i, row)
  {
    if (strcmp(record_text(row, "id"), check) == 0)
      return record_text(row, "verdict");
  }
  return "none";
}

void exam_expect_verdict(const char *student, const char *check,
                         const char *verdict)
{
  json_t *record = exam_result(student);
  cr_expect_str_eq(exam_verdict(record, check), verdict, "%s %s: %s", student,
                   check, exam_verdict(record, check));
  json_decref(record);
}

void exam_expect_text(const char *student, const char *file, const char *part,
                      bool there)
{
  char *text = exam_read(student, file);
  cr_expect_eq(strstr(text, part) != NULL, there, "%s in %s of %s: %s", part,
               file, student, text);
  free(text);
}
