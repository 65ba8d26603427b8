// labgen grade, as it is run: real submissions, real kernels, and what hostile
// ones try.
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "graders/record.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/lab/tree.h"
#include "labgen/repo/course.h"
#include "labgen/run/argv.h"
#include "labgen/run/child.h"

static char *dir, *lab, *work, *results, *program, *cache;
static struct course course;

// A roster of s0 to s19.
static void write_lab(const char *data)
{
  struct buf text = BUF_INIT, roster = BUF_INIT;
  char *from = path_join(data, "config.yaml");
  char *to = path_join(dir, "roster.csv");
  cr_assert_eq(file_read(from, 1 << 20, &text, NULL), 0);
  char *at = strstr(text.data, "templates/percpu-kalloc/demo/roster.csv");
  cr_assert(at);
  buf_splice(&text, (size_t)(at - text.data),
             strlen("templates/percpu-kalloc/demo/roster.csv"), "roster.csv",
             10);
  buf_adds(&roster, "id,name,email\n");
  for (int i = 0; i < 20; i++)
    buf_addf(&roster, "s%d,\"=cmd|x <b>%d\",s%d@example.org\n", i, i, i);
  cr_assert_eq(file_write(lab, buf_str(&text), text.len, 0644, NULL), 0);
  cr_assert_eq(file_write(to, buf_str(&roster), roster.len, 0644, NULL), 0);
  buf_release(&text);
  buf_release(&roster);
  free(from);
  free(to);
}

static void set_up(void)
{
  struct error err = {0};
  const char *data;
  cr_assert_eq(data_dir(&data, NULL), 0);
  cr_assert_eq(file_make_temp_dir(NULL, "boot-grade-", &dir, NULL), 0);
  lab = path_join(dir, "lab.yaml");
  work = path_join(dir, "work");
  results = path_join(dir, "results");
  program = path_join(data, LABGEN_BUILD "/labgen");
  cache = path_join(data, "build/grade-cache");
  cr_assert_eq(file_mkdirs(work, NULL), 0);
  write_lab(data);
  cr_assert_eq(course_load(lab, false, &course, &err), 0, "%s", err.message);
}

static void tear_down(void)
{
  course_release(&course);
  file_remove_tree(dir, NULL);
  char **const owned[] = {&dir, &lab, &work, &results, &program, &cache};
  for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
    free(*owned[i]);
}

TestSuite(grade, .init = set_up, .fini = tear_down);

// --- helpers ----------------------------------------------------------------

static void put(const char *name, const char *text)
{
  char *path = path_join(work, name), *slash = strrchr(path, '/');
  *slash = '\0';
  cr_assert_eq(file_mkdirs(path, NULL), 0);
  *slash = '/';
  cr_assert_eq(file_write(path, text, strlen(text), 0644, NULL), 0);
  free(path);
}

// Hands in a tree of the course as a student's.
static void hand_in(const char *student, const struct tree *tree)
{
  char *path = path_join(work, student);
  cr_assert_eq(tree_write(tree, path, NULL), 0);
  free(path);
}

// Replaces the first `old` in a student's file.
static void change(const char *student, const char *file, const char *old,
                   const char *new)
{
  struct buf b = BUF_INIT;
  char *name = xasprintf("%s/%s", student, file), *path = path_join(work, name);
  cr_assert_eq(file_read(path, 1 << 20, &b, NULL), 0);
  char *at = strstr(b.data, old);
  cr_assert(at, "no '%s' in %s", old, file);
  buf_splice(&b, (size_t)(at - b.data), strlen(old), new, strlen(new));
  put(name, buf_str(&b));
  buf_release(&b);
  free(name);
  free(path);
}

// The reference with something put in front of its kalloc().
static void hand_in_changed(const char *student, const char *before,
                            const char *inside)
{
  static const char function[] = "void *kalloc(void)\n{\n";
  hand_in(student, course_reference(&course));
  char *text = xasprintf("%s\n%s%s\n", before, function, inside);
  change(student, "kernel/kalloc.c", function, text);
  free(text);
}

