// labgen build on a small lab: what it makes, and what it leaves alone.
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"
#include "tests/lib-lab.h"

Test(build, one_command_makes_everything_and_says_what_comes_next)
{
  static const char *const made[] = {
      "out/manifest.json", "out/keys/s1.json", "out/students/s2/LAB.md",
      "out/clinic/s2/answers.yaml", "out/instructor/kernel/kalloc.c"};
  struct toy_lab lab;
  struct buf out = BUF_INIT;
  toy_lab_make(&lab, 2);
  TOY_BUILD(&lab, 0, &out, NULL);
  for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
    char *path = toy_lab_path(&lab, made[i]);
    cr_expect(file_exists(path), "%s", made[i]);
    free(path);
  }
  expect_said(&out, "5 repositories made");
  expect_said(&out, "labgen grade -c lab.yaml");
  buf_release(&out);
  toy_lab_remove(&lab);
}

Test(build, repositories_are_sound_and_hold_the_branches)
{
  struct toy_lab lab;
  struct buf out = BUF_INIT;
  toy_lab_make(&lab, 1);
  TOY_BUILD(&lab, 0, &out, "--no-kernels");
  static const char *const repos[][2] = {
      {"out/students/s1", "mine\n"},
      {"out/clinic/s1", "clinic-1\nclinic-2\n"},
      {"out/instructor",
       "base\nclinic/minus-one\nclinic/negated\n"
       "clinic/times-four\nreference\nstart\n"}};
  for (size_t i = 0; i < 3; i++) {
    char *path = toy_lab_path(&lab, repos[i][0]);
    buf_truncate(&out, 0);
    cr_expect_eq(GIT(path, NULL, "fsck", "--strict", "--full"), 0);
    cr_expect_eq(GIT(path, &out, "branch", "--format=%(refname:short)"), 0);
    cr_expect_str_eq(buf_str(&out), repos[i][1]);
    buf_truncate(&out, 0);
    cr_expect_eq(GIT(path, &out, "status", "--porcelain", "--ignored"), 0);
    cr_expect_str_eq(buf_str(&out), "");
    free(path);
  }
  buf_release(&out);
  toy_lab_remove(&lab);
}

Test(build, commit_ids_are_pinned)
{
  struct toy_lab lab;
  struct buf out = BUF_INIT;
  toy_lab_make(&lab, 1);
  TOY_BUILD(&lab, 0, &out, "--no-kernels");
  char *mine = toy_lab_path(&lab, "out/students/s1");
  char *clinic = toy_lab_path(&lab, "out/clinic/s1");
  buf_truncate(&out, 0);
  GIT(mine, &out, "rev-parse", "mine");
  GIT(clinic, &out, "rev-parse", "clinic-1", "clinic-2");
  cr_expect_str_eq(buf_str(&out),
                   "2f9cdd08b42a760affa3dbd6e191a1146ce8aa11\n"
                   "2e94af8a2d367276dcbfc7901fa5adc4fdf4f821\n"
                   "d7f595ba03e07d30cf5171a827165546828d14c2\n");
  buf_release(&out);
  free(mine);
  free(clinic);
  toy_lab_remove(&lab);
}

Test(build, any_order_and_any_number_of_jobs_give_the_same_bytes)
{
  struct toy_lab lab;
  toy_lab_make(&lab, 3);
  TOY_BUILD(&lab, 0, NULL, "-j", "1", "-o", "a", "--archives");
  toy_lab_write(&lab, "roster.csv",
                "id,name\ns3,Student 3\ns1,Student 1\ns2,Student 2\n");
  TOY_BUILD(&lab, 0, NULL, "-j", "2", "-o", "b", "--archives", "-s", "s2");
  TOY_BUILD(&lab, 0, NULL, "-j", "4", "-o", "b", "--archives");
  static const char *const folders[] = {
      "students", "clinic", "keys", "instructor", "kernels", "archives", NULL};
  toy_lab_expect_same(&lab, "a", "b", folders);
  toy_lab_remove(&lab);
}

Test(build, a_changed_line_of_the_roster_changes_that_students_trees_alone)
{
  struct toy_lab lab;
  struct tree one = {0}, other = {0};
  toy_lab_make(&lab, 3);
  TOY_BUILD(&lab, 0, NULL, "--no-kernels", "-o", "a");
  toy_lab_change(&lab, "roster.csv", "s2,Student 2", "zoe,Zoe");
  TOY_BUILD(&lab, 0, NULL, "--no-kernels", "-o", "b");
  static const char *const same[] = {"students/s1", "students/s3", "clinic/s1",
                                     "clinic/s3",   "instructor",  NULL};
  toy_lab_expect_same(&lab, "a", "b", same);
  read_all(&lab, "a/students/s2", &one);
  read_all(&lab, "b/students/zoe", &other);
  cr_expect_not(tree_equal(&one, &other));
  tree_release(&one);
  tree_release(&other);
  toy_lab_remove(&lab);
}

