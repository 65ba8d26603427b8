// A large class's reports from a small one's results: for looking at
// report.html, and for what it costs. Records and evidence are copies of those
// that a run of labgen grade has left, in turns.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "graders/class.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/repo/course.h"
#include "labgen/run/child.h"

static void die(const char *what, const struct error *err)
{
  fprintf(stderr, "tool-class: %s: %s\n", what,
          err && err->message ? err->message : "failed");
  exit(1);
}

static void write_json(const char *folder, const char *name, const json_t *json)
{
  struct buf text = BUF_INIT;
  struct error err = {0};
  char *path = path_join(folder, name);
  record_format(json, &text);
  if (file_write(path, buf_str(&text), text.len, 0644, &err))
    die(path, &err);
  buf_release(&text);
  free(path);
}

// Copies one student's record and evidence to another's.
static void copy_student(const char *from, const char *to, const char *id)
{
  static const char *const names[] = {"result.json", "evidence.json"};
  if (file_mkdirs(to, NULL))
    die(to, NULL);
  for (size_t i = 0; i < 2; i++) {
    char *path = path_join(from, names[i]);
    json_t *json = record_read(path);
    if (json) {
      json_object_set_new(json, "student", json_string(id));
      write_json(to, names[i], json);
    }
    json_decref(json);
    free(path);
  }
}

// Folders of students in a results folder; the caller's.
static size_t find_students(const char *results, char **ret, size_t most)
{
  size_t count = 0;
  DIR *dir = opendir(results);
  struct dirent *e;
  while (dir && (e = readdir(dir)) && count < most) {
    char *folder = path_join(results, e->d_name);
    char *record = path_join(folder, "result.json");
    if (*e->d_name != '.' && file_exists(record))
      ret[count++] = folder;
    else
      free(folder);
    free(record);
  }
  if (dir)
    closedir(dir);
  return count;
}

static void make_class(const char *const *from, size_t from_count,
                       const char *out, size_t count, struct roster *ret)
{
  ret->students = xcalloc(count, sizeof(*ret->students));
  for (size_t i = 0; i < count; i++) {
    struct student *s = &ret->students[ret->count++];
    char *id = xasprintf("s%04zu", i), *folder = path_join(out, id);
    s->id = id;
    s->name = xasprintf("Student <b>%zu</b> & \"more\"", i);
    s->email = s->section = "";
    copy_student(from[i % from_count], folder, id);
    free(folder);
  }
}

static json_t *read_in(const char *folder, const char *name)
{
  char *path = path_join(folder, name);
  json_t *json = record_read(path);
  free(path);
  return json;
}

static int usage(void)
{
  fputs("usage: tool-class RESULTS OUT STUDENTS\n", stderr);
  return 2;
}

int main(int argc, char **argv)
{
  struct course course = {0};
  struct rubric rubric = {0};
  struct roster roster = {0};
  struct list overrides = {0};
  struct class_counts counts;
  struct publish *publish = NULL;
  struct error err = {0};
  char *from[64];
  size_t count = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
  size_t found = argc == 4 ? find_students(argv[1], from, 64) : 0;
  if (!count || !found)
    return usage();
  if (course_load("config.yaml", false, &course, &err) ||
      rubric_read(course.lab.rubric, &course.arena, &rubric, &err))
    die("the lab", &err);
  if (publish_open(argv[2], &publish, &err))
    die(argv[2], &err);
  make_class((const char *const *)from, found, argv[2], count, &roster);
  json_t *start = read_in(argv[1], "start.evidence.json");
  json_t *reference = read_in(argv[1], "reference.evidence.json");
  struct class_spec spec = {
      .title = course.lab.title,
      .id = course.lab.id,
      .results = argv[2],
      .publish = publish,
      .rubric = &rubric,
      .roster = &roster,
      .marks = {.rubric = &rubric,
                .dates = &course.lab.dates,
                .overrides = &overrides,
                .now_s = INT64_MAX / 2},
      .start = start,
      .reference = reference,
  };
  int64_t begin_ms = clock_ms();
  if (class_write(&spec, NULL, &counts, &err))
    die("the reports", &err);
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  printf("%zu students: %.2f s, %ld KiB at most\n", count,
         (double)(clock_ms() - begin_ms) / 1000, used.ru_maxrss);
  publish_close(publish);
  json_decref(start);
  json_decref(reference);
  course_release(&course);
  return 0;
}
