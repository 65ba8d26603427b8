// labgen pregrade as a student runs it, and what is installed for students and
// for staff, with the source tree out of sight.
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graders/check.h"
#include "graders/subject.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/repo/course.h"
#include "labgen/run/argv.h"
#include "labgen/run/child.h"

#define DESIGNS "solutions/percpu-kalloc/designs"

// Compiled kernels are kept from test to test.
#define CACHE_HOME "build/test-home"

static char *base;
static struct child_result last;

static void make_base(void)
{
  cr_assert_eq(file_make_temp_dir(NULL, "test-pregrade", &base, NULL), 0);
  cr_assert_eq(file_mkdirs(CACHE_HOME, NULL), 0);
}

static void remove_base(void)
{
  child_result_release(&last);
  file_remove_tree(base, NULL);
  free(base);
}

// Boots on a busy host.
TestSuite(pregrade, .init = make_base, .fini = remove_base, .timeout = 1200);

// Runs a command to its end; `more` (NULL: none) is one variable.
static void run_in(const char *dir, const char *more, const char *const *argv)
{
  char *cache = realpath(CACHE_HOME, NULL);
  char *home = xasprintf("HOME=%s", cache);
  char *path = xasprintf("PATH=%s", getenv("PATH"));
  const char *const env[] = {home, path, "LC_ALL=C", more, NULL};
  struct child_spec spec = {
      .argv = argv, .env = env, .dir = dir, .merge_stderr = true};
  child_result_release(&last);
  cr_assert_eq(child_run(&spec, &last, NULL), 0);
  cr_assert_eq(last.end, CHILD_EXITED);
  free(cache);
  free(home);
  free(path);
}

#define RUN(dir, more, ...) \
  run_in(dir, more, (const char *const[]){__VA_ARGS__, NULL})
#define LABGEN LABGEN_BUILD "/labgen"

static void expect(int status, const char *words)
{
  cr_expect_eq(last.status, status, "status %d:\n%s", last.status,
               buf_str(&last.out));
  cr_expect_not_null(strstr(buf_str(&last.out), words), "'%s' is not in:\n%s",
                     words, buf_str(&last.out));
}

