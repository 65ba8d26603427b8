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

static bool has(const struct buf *b, const char *text)
{
  return strstr(buf_str(b), text) != NULL;
}

static char *in_lab(const struct toy_lab *lab, const char *name)
{
  return path_join(lab->dir, name);
}

Test(build, one_command_makes_everything_and_says_what_comes_next)
{
  static const char *const made[] = {
      "out/manifest.json", "out/keys/s1.json", "out/students/s2/LAB.md",
      "out/clinic/s2/answers.yaml", "out/instructor/kernel/kalloc.c"};
  struct toy_lab lab;
  struct buf out = BUF_INIT;
  toy_lab_make(&lab, 2);
  cr_assert_eq(TOY_RUN(&lab, &out, "build", "-c", "lab.yaml"), 0, "%s",
               buf_str(&out));
  for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
    char *path = in_lab(&lab, made[i]);
    cr_expect(file_exists(path), "%s", made[i]);
    free(path);
  }
  cr_expect(has(&out, "5 repositories made"), "%s", buf_str(&out));
  cr_expect(has(&out, "labgen grade -c lab.yaml"), "%s", buf_str(&out));
  buf_release(&out);
  toy_lab_remove(&lab);
}

Test(build, repositories_are_sound_and_hold_the_branches)
{
  struct toy_lab lab;
  struct buf out = BUF_INIT;
  toy_lab_make(&lab, 1);
  cr_assert_eq(TOY_RUN(&lab, &out, "build", "-c", "lab.yaml", "--no-kernels"),
               0);
  static const char *const repos[][2] = {
      {"out/students/s1", "mine\n"},
      {"out/clinic/s1", "clinic-1\nclinic-2\n"},
      {"out/instructor",
       "base\nclinic/minus-one\nclinic/negated\n"
       "clinic/times-four\nreference\nstart\n"}};
  for (size_t i = 0; i < 3; i++) {
    char *path = in_lab(&lab, repos[i][0]);
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
  cr_assert_eq(TOY_RUN(&lab, &out, "build", "-c", "lab.yaml", "--no-kernels"),
               0);
  char *mine = in_lab(&lab, "out/students/s1");
  char *clinic = in_lab(&lab, "out/clinic/s1");
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
  struct tree one = {0}, other = {0};
  toy_lab_make(&lab, 3);
  cr_assert_eq(TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "-j", "1", "-o",
                       "a", "--archives"),
               0);
  toy_lab_write(&lab, "roster.csv",
                "id,name\ns3,Student 3\ns1,Student 1\ns2,Student 2\n");
  cr_assert_eq(TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "-j", "3", "-o",
                       "b", "--archives", "-s", "s2"),
               0);
  cr_assert_eq(TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "-j", "3", "-o",
                       "b", "--archives"),
               0);
  static const char *const folders[] = {"students",   "clinic",  "keys",
                                        "instructor", "kernels", "archives"};
  for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
    char *a = xasprintf("a/%s", folders[i]), *b = xasprintf("b/%s", folders[i]);
    read_all(&lab, a, &one);
    read_all(&lab, b, &other);
    cr_expect_gt(one.count, 0);
    cr_expect(tree_equal(&one, &other), "%s", folders[i]);
    tree_release(&one);
    tree_release(&other);
    free(a);
    free(b);
  }
  toy_lab_remove(&lab);
}