struct ran {
  int status;
  struct buf text;
};

static struct ran run_with(const char *const *env, const char *const *options)
{
  struct argv argv = {0};
  struct child_result result = {0};
  struct error err = {0};
  const char *const first[] = {program,   "grade", "-c", lab,
                               "-o",      results, "-j", "2",
                               "--cache", cache,   NULL};
  argv_add_all(&argv, first);
  argv_add_all(&argv, options);
  argv_add(&argv, work);
  struct child_spec spec = {
      .argv = argv_list(&argv), .env = env, .merge_stderr = true};
  cr_assert_eq(child_run(&spec, &result, &err), 0, "%s", err.message);
  struct ran ran = {result.status, result.out};
  result.out = (struct buf)BUF_INIT;
  child_result_release(&result);
  argv_release(&argv);
  return ran;
}

static void run_expecting(int status, const char *const *options)
{
  struct ran ran = run_with(NULL, options);
  cr_assert_eq(ran.status, status, "%d: %s", ran.status, buf_str(&ran.text));
  buf_release(&ran.text);
}
#define RUN(status, ...) \
  run_expecting(status, (const char *const[]){__VA_ARGS__, NULL})

static char *place(const char *student, const char *name)
{
  return xasprintf("%s/only/%s%s%s", results, student, *student ? "/" : "",
                   name);
}

static char *read_place(const char *student, const char *name)
{
  struct buf b = BUF_INIT;
  char *path = place(student, name);
  cr_assert_eq(file_read(path, 16 << 20, &b, NULL), 0, "%s", path);
  free(path);
  return buf_detach(&b);
}

static json_t *result_of(const char *student)
{
  char *path = place(student, "result.json");
  json_t *record = record_read(path);
  cr_assert(record, "%s", path);
  free(path);
  return record;
}

static const char *verdict_of(const json_t *record, const char *check)
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

static void expect_verdict(const char *student, const char *check,
                           const char *verdict)
{
  json_t *record = result_of(student);
  cr_expect_str_eq(verdict_of(record, check), verdict, "%s %s: %s", student,
                   check, verdict_of(record, check));
  json_decref(record);
}

static void expect_text(const char *student, const char *file, const char *part,
                        bool there)
{
  char *text = read_place(student, file);
  cr_expect_eq(strstr(text, part) != NULL, there, "%s in %s of %s: %s", part,
               file, student, text);
  free(text);
}

// --- without boots ----------------------------------------------------------

Test(grade, each_submission_gets_what_it_deserves_and_no_other_suffers)
{
  hand_in("s0", course_reference(&course));
  hand_in("s1", course_reference(&course));
  change("s1", "kernel/kalloc.c", "void *kalloc(void)\n{",
         "void *kalloc(void)\n{ return MY_LIMIT;");
  change("s1", "kernel/param.h", "#define NCPU",
         "#define MY_LIMIT 0\n#define NCPU");
  put("s2/readme.txt", "nothing else\n");
  put("s3.zip", "no archive\n");
  put("stranger.zip", "x");
  RUN(1, "--only", "object");
  expect_verdict("s0", "object", "pass");
  expect_verdict("s1", "build", "fail");
  expect_text("s1", "result.json", "kernel/param.h: 'MY_LIMIT' comes from",
              true);
  expect_text("s2", "result.json", "the submission has no kernel/kalloc.c",
              true);
  expect_text("s3", "feedback.md", "no archive", true);
  expect_text("", "report.html", "stranger.zip", true);
  expect_text("", "gradebook.csv", "s4,'=cmd|x <b>4", true);
  expect_text("", "report.html", "<b>4", false);
  expect_text("", "junit.xml", "classname=\"percpu-kalloc.s1\"", true);
}