// Writes the tree of a subject, as a student would have it; returns its folder.
static char *write_subject(const char *id)
{
  struct course course = {0};
  struct subjects all = {0};
  struct rubric rubric = {.designs = DESIGNS};
  struct error err = {0};
  char *folder = path_join(base, id);
  bool found = false;
  int rc = course_load("config.yaml", false, &course, &err);
  rc = rc ? rc : subjects_make(&course, &rubric, &all, &err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
  for (size_t i = 0; i < all.count; i++) {
    if (strcmp(all.items[i].id, id) != 0)
      continue;
    found = true;
    cr_assert_eq(file_mkdirs(folder, NULL), 0);
    cr_assert_eq(tree_write(&all.items[i].tree, folder, NULL), 0);
  }
  cr_assert(found, "no subject %s", id);
  subjects_release(&all);
  course_release(&course);
  return folder;
}

// ---- the same marks as staff's -----------------------------------------------

struct search {
  const char *prefix;
  char *found;
};

static int look_at(void *arg, const char *name, struct error *err)
{
  struct search *s = arg;
  (void)err;
  if (strncmp(name, s->prefix, strlen(s->prefix)) == 0) {
    free(s->found);
    s->found = xstrdup(name);
  }
  return 0;
}

// The verdicts that `labgen verify` has kept of a subject.
static json_t *verify_checks(const char *out, const char *id)
{
  char *trials = path_join(out, "trials");
  struct search s = {.prefix = id};
  cr_assert_eq(file_walk(trials, look_at, &s, NULL), 0);
  cr_assert_not_null(s.found, "no trial of %s", id);
  char *path = path_join(trials, s.found);
  json_t *trial = json_load_file(path, 0, NULL);
  json_t *checks = json_incref(json_object_get(trial, "checks"));
  cr_assert_not_null(checks);
  json_decref(trial);
  free(path);
  free(trials);
  free(s.found);
  return checks;
}

// The verdict that stands in front of a check's name in the report.
static const char *verdict_in_report(const char *id)
{
  static char verdict[16];
  char *name = xasprintf(" %s ", id);
  const char *at = strstr(buf_str(&last.out), name);
  free(name);
  if (!at)
    return NULL;
  while (at > last.out.data && at[-1] != '\n')
    at--;
  if (strncmp(at, "Not run", 7) == 0)
    return NULL;
  snprintf(verdict, sizeof verdict, "%.12s", at);
  for (size_t n = strlen(verdict); n > 0 && verdict[n - 1] == ' ';)
    verdict[--n] = '\0';
  return verdict;
}

static void expect_same(const char *out, const char *id)
{
  json_t *checks = verify_checks(out, id), *check;
  const char *name;
  size_t compared = 0;
  char *folder = write_subject(id);
  RUN(NULL, NULL, LABGEN, "pregrade", "--quick", folder);
  json_object_foreach(checks, name, check)
  {
    int verdict = (int)json_integer_value(json_object_get(check, "verdict"));
    const char *mine = verdict_in_report(name);
    if (mine == NULL) {
      // Not run in either.
      cr_expect_eq(verdict, VERDICT_NOT_REACHED, "%s: no %s in:\n%s", id, name,
                   buf_str(&last.out));
      continue;
    }
    cr_expect_str_eq(mine, verdict_words((enum verdict)verdict), "%s of %s",
                     name, id);
    compared++;
  }
  cr_expect_gt(compared, 10);
  json_decref(checks);
  free(folder);
}

Test(pregrade, verdicts_are_those_that_staff_get)
{
  char *out = path_join(base, "verify");
  RUN(NULL, NULL, LABGEN, "verify", "-o", out, "--quick", "start",
      "steal-holding-lock");
  expect_same(out, "start");
  expect_same(out, "steal-holding-lock");
  free(out);
}

// ---- what a student sees -----------------------------------------------------

Test(pregrade, the_explorers_word_comes_before_any_boot)
{
  char *folder = write_subject("reference");
  RUN(NULL, NULL, LABGEN, "pregrade", "--quick", folder);
  expect(0, "Explorer: Nothing found within bound 2 of these programs.");
  const char *out = buf_str(&last.out), *boots = strstr(out, "labgen: boots");
  cr_assert_not_null(boots);
  cr_expect_lt(strstr(out, "Explorer: "), boots);
  free(folder);
}

Test(pregrade, what_does_not_compile_is_shown_with_its_place)
{
  char *folder = write_subject("start");
  char *file = path_join(folder, "kernel/kalloc.c");
  const char *text = "#include \"types.h\"\nint x = ;\n";
  cr_assert_eq(file_write(file, text, strlen(text), 0644, NULL), 0);
  RUN(NULL, "GITHUB_ACTIONS=true", LABGEN, "pregrade", "--ci", folder);
  expect(1, "fail          0/2   build");
  expect(1,
         "\n::error file=kernel/kalloc.c,line=2,title=It compiles and links");
  expect(1, "not reached   0/5   boot");

  char *junit = path_join(folder, "labgen-results/junit.xml");
  char *gitlab = path_join(folder, "labgen-results/code-quality.json");
  struct buf xml = BUF_INIT;
  cr_assert_eq(file_read(junit, 1 << 20, &xml, NULL), 0);
  cr_expect_not_null(strstr(buf_str(&xml), "<testcase name=\"build\""));
  cr_expect_not_null(strstr(buf_str(&xml), "<failure message=\"It compiles"));
  cr_expect_not_null(strstr(buf_str(&xml), "<skipped"));
  json_t *remarks = json_load_file(gitlab, 0, NULL), *place;
  place = json_object_get(json_array_get(remarks, 0), "location");
  cr_expect_str_eq(json_string_value(json_object_get(place, "path")),
                   "kernel/kalloc.c");
  place = json_object_get(json_object_get(place, "lines"), "begin");
  cr_expect_eq(json_integer_value(place), 2);
  json_decref(remarks);
  buf_release(&xml);
  cr_expect_null(strstr(buf_str(&last.out), "test-home"),
                 "no path of the cache:\n%s", buf_str(&last.out));
  free(junit);
  free(gitlab);
  free(file);
  free(folder);
}

Test(pregrade, gradescope_gets_a_score_for_each_check)
{
  char *root = path_join(base, "autograder"),
       *bin = realpath(LABGEN_BUILD, NULL);
  char *results = path_join(root, "results");
  char *file = path_join(root, "submission/kernel/kalloc.c");
  char *env = xasprintf("AUTOGRADER_ROOT=%s", root);
  char *path = xasprintf("%s:%s", bin, getenv("PATH"));
  char *start = write_subject("start"), *to = path_join(root, "submission");
  cr_assert_eq(file_mkdirs(results, NULL), 0);
  cr_assert_eq(rename(start, to), 0);
  cr_assert_eq(file_write(file, "no C\n", 5, 0644, NULL), 0);
  setenv("PATH", path, 1);
  RUN(NULL, env, "ci/gradescope/run_autograder");
  cr_assert_eq(last.status, 0, "%s", buf_str(&last.out));
  free(file);
  file = path_join(results, "results.json");
  json_t *all = json_load_file(file, 0, NULL), *first;
  first = json_array_get(json_object_get(all, "tests"), 0);
  cr_expect_str_eq(json_string_value(json_object_get(first, "name")), "build");
  cr_expect_eq(json_number_value(json_object_get(first, "score")), 0);
  cr_expect_eq(json_number_value(json_object_get(first, "max_score")), 2);
  json_decref(all);
  free(root);
  free(bin);
  free(results);
  free(file);
  free(env);
  free(path);
  free(start);
  free(to);
}

Test(pregrade, a_hang_is_shown_with_what_the_harts_wait_for)
{
  char *folder = write_subject("own-lock-twice");
  RUN(NULL, NULL, LABGEN, "pregrade", "--quick", folder);
  cr_expect_eq(last.status, 1);
  expect(1, "kalloc.c");
  expect(1, "see it: ");
  expect(1, "acquire");
  free(folder);
}

// The watchers see no more of it than that it ends.
Test(pregrade, a_kernel_that_dies_at_once_fails_a_check_that_says_how)
{
  char *folder = write_subject("start");
  char *file = path_join(folder, "kernel/kalloc.c");
  struct buf text = BUF_INIT;
  static const char release[] = "  release(&kmem.lock);\n";
  cr_assert_eq(file_read(file, 1 << 20, &text, NULL), 0);
  const char *at = strstr(text.data, release);
  cr_assert_not_null(at);
  buf_splice(&text, (size_t)(at - text.data), sizeof release - 1, "", 0);
  cr_assert_eq(file_write(file, text.data, text.len, 0644, NULL), 0);
  RUN(NULL, NULL, LABGEN, "pregrade", "--quick", folder);
  expect(1, "fail          0/5   boot");
  expect(1, "panic: acquire");
  expect(1, "note: ");  // the explorer's word on it
  buf_release(&text);
  free(file);
  free(folder);
}

Test(pregrade, other_files_that_a_student_changed_are_named_and_not_used)
{
  char *folder = write_subject("start");
  char *file = path_join(folder, "kernel/spinlock.c");
  struct buf text = BUF_INIT;
  cr_assert_eq(file_read(file, 1 << 20, &text, NULL), 0);
  buf_adds(&text, "this is no C\n");
  cr_assert_eq(file_write(file, buf_str(&text), text.len, 0644, NULL), 0);
  RUN(NULL, NULL, LABGEN, "pregrade", "--quick", folder);
  expect(1, "Note: kernel/spinlock.c:");
  expect(1, "pass          2/2   build");
  buf_release(&text);
  free(file);
  free(folder);
}

Test(pregrade, a_clinic_kernel_is_built_and_booted_and_nothing_more_is_said)
{
  char *folder = write_subject("only-first-lock-initialised");
  char *answers = path_join(folder, "answers.yaml");
  cr_assert_eq(file_write(answers, "class:\n", 7, 0644, NULL), 0);
  RUN(NULL, NULL, LABGEN, "pregrade", "--quick", folder);
  expect(0, "A kernel of the clinic");
  expect(0, "Note: answers.yaml:1:7: 'class' has no value");
  expect(0, "The kernel reaches the shell");
  cr_expect_null(strstr(buf_str(&last.out), "invariant"));
  cr_expect_null(strstr(buf_str(&last.out), "initialised"));
  cr_expect_null(strstr(buf_str(&last.out), "Marks"));
  free(answers);
  free(folder);
}

Test(pregrade, without_QEMU_nothing_is_held_against_anybody)
{
  static const char *const tools[] = {"riscv64-unknown-elf-gcc",
                                      "riscv64-unknown-elf-ld",
                                      "riscv64-unknown-elf-objdump",
                                      "riscv64-unknown-elf-objcopy",
                                      "make",
                                      "gcc",
                                      "sh",
                                      "expr",
                                      "id",
                                      "mkdir",
                                      "rm",
                                      "as",
                                      "ld"};
  char *folder = write_subject("start"), *bin = path_join(base, "bin");
  cr_assert_eq(file_mkdirs(bin, NULL), 0);
  for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
    char *from = path_join("/usr/bin", tools[i]);
    char *to = path_join(bin, tools[i]);
    cr_assert_eq(symlink(from, to), 0);
    free(from);
    free(to);
  }
  setenv("PATH", bin, 1);
  RUN(NULL, NULL, LABGEN, "pregrade", "--quick", folder);
  expect(3, "pass          2/2   build");
  expect(3, "not judged    0/5   boot");
  cr_expect_null(strstr(buf_str(&last.out), "\nfail "));
  free(folder);
  free(bin);
}