static int note_times(void *arg, const char *path, struct error *err)
{
  struct buf *b = ((void **)arg)[0];
  struct stat st;
  char *full = path_join(((char **)arg)[1], path);
  (void)err;
  if (strncmp(path, ".lock", 5) != 0 && stat(full, &st) == 0)
    buf_addf(b, "%s %lu %ld.%09ld\n", path, (unsigned long)st.st_ino,
             (long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
  free(full);
  return 0;
}

Test(build, running_again_changes_nothing)
{
  struct toy_lab lab;
  struct buf before = BUF_INIT, after = BUF_INIT, out = BUF_INIT;
  toy_lab_make(&lab, 2);
  char *path = toy_lab_path(&lab, "out");
  TOY_BUILD(&lab, 0, NULL, "--archives");
  file_walk(path, note_times, (void *[]){&before, path}, NULL);
  TOY_BUILD(&lab, 0, &out, "--archives");
  file_walk(path, note_times, (void *[]){&after, path}, NULL);
  cr_expect_gt(before.len, 1000);
  cr_expect_str_eq(buf_str(&before), buf_str(&after));
  expect_said(&out, "0 compiled now");
  buf_release(&before);
  buf_release(&after);
  buf_release(&out);
  free(path);
  toy_lab_remove(&lab);
}

Test(build, a_tree_is_compiled_once_however_many_have_it)
{
  struct toy_lab lab;
  struct buf out = BUF_INIT;
  toy_lab_make(&lab, 20);
  TOY_BUILD(&lab, 0, &out, "--stage", "lab");
  // start, reference and three bugs; every student's is the start's.
  expect_said(&out, "25 kernels, 5 compiled now, 0 do not compile");
  buf_release(&out);
  toy_lab_remove(&lab);
}

Test(build, kernels_are_those_that_a_fresh_make_of_the_branch_gives)
{
  struct toy_lab lab;
  struct buf bytes = BUF_INIT, fresh = BUF_INIT;
  toy_lab_make(&lab, 4);
  TOY_BUILD(&lab, 0, NULL, "-j", "1");
  for (int i = 1; i <= 4; i++) {
    char *key_path = xasprintf("%s/out/keys/s%d.json", lab.dir, i);
    char *clinic = xasprintf("%s/out/clinic/s%d", lab.dir, i);
    json_t *key = json_load_file(key_path, 0, NULL);
    json_t *branch = json_array_get(json_object_get(key, "clinic"), 1);
    const char *kernel = json_string_value(json_object_get(branch, "kernel"));
    cr_assert_not_null(kernel);
    char *path = xasprintf("%s/out/kernels/%s/kernel", lab.dir, kernel);
    cr_assert_eq(GIT(clinic, NULL, "checkout", "-q", "clinic-2"), 0);
    const char *make[] = {"make", "-s", "-C", clinic, NULL};
    struct child_spec spec = {.argv = make};
    struct child_result result = {0};
    cr_assert_eq(child_run(&spec, &result, NULL), 0);
    cr_assert_eq(result.status, 0);
    char *made = path_join(clinic, "kernel/kernel");
    cr_assert_eq(file_read(path, 1 << 20, &bytes, NULL), 0);
    cr_assert_eq(file_read(made, 1 << 20, &fresh, NULL), 0);
    cr_expect(bytes.len == fresh.len &&
                  memcmp(bytes.data, fresh.data, fresh.len) == 0,
              "s%d", i);
    child_result_release(&result);
    json_decref(key);
    free(key_path);
    free(clinic);
    free(path);
    free(made);
  }
  buf_release(&bytes);
  buf_release(&fresh);
  toy_lab_remove(&lab);
}

Test(build, a_kernel_that_does_not_compile_is_named_and_stops_nobody)
{
  struct toy_lab lab;
  struct buf out = BUF_INIT;
  toy_lab_make(&lab, 6);
  toy_lab_change(&lab, "bugs/times-four.yaml", "with: pick * 4",
                 "with: pick * four");
  TOY_BUILD(&lab, 1, &out, NULL);
  expect_said(&out, "clinic/times-four: the kernel does not compile");
  expect_said(&out, ", branch clinic-");
  expect_said(&out, "'four' undeclared");
  expect_said(&out, "13 repositories made");
  char *bad = toy_lab_path(&lab, "out/manifest.json");
  json_t *manifest = json_load_file(bad, 0, NULL);
  cr_expect_eq(json_array_size(json_object_get(manifest, "students")), 6);
  json_decref(manifest);
  free(bad);
  buf_release(&out);
  toy_lab_remove(&lab);
}

Test(build, nothing_is_written_when_the_lab_is_wrong)
{
  struct toy_lab lab;
  struct buf out = BUF_INIT;
  toy_lab_make(&lab, 2);
  toy_lab_change(&lab, "bugs/negated.yaml", "replace: return pick;",
                 "replace: return peck;");
  toy_lab_change(&lab, "bugs/times-four.yaml", "replace: pick * 3",
                 "replace: pick");
  TOY_BUILD(&lab, 2, &out, NULL);
  expect_said(&out,
              "bugs/negated.yaml:5:9: kernel/kalloc.c: the anchor "
              "\"return peck;\" is there 0 times");
  expect_said(&out,
              "bugs/times-four.yaml:5:9: kernel/kalloc.c: the anchor "
              "\"pick\" is there 4 times");
  char *path = toy_lab_path(&lab, "out");
  cr_expect_not(file_exists(path));
  free(path);
  buf_release(&out);
  toy_lab_remove(&lab);
}

Test(build, wrong_arguments_are_usage_errors)
{
  struct toy_lab lab;
  toy_lab_make(&lab, 1);
  cr_expect_eq(TOY_RUN(&lab, NULL, "build", "--stge", "lab"), 2);
  cr_expect_eq(TOY_RUN(&lab, NULL, "build", "--stage", "no"), 2);
  cr_expect_eq(TOY_RUN(&lab, NULL, "build", "-j", "0"), 2);
  cr_expect_eq(TOY_RUN(&lab, NULL, "build", "-c"), 2);
  cr_expect_eq(TOY_RUN(&lab, NULL, "build", "-c", "none.yaml"), 2);
  TOY_BUILD(&lab, 2, NULL, "-s", "s9");
  TOY_BUILD(&lab, 2, NULL, "x");
  toy_lab_remove(&lab);
}

// --- the clinic ------------------------------------------------------------

Test(clinic, it_is_not_written_before_its_release)
{
  struct toy_lab lab;
  struct buf out = BUF_INIT;
  toy_lab_make(&lab, 1);
  toy_lab_change(&lab, "lab.yaml", "2020-01-31", "2999-01-31");
  char *clinic = toy_lab_path(&lab, "out/clinic");
  TOY_BUILD(&lab, 1, &out, "--no-kernels", "--stage", "clinic");
  expect_said(&out, "after 2999-01-31 23:59:00 +00:00");
  TOY_BUILD(&lab, 0, &out, "--no-kernels");
  cr_expect_not(file_exists(clinic));
  buf_truncate(&out, 0);
  TOY_BUILD(&lab, 0, &out, "--no-kernels", "--stage", "clinic",
            "--release-now");
  expect_said(&out, "each holds a working solution but for one mistake");
  cr_expect(file_exists(clinic));
  free(clinic);
  buf_release(&out);
  toy_lab_remove(&lab);
}

Test(clinic, nothing_in_a_branch_names_its_bug)
{
  static const char *const words[] = {
      "minus-one", "negated",    "times-four", "Subtracts",
      "Negates",   "Takes four", "giveaway",   "reference's own words"};
  struct toy_lab lab;
  struct buf all = BUF_INIT;
  toy_lab_make(&lab, 8);
  TOY_BUILD(&lab, 0, NULL, "--no-kernels");
  for (int i = 1; i <= 8; i++) {
    char *clinic = xasprintf("%s/out/clinic/s%d", lab.dir, i);
    cr_assert_eq(
        GIT(clinic, &all, "cat-file", "--batch-all-objects", "--batch"), 0);
    free(clinic);
  }
  cr_expect_gt(all.len, 1000);
  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
    cr_expect_null(memmem(all.data, all.len, words[i], strlen(words[i])), "%s",
                   words[i]);
  buf_release(&all);
  toy_lab_remove(&lab);
}

// --- leaks -----------------------------------------------------------------

Test(leaks, a_lab_repository_holds_nothing_of_reference_bugs_or_neighbours)
{
  struct toy_lab lab;
  struct buf all = BUF_INIT, ids = BUF_INIT;
  toy_lab_make(&lab, 3);
  TOY_BUILD(&lab, 0, NULL, "--no-kernels");
  char *instructor = toy_lab_path(&lab, "out/instructor");
  // Every object that the start does not reach: solution and bugs.
  cr_assert_eq(
      GIT(instructor, &ids, "rev-list", "--objects", "--all", "--not", "start"),
      0);
  for (int i = 1; i <= 3; i++) {
    char *mine = xasprintf("%s/out/students/s%d", lab.dir, i);
    buf_truncate(&all, 0);
    cr_assert_eq(GIT(mine, &all, "cat-file", "--batch-all-objects", "--batch"),
                 0);
    for (const char *p = buf_str(&ids); *p; p += strcspn(p, "\n") + 1) {
      char hex[41];
      snprintf(hex, sizeof(hex), "%.40s", p);
      cr_expect_null(memmem(all.data, all.len, hex, 40), "object %s", hex);
    }
    static const char *const secrets[] = {"choose", "minus-one", "negated",
                                          "solution", "a secret for"};
    for (size_t k = 0; k < sizeof(secrets) / sizeof(secrets[0]); k++)
      cr_expect_null(memmem(all.data, all.len, secrets[k], strlen(secrets[k])),
                     "%s", secrets[k]);
    for (int other = 1; other <= 3; other++) {
      char id[16];
      snprintf(id, sizeof(id), "s%d", other);
      bool found = memmem(all.data, all.len, id, strlen(id)) != NULL;
      cr_expect_eq(found, other == i, "s%d in the trees of s%d", other, i);
    }
    free(mine);
  }
  buf_release(&all);
  buf_release(&ids);
  free(instructor);
  toy_lab_remove(&lab);
}

// --- work that is there already --------------------------------------------

Test(work, a_correction_comes_on_top_and_spares_what_somebody_worked_in)
{
  struct toy_lab lab;
  struct buf old = BUF_INIT, new = BUF_INIT, out = BUF_INIT;
  toy_lab_make(&lab, 2);
  TOY_BUILD(&lab, 0, NULL, "--no-kernels");
  char *s1 = toy_lab_path(&lab, "out/students/s1"),
       *s2 = toy_lab_path(&lab, "out/students/s2");
  char *work = path_join(s2, "kernel/kalloc.c");
  GIT(s1, &old, "rev-parse", "mine");
  cr_assert_eq(file_write(work, "int mine;\n", 10, 0644, NULL), 0);
  toy_lab_write(&lab, "fix/commit.yaml",
                "message: A correction\n"
                "edits: [{file: user/test.c, after: a test, insert: ed}]\n");
  toy_lab_change(&lab, "lab.yaml", "corrections: []", "corrections: [fix]");
  TOY_BUILD(&lab, 0, &out, "--no-kernels");
  expect_said(&out, "students/s2: left alone");
  GIT(s1, &new, "rev-parse", "mine^");
  cr_expect_str_eq(buf_str(&old), buf_str(&new));
  buf_truncate(&new, 0);
  cr_assert_eq(file_read(work, 100, &new, NULL), 0);
  cr_expect_str_eq(buf_str(&new), "int mine;\n");
  // Both starts are known for grading.
  char *key_path = toy_lab_path(&lab, "out/keys/s2.json");
  json_t *key = json_load_file(key_path, 0, NULL);
  json_t *starts = json_object_get(json_object_get(key, "lab"), "starts");
  cr_expect_eq(json_array_size(starts), 2);
  json_decref(key);
  free(key_path);
  free(s1);
  free(s2);
  free(work);
  buf_release(&old);
  buf_release(&new);
  buf_release(&out);
  toy_lab_remove(&lab);
}

Test(work, a_start_that_was_released_stays_known_when_the_base_changes)
{
  struct toy_lab lab;
  struct buf old = BUF_INIT;
  toy_lab_make(&lab, 1);
  TOY_BUILD(&lab, 0, NULL, "--no-kernels");
  char *s1 = toy_lab_path(&lab, "out/students/s1");
  GIT(s1, &old, "rev-parse", "mine");
  toy_lab_write(&lab, "base/README", "new in the base\n");
  TOY_BUILD(&lab, 0, NULL, "--no-kernels");
  char *key_path = toy_lab_path(&lab, "out/keys/s1.json");
  json_t *key = json_load_file(key_path, 0, NULL);
  json_t *starts = json_object_get(json_object_get(key, "lab"), "starts");
  cr_assert_eq(json_array_size(starts), 2);
  cr_expect_eq(
      strncmp(json_string_value(json_array_get(starts, 0)), buf_str(&old), 40),
      0);
  json_decref(key);
  free(key_path);
  free(s1);
  buf_release(&old);
  toy_lab_remove(&lab);
}

// --- what can happen to a run ----------------------------------------------

// Starts a build and kills it after some microseconds.
static void build_and_kill(const struct toy_lab *lab, useconds_t after)
{
  char *program = realpath(LABGEN_BUILD "/labgen", NULL);
  const char *argv[] = {program, "build",  "-c", "lab.yaml",
                        "-o",    "killed", NULL};
  struct child_spec spec = {.argv = argv, .dir = lab->dir};
  struct child *child;
  cr_assert_eq(child_start(&spec, &child, NULL), 0);
  usleep(after);
  child_release(child);  // SIGKILL, and waits
  free(program);
}

Test(interrupted, a_run_that_is_killed_anywhere_is_repaired_by_the_next)
{
  struct toy_lab lab;
  struct timespec start, end;
  toy_lab_make(&lab, 4);
  clock_gettime(CLOCK_MONOTONIC, &start);
  TOY_BUILD(&lab, 0, NULL, "-o", "whole");
  clock_gettime(CLOCK_MONOTONIC, &end);
  long whole_us = (end.tv_sec - start.tv_sec) * 1000000 +
                  (end.tv_nsec - start.tv_nsec) / 1000;
  static const char *const folders[] = {"students",   "clinic",  "keys",
                                        "instructor", "kernels", NULL};
  char *killed = toy_lab_path(&lab, "killed");
  for (int i = 0; i < 12; i++) {
    // Spread over the run's length; three kills of the same folder in turn.
    build_and_kill(&lab, (useconds_t)(whole_us * (i * 5 % 12 + 1) / 13));
    if (i % 3 != 2)
      continue;
    TOY_BUILD(&lab, 0, NULL, "-o", "killed");
    toy_lab_expect_same(&lab, "whole", "killed", folders);
    cr_assert_eq(file_remove_tree(killed, NULL), 0);
  }
  free(killed);
  toy_lab_remove(&lab);
}

Test(interrupted, two_runs_on_one_folder_do_not_mix)
{
  struct toy_lab lab;
  struct buf out = BUF_INIT;
  toy_lab_make(&lab, 1);
  toy_lab_write(&lab, "out/.lock", "");
  char *lock = toy_lab_path(&lab, "out/.lock");
  const char *holder[] = {"flock", lock, "sleep", "60", NULL};
  struct child_spec spec = {.argv = holder};
  struct child *child;
  cr_assert_eq(child_start(&spec, &child, NULL), 0);
  usleep(300000);
  TOY_BUILD(&lab, 1, &out, NULL);
  expect_said(&out, "another labgen is at work");
  child_release(child);
  free(lock);
  buf_release(&out);
  toy_lab_remove(&lab);
}

Test(interrupted, a_full_disk_is_a_fault_of_the_host_and_harms_nothing_made)
{
  struct toy_lab lab;
  struct buf out = BUF_INIT;
  toy_lab_make(&lab, 30);
  char *program = realpath(LABGEN_BUILD "/labgen", NULL);
  char *small = toy_lab_path(&lab, "small");
  cr_assert_eq(file_mkdirs(small, NULL), 0);
  // Room for some of the thirty students. The build twice, then what there is.
  char *script = xasprintf(
      "cd %s; %s build -c lab.yaml --no-kernels -o small/out\n"
      "echo status $?\n"
      "for r in small/out/students/* small/out/clinic/*; do\n"
      "  git -C $r -c safe.directory='*' fsck --strict >/dev/null 2>&1 ||\n"
      "    echo broken $r\n"
      "done\n"
      "echo students: $(ls small/out/students | wc -l)\n",
      lab.dir, program);
  const char *argv[] = {"bwrap", "--bind",  "/",      "/",      "--dev-bind",
                        "/dev",  "/dev",    "--size", "600000", "--tmpfs",
                        small,   "/bin/sh", "-c",     script,   NULL};
  struct child_spec spec = {.argv = argv, .merge_stderr = true};
  struct child_result result = {0};
  cr_assert_eq(child_run(&spec, &result, NULL), 0);
  expect_said(&result.out, "status 3");
  expect_said(&result.out, "No space left on device");
  cr_expect_null(strstr(buf_str(&result.out), "broken"), "%s",
                 buf_str(&result.out));
  // Those that fitted are there, and some did not fit.
  const char *count = strstr(buf_str(&result.out), "students: ");
  cr_assert_not_null(count);
  int students = atoi(count + strlen("students: "));
  cr_expect(students > 0 && students < 30, "%d", students);
  child_result_release(&result);
  free(script);
  free(small);
  free(program);
  buf_release(&out);
  toy_lab_remove(&lab);
}