Test(grade, unchanged_submissions_are_not_graded_again_and_overrides_survive)
{
  hand_in("s0", course_reference(&course));
  RUN(0, "--only", "object");
  put("../results/only/overrides.yaml",
      "- {student: s0, check: object, marks: 2, reason: late talk}\n");
  struct ran ran =
      run_with(NULL, (const char *const[]){"--only", "object", NULL});
  cr_assert(strstr(buf_str(&ran.text), "0 graded now, 1 unchanged"), "%s",
            buf_str(&ran.text));
  cr_assert_eq(ran.status, 1);
  buf_release(&ran.text);
  expect_text("s0", "feedback.md", "Staff decided: late talk", true);
  RUN(1, "--only", "object", "--again");
  expect_text("s0", "feedback.md", "Staff decided: late talk", true);
  expect_text("", "gradebook.csv", ",judged,7,10,", true);
}

Test(grade, a_wrong_override_is_an_error_with_its_line)
{
  hand_in("s0", course_reference(&course));
  put("../results/only/overrides.yaml",
      "- {student: s0, check: nosuch, marks: 2, reason: x}\n"
      "- {student: s99, check: object, marks: 2, reason: x}\n");
  struct ran ran =
      run_with(NULL, (const char *const[]){"--only", "object", NULL});
  cr_assert_eq(ran.status, 2);
  cr_assert(strstr(buf_str(&ran.text), "overrides.yaml:1:"), "%s",
            buf_str(&ran.text));
  buf_release(&ran.text);
}

Test(grade, a_second_run_on_one_folder_says_so)
{
  char *folder = path_join(results, "only"), *lock = path_join(folder, ".lock");
  hand_in("s0", course_reference(&course));
  cr_assert_eq(file_mkdirs(folder, NULL), 0);
  cr_assert_eq(file_write(lock, "", 0, 0600, NULL), 0);
  FILE *held = fopen(lock, "r");
  cr_assert_eq(flock(fileno(held), LOCK_EX), 0);
  struct ran ran =
      run_with(NULL, (const char *const[]){"--only", "object", NULL});
  cr_assert_eq(ran.status, 1);
  cr_assert(strstr(buf_str(&ran.text), "another labgen is at work"), "%s",
            buf_str(&ran.text));
  buf_release(&ran.text);
  fclose(held);
  free(folder);
  free(lock);
}

Test(grade, a_dry_run_shows_whose_is_what_and_makes_nothing)
{
  hand_in("s0", course_reference(&course));
  put("stranger.zip", "x");
  struct ran ran = run_with(NULL, (const char *const[]){"--dry-run", NULL});
  cr_assert_eq(ran.status, 1);
  cr_assert(strstr(buf_str(&ran.text), "s0\t"), "%s", buf_str(&ran.text));
  cr_assert(strstr(buf_str(&ran.text), "stranger.zip: nobody"));
  cr_assert_not(file_exists(results));
  buf_release(&ran.text);
}

// Files of the host that the compiler must not be able to show.
Test(grade, the_compiler_reads_no_secrets_of_the_host)
{
  char *secret = path_join(dir, "secret.h");
  cr_assert_eq(file_write(secret, "TOP-SECRET !\n", 13, 0644, NULL), 0);
  char *include = xasprintf("#include \"%s\"", secret);
  char *incbin = xasprintf(
      "asm(\".section .rodata\\n.incbin \\\"%s\\\"\\n"
      ".text\");",
      secret);
  hand_in_changed("s0", include, "");
  hand_in_changed("s1", incbin, "");
  hand_in_changed("s2", "#include \"/etc/passwd\"", "");
  RUN(1, "--only", "object");
  for (int i = 0; i < 3; i++) {
    char id[16];
    snprintf(id, sizeof(id), "s%d", i);
    expect_verdict(id, "build", "fail");
    expect_text(id, "result.json", "TOP-SECRET", false);
    expect_text(id, "result.json", "root:", false);
  }
  free(secret);
  free(include);
  free(incbin);
}