Test(build, a_changed_line_of_the_roster_changes_that_students_trees_alone)
{
  struct toy_lab lab;
  struct tree one = {0}, other = {0};
  toy_lab_make(&lab, 3);
  cr_assert_eq(
      TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "--no-kernels", "-o", "a"),
      0);
  toy_lab_change(&lab, "roster.csv", "s2,Student 2", "zoe,Zoe");
  cr_assert_eq(
      TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "--no-kernels", "-o", "b"),
      0);
  static const char *const same[] = {"students/s1", "students/s3", "clinic/s1",
                                     "clinic/s3", "instructor"};
  for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
    char *a = xasprintf("a/%s", same[i]), *b = xasprintf("b/%s", same[i]);
    read_all(&lab, a, &one);
    read_all(&lab, b, &other);
    cr_expect(tree_equal(&one, &other), "%s", same[i]);
    tree_release(&one);
    tree_release(&other);
    free(a);
    free(b);
  }
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
  char *path = in_lab(&lab, "out");
  cr_assert_eq(TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "--archives"), 0);
  file_walk(path, note_times, (void *[]){&before, path}, NULL);
  cr_assert_eq(TOY_RUN(&lab, &out, "build", "-c", "lab.yaml", "--archives"), 0);
  file_walk(path, note_times, (void *[]){&after, path}, NULL);
  cr_expect_gt(before.len, 1000);
  cr_expect_str_eq(buf_str(&before), buf_str(&after));
  cr_expect(has(&out, "0 compiled now"), "%s", buf_str(&out));
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
  cr_assert_eq(TOY_RUN(&lab, &out, "build", "-c", "lab.yaml", "--stage", "lab"),
               0);
  // start, reference and three bugs; every student's is the start's.
  cr_expect(has(&out, "25 kernels, 5 compiled now, 0 do not compile"), "%s",
            buf_str(&out));
  buf_release(&out);
  toy_lab_remove(&lab);
}

Test(build, kernels_are_those_that_a_fresh_make_of_the_branch_gives)
{
  struct toy_lab lab;
  struct buf bytes = BUF_INIT, fresh = BUF_INIT;
  toy_lab_make(&lab, 4);
  cr_assert_eq(TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "-j", "1"), 0);
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
  cr_assert_eq(TOY_RUN(&lab, &out, "build", "-c", "lab.yaml"), 1);
  cr_expect(has(&out, "clinic/times-four: the kernel does not compile"), "%s",
            buf_str(&out));
  cr_expect(has(&out, ", branch clinic-"), "%s", buf_str(&out));
  cr_expect(has(&out, "'four' undeclared"), "%s", buf_str(&out));
  cr_expect(has(&out, "13 repositories made"), "%s", buf_str(&out));
  char *bad = in_lab(&lab, "out/manifest.json");
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
  cr_expect_eq(TOY_RUN(&lab, &out, "build", "-c", "lab.yaml"), 2);
  cr_expect(has(&out,
                "bugs/negated.yaml:5:9: kernel/kalloc.c: the anchor "
                "\"return peck;\" is there 0 times"),
            "%s", buf_str(&out));
  cr_expect(has(&out,
                "bugs/times-four.yaml:5:9: kernel/kalloc.c: the anchor "
                "\"pick\" is there 4 times"),
            "%s", buf_str(&out));
  char *path = in_lab(&lab, "out");
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
  cr_expect_eq(TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "-s", "s9"), 2);
  cr_expect_eq(TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "x"), 2);
  toy_lab_remove(&lab);
}

// --- the clinic ------------------------------------------------------------