// As in a container, which often has 64 MiB of shared memory.
Test(pregrade, without_room_for_a_guest_in_shared_memory_the_disk_holds_it)
{
  char *folder = write_subject("start");
  RUN(NULL, NULL, "bwrap", "--dev-bind", "/", "/", "true");
  if (last.status != 0)
    cr_skip_test("bubblewrap is not allowed here: %s", buf_str(&last.out));
  RUN(NULL, NULL, "bwrap", "--dev-bind", "/", "/", "--size", "67108864",
      "--tmpfs", "/dev/shm", LABGEN, "pregrade", "--quick", folder);
  expect(1, "pass          5/5   boot");
  RUN(NULL, NULL, "bwrap", "--dev-bind", "/", "/", "--size", "67108864",
      "--tmpfs", "/dev/shm", LABGEN, "doctor");
  expect(0, "could be better  shared memory  64 MiB free in /dev/shm");
  free(folder);
}

Test(pregrade, locks_are_counted_beside_the_starts)
{
  char *folder = write_subject("reference");
  RUN(NULL, NULL, LABGEN, "pregrade", "--locks", folder);
  expect(0, "Your kernel, kchurn:");
  expect(0, "kmem7");
  expect(0, "The kernel that the lab started from, kchurn:");
  expect(0, "  kmem     ");
  free(folder);
}