Test(grade, a_compile_that_eats_memory_or_output_costs_itself_alone)
{
  hand_in_changed("s0", "char huge[1ull << 60] = {1};", "");
  hand_in_changed("s1",
                  "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(x)))\n"
                  "#define C(x) B(B(B(x)))\nint many[] = {C(1 +) 0};",
                  "");
  hand_in("s2", course_reference(&course));
  RUN(1, "--only", "object");
  expect_verdict("s0", "build", "fail");
  expect_verdict("s1", "build", "fail");
  expect_verdict("s2", "object", "pass");
}

Test(grade, what_the_object_shows_is_held_for_staff)
{
  hand_in_changed("s0", "", "  *(volatile char *)0x10000000 = 'x';");
  hand_in_changed("s1", "", "  *(volatile int *)0x100000 = 0x5555;");
  hand_in_changed("s2",
                  "__attribute__((section(\".trampsec\"))) int odd(void)\n"
                  "{\n  return 1;\n}\n",
                  "");
  hand_in_changed("s3",
                  "int ticks_of_mine(void) { return 1; }\nint nproc = 1;\n"
                  "void procdump(void) {}\n",
                  "");
  hand_in_changed("s4", "", "  printf(\"ALL TESTS PASSED\\n\");");
  hand_in_changed("s5", "", "  asm volatile(\"csrw sscratch, zero\");");
  RUN(1, "--only", "object");
  for (int i = 0; i < 6; i++) {
    char id[16];
    snprintf(id, sizeof(id), "s%d", i);
    json_t *record = result_of(id);
    bool built = strcmp(verdict_of(record, "build"), "pass") == 0;
    cr_expect_str_neq(verdict_of(record, "object"), "pass", "%s", id);
    cr_expect(!built || json_array_size(json_object_get(record, "held")) > 0,
              "%s is not held", id);
    json_decref(record);
  }
}

Test(grade, what_students_write_injects_nothing)
{
  static const char evil[] = "<script>alert(1)</script>";
  hand_in_changed("s0", "#error <script>alert(1)</script> \x1b[2J ]]>", "");
  char *name = xasprintf("s0/kernel/%s.c", "<img src=x>");
  put(name, "");
  RUN(1, "--only", "object");
  expect_text("", "report.html", evil, false);
  expect_text("", "report.html", "<img", false);
  expect_text("", "junit.xml", evil, false);
  expect_text("", "junit.xml", "]]>", false);
  expect_text("s0", "feedback.md", "\x1b", false);
  expect_text("", "report.html", "\x1b", false);
  expect_text("", "report.html", "&lt;script&gt;alert(1)", true);
  free(name);
}

// Kills the run again and again at moments that differ; what is there in the
// end is what a run that nobody killed leaves.
Test(grade, a_killed_run_goes_on_where_it_stopped)
{
  const char *argv[] = {program,  "grade",  "-c", lab,       "-o",
                        results,  "-j",     "2",  "--cache", cache,
                        "--only", "object", work, NULL};
  for (int i = 0; i < 6; i++) {
    char id[16];
    snprintf(id, sizeof(id), "s%d", i);
    hand_in_changed(id, "", i % 2 ? "" : "  printf(\"x\");");
  }
  RUN(1, "--only", "object");
  char *whole = read_place("", "gradebook.csv");
  cr_assert_eq(file_remove_tree(results, NULL), 0);
  unsigned draw = 12345;
  for (int i = 0; i < 20; i++) {
    struct child_spec spec = {.argv = argv, .merge_stderr = true};
    struct child *child = NULL;
    cr_assert_eq(child_start(&spec, &child, NULL), 0);
    draw = draw * 1103515245 + 12345;
    int64_t until = clock_ms() + 50 + (draw >> 16) % 2500;
    while (!child_ended(child) && clock_ms() < until)
      cr_assert_eq(children_poll(&child, 1, until, NULL), 0);
    kill(child_pid(child), SIGKILL);
    child_release(child);
  }
  RUN(1, "--only", "object");
  char *resumed = read_place("", "gradebook.csv");
  cr_assert_str_eq(resumed, whole);
  free(whole);
  free(resumed);
}