Test(clinic, it_is_not_written_before_its_release)
{
  struct toy_lab lab;
  struct buf out = BUF_INIT;
  toy_lab_make(&lab, 1);
  toy_lab_change(&lab, "lab.yaml", "2020-01-31", "2999-01-31");
  char *clinic = in_lab(&lab, "out/clinic");
  cr_expect_eq(TOY_RUN(&lab, &out, "build", "-c", "lab.yaml", "--no-kernels",
                       "--stage", "clinic"),
               1);
  cr_expect(has(&out, "after 2999-01-31 23:59:00 +00:00"), "%s", buf_str(&out));
  cr_expect_eq(TOY_RUN(&lab, &out, "build", "-c", "lab.yaml", "--no-kernels"),
               0);
  cr_expect_not(file_exists(clinic));
  buf_truncate(&out, 0);
  cr_expect_eq(TOY_RUN(&lab, &out, "build", "-c", "lab.yaml", "--no-kernels",
                       "--stage", "clinic", "--release-now"),
               0);
  cr_expect(has(&out, "each holds a working solution but for one mistake"),
            "%s", buf_str(&out));
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
  cr_assert_eq(TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "--no-kernels"),
               0);
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
  cr_assert_eq(TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "--no-kernels"),
               0);
  char *instructor = in_lab(&lab, "out/instructor");
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
  cr_assert_eq(TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "--no-kernels"),
               0);
  char *s1 = in_lab(&lab, "out/students/s1"),
       *s2 = in_lab(&lab, "out/students/s2");
  char *work = path_join(s2, "kernel/kalloc.c");
  GIT(s1, &old, "rev-parse", "mine");
  cr_assert_eq(file_write(work, "int mine;\n", 10, 0644, NULL), 0);
  toy_lab_write(&lab, "fix/commit.yaml",
                "message: A correction\n"
                "edits: [{file: user/test.c, after: a test, insert: ed}]\n");
  toy_lab_change(&lab, "lab.yaml", "corrections: []", "corrections: [fix]");
  cr_assert_eq(TOY_RUN(&lab, &out, "build", "-c", "lab.yaml", "--no-kernels"),
               0);
  cr_expect(has(&out, "students/s2: left alone"), "%s", buf_str(&out));
  GIT(s1, &new, "rev-parse", "mine^");
  cr_expect_str_eq(buf_str(&old), buf_str(&new));
  buf_truncate(&new, 0);
  cr_assert_eq(file_read(work, 100, &new, NULL), 0);
  cr_expect_str_eq(buf_str(&new), "int mine;\n");
  // Both starts are known for grading.
  char *key_path = in_lab(&lab, "out/keys/s2.json");
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
  cr_assert_eq(TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "--no-kernels"),
               0);
  char *s1 = in_lab(&lab, "out/students/s1");
  GIT(s1, &old, "rev-parse", "mine");
  toy_lab_write(&lab, "base/README", "new in the base\n");
  cr_assert_eq(TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "--no-kernels"),
               0);
  char *key_path = in_lab(&lab, "out/keys/s1.json");
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
  struct tree want = {0}, got = {0};
  struct timespec start, end;
  toy_lab_make(&lab, 4);
  clock_gettime(CLOCK_MONOTONIC, &start);
  cr_assert_eq(TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "-o", "whole"),
               0);
  clock_gettime(CLOCK_MONOTONIC, &end);
  long whole_us = (end.tv_sec - start.tv_sec) * 1000000 +
                  (end.tv_nsec - start.tv_nsec) / 1000;
  static const char *const folders[] = {"students", "clinic", "keys",
                                        "instructor", "kernels"};
  char *killed = in_lab(&lab, "killed");
  for (int i = 0; i < 12; i++) {
    // Spread over the run's length; three kills of the same folder in turn.
    build_and_kill(&lab, (useconds_t)(whole_us * (i * 5 % 12 + 1) / 13));
    if (i % 3 != 2)
      continue;
    cr_assert_eq(TOY_RUN(&lab, NULL, "build", "-c", "lab.yaml", "-o", "killed"),
                 0);
    for (size_t k = 0; k < sizeof(folders) / sizeof(folders[0]); k++) {
      char *a = xasprintf("whole/%s", folders[k]);
      char *b = xasprintf("killed/%s", folders[k]);
      read_all(&lab, a, &want);
      read_all(&lab, b, &got);
      cr_expect(tree_equal(&want, &got), "%s after %d kills", folders[k],
                i + 1);
      tree_release(&want);
      tree_release(&got);
      free(a);
      free(b);
    }
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
  char *lock = in_lab(&lab, "out/.lock");
  const char *holder[] = {"flock", lock, "sleep", "60", NULL};
  struct child_spec spec = {.argv = holder};
  struct child *child;
  cr_assert_eq(child_start(&spec, &child, NULL), 0);
  usleep(300000);
  cr_expect_eq(TOY_RUN(&lab, &out, "build", "-c", "lab.yaml"), 1);
  cr_expect(has(&out, "another labgen is at work"), "%s", buf_str(&out));
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
  char *small = in_lab(&lab, "small");
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
  cr_expect(has(&result.out, "status 3"), "%s", buf_str(&result.out));
  cr_expect(has(&result.out, "No space left on device"), "%s",
            buf_str(&result.out));
  cr_expect_not(has(&result.out, "broken"), "%s", buf_str(&result.out));
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