Test(pregrade, wrong_use_is_told_from_a_failed_check)
{
  RUN(NULL, NULL, LABGEN, "pregrade", "--fulll", ".");
  expect(2, "unknown option --fulll");
  RUN(NULL, NULL, LABGEN, "pregrade", "/nonexistent");
  expect(2, "/nonexistent: no such folder");
  RUN(NULL, NULL, LABGEN, "pregrade", "README.md");
  expect(2, "README.md: no such folder");
  RUN(NULL, NULL, LABGEN, "pregrade", "a", "b");
  expect(2, "one folder at a time");
  RUN(NULL, NULL, LABGEN, "pregrade", base);
  expect(1, "kernel/kalloc.c");
}

// ---- what is installed -------------------------------------------------------

// Runs an installed command where the source tree cannot be seen.
static void run_installed(const char *const *args)
{
  char *here = realpath(".", NULL), *cache = realpath(CACHE_HOME, NULL);
  char *program = path_join(base, "usr/bin/labgen");
  struct argv argv = {0};
  argv_add_all(&argv,
               (const char *const[]){"bwrap", "--dev-bind", "/", "/", "--tmpfs",
                                     here, "--bind", cache, cache, "--chdir",
                                     base, program, NULL});
  argv_add_all(&argv, args);
  run_in(NULL, NULL, argv_list(&argv));
  argv_release(&argv);
  free(here);
  free(cache);
  free(program);
}

#define INSTALLED(...) run_installed((const char *const[]){__VA_ARGS__, NULL})

static void install(const char *target)
{
  char *dest = xasprintf("DESTDIR=%s", base);
  const char *sanitize =
      strstr(LABGEN_BUILD, "san") ? "SANITIZE=1" : "SANITIZE=";
  const char *coverage =
      strstr(LABGEN_BUILD, "cov") ? "COVERAGE=1" : "COVERAGE=";
  RUN(NULL, NULL, "bwrap", "--dev-bind", "/", "/", "true");
  if (last.status != 0)
    cr_skip_test("bubblewrap is not allowed here: %s", buf_str(&last.out));
  RUN(NULL, NULL, "make", "-s", target, dest, "PREFIX=/usr", sanitize,
      coverage);
  cr_assert_eq(last.status, 0, "%s", buf_str(&last.out));
  free(dest);
}

Test(pregrade, what_students_install_works_without_the_course)
{
  install("install-student");
  char *folder = write_subject("start");
  INSTALLED("pregrade", "--quick", folder);
  expect(1, "fail          0/8   traffic-shared");
  expect(1, "pass          0/3   explorer");
  char *file = path_join(folder, "kernel/kalloc.c");
  INSTALLED("explore", file);
  cr_expect_eq(last.status, 0, "%s", buf_str(&last.out));
  // What only staff have is said to be missing.
  INSTALLED("show", "bugs");
  expect(2, "config.yaml");
  char *solutions = path_join(base, "usr/share/labgen/solutions");
  cr_expect_not(file_exists(solutions));
  free(solutions);
  free(file);
  free(folder);
}

Test(pregrade, what_staff_install_builds_a_course_and_is_taken_away_again)
{
  install("install");
  char *config = path_join(base, "usr/share/labgen/config.yaml");
  char *out = path_join(base, "out"), *usr = path_join(base, "usr");
  INSTALLED("build", "-c", config, "-o", out, "--no-kernels");
  cr_expect_eq(last.status, 0, "%s", buf_str(&last.out));
  INSTALLED("show", "-c", config, "bugs");
  expect(0, "steal-holding-lock");
  install("uninstall");
  struct search any = {.prefix = ""};
  cr_assert_eq(file_walk(usr, look_at, &any, NULL), 0);
  cr_expect_null(any.found, "%s was left", any.found);
  free(config);
  free(out);
  free(usr);
}
