// Benchmark of labgen grade, on the lab that ships:
//   boot      the grader's full boot against bare QEMU that gets the same
//             commands, in turns
//   grading   all of the grading of the reference against that bare boot
//   build     CPU time of building one submission, without the sandbox, which
//             hides from its parent what ran in it
//   again     a submission that is unchanged since it was graded
//   memory    the largest process for 1,000 submissions, and for the reports
//             on 1,000 students with evidence and pictures
//   jobs      four submissions at -j 2, against what two boots at once take here
// Wall clocks are noisy on a busy machine; each figure is a ratio of runs here
// and now where that can be. Exit status 1 when a promise is not kept.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/grade.h"
#include "graders/kernel.h"
#include "graders/record.h"
#include "graders/script.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"
#include "tests/lib-bench.h"

#define CACHE "build/grade-cache"

enum { TURNS = 2, BUILDS = 5, SAME = 50, CLASS = 1000, JOBS_OF = 4 };
// The guard of boots that make no progress; only in order here.
enum { START_CPU_S = 60 };

static struct course course;
static struct rubric rubric;
static struct stock stock, bare_stock;  // the second without a sandbox
static char *graded;  // a results folder with the student s0000, owned

static void check(int rc, const char *what, const struct error *err)
{
  if (rc)
    bench_die(what, err->message ? err->message : "failed");
}

// The reference with a line that no other has, so that nothing is in the cache.
static void make_work(const char *path)
{
  static int number;
  struct error err = {0};
  struct buf text = BUF_INIT;
  char *file = path_join(path, STUDENT_FILE);
  check(tree_write(course_reference(&course), path, &err), path, &err);
  check(file_read(file, 1 << 20, &text, &err), file, &err);
  buf_addf(&text, "// %s %d\n", bench_dir, number++);
  check(file_write(file, buf_str(&text), text.len, 0644, &err), file, &err);
  buf_release(&text);
  free(file);
}

// --- the full boot and the whole grading ------------------------------------

struct cost {
  double wall_s, cpu_s;
};

static void add(struct cost *sum, double wall_s, double cpu_s)
{
  sum->wall_s += wall_s;
  sum->cpu_s += cpu_s;
}

// What the grader types into the plain kernel.
static const struct script *script_of(enum effort effort)
{
  static struct script made[EFFORT_FULL + 1];
  struct error err = {0};
  if (made[effort].count == 0)
    check(script_make(&rubric.programs, effort, false, &made[effort], &err),
          "script", &err);
  return &made[effort];
}

static struct boot *start_bare(const char *kernel, enum effort effort)
{
  const struct script *script = script_of(effort);
  struct boot_spec spec = {
      .kernel = kernel, .steps = script->steps, .step_count = script->count};
  return boot_start(&spec);
}

static struct cost end_bare(struct boot *boot)
{
  if (boot_verdict(boot) != BOOT_COMPLETED)
    bench_die("bare QEMU", boot_detail(boot));
  const struct child_result *r = child_result_of(boot_child(boot));
  struct cost c = {(double)r->wall_ms / 1e3,
                   (double)(r->user_us + r->system_us) / 1e6};
  boot_release(boot);
  return c;
}

static struct cost boot_bare(const char *kernel, enum effort effort)
{
  struct error err = {0};
  struct boot *boot = start_bare(kernel, effort);
  while (!boot_ended(boot))
    check(boots_poll(&boot, 1, 0, &err), "bare QEMU", &err);
  return end_bare(boot);
}

// Grades one new submission in full; what its plain boot took goes to
// *ret_boot.
static double grade_one(struct cost *ret_boot)
{
  struct error err = {0};
  struct intake in = {0};
  char *work = path_join(bench_dir, "one/s0000");
  char *scratch = path_join(bench_dir, "scratch");
  char *folder = path_join(graded, "s0000");
  const char *paths[] = {work};
  struct intake_spec spec = {.paths = paths,
                             .path_count = 1,
                             .roster = &course.roster,
                             .files = course.lab.submission.files,
                             .scratch = scratch};
  file_remove_tree(folder, NULL);
  file_remove_tree(work, NULL);
  make_work(work);
  check(file_mkdirs(scratch, &err), scratch, &err);
  check(intake_scan(&spec, &in, &err), work, &err);
  struct grader g = {.course = &course,
                     .rubric = &rubric,
                     .stock = &stock,
                     .intake = &in,
                     .results = graded,
                     .tool = "",
                     .effort = EFFORT_FULL,
                     .plain = true,
                     .watched = true,
                     .explore = true,
                     .plain_cpu_s = START_CPU_S,
                     .watched_cpu_s = START_CPU_S};
  int64_t begin_ms = clock_ms();
  if (grade_submission(&g, &in.claims[0], folder, scratch, &err) != GRADE_DONE)
    bench_die("grading", err.message);
  double all_s = (double)(clock_ms() - begin_ms) / 1e3;
  char *path = path_join(folder, "evidence.json");
  json_t *evidence = record_read(path);
  const json_t *plain = json_object_get(evidence, "plain");
  if (strcmp(record_text(plain, "verdict"),
             boot_verdict_words(BOOT_COMPLETED)) != 0)
    bench_die("the graded boot", record_text(plain, "verdict"));
  ret_boot->wall_s = (double)record_number(plain, "wall_ms") / 1e3;
  ret_boot->cpu_s = json_real_value(json_object_get(plain, "cpu_s"));
  json_decref(evidence);
  intake_release(&in);
  free(path);
  free(work);
  free(scratch);
  free(folder);
  return all_s;
}

static void bench_boot(const char *kernel)
{
  struct cost bare = {0}, boot = {0};
  double all_s = 0;
  for (int i = 0; i < 2 * TURNS; i++) {
    // Bare, graded, graded, bare, ...
    if ((i + i / 2) % 2 == 0) {
      struct cost c = boot_bare(kernel, EFFORT_FULL);
      add(&bare, c.wall_s, c.cpu_s);
    } else {
      struct cost b;
      all_s += grade_one(&b);
      add(&boot, b.wall_s, b.cpu_s);
    }
  }
  printf(
      "full boot: bare QEMU %.1f s (CPU %.1f), graded %.1f s (CPU %.1f); "
      "all of the grading %.1f s\n",
      bare.wall_s / TURNS, bare.cpu_s / TURNS, boot.wall_s / TURNS,
      boot.cpu_s / TURNS, all_s / TURNS);
  bench_promise(boot.wall_s <= 1.10 * bare.wall_s,
                "full boot: %.3f times the wall time of bare QEMU (at most "
                "1.10)",
                boot.wall_s / bare.wall_s);
  bench_promise(boot.cpu_s <= 1.10 * bare.cpu_s,
                "full boot: %.3f times its CPU time (at most 1.10)",
                boot.cpu_s / bare.cpu_s);
  bench_promise(all_s <= 1.35 * bare.wall_s,
                "whole grading: %.3f times its wall time (at most 1.35)",
                all_s / bare.wall_s);
}

// --- building ---------------------------------------------------------------

static void bench_build(void)
{
  struct error err = {0};
  double cpu_s = 0;
  char *work = path_join(bench_dir, "build");
  for (int i = 0; i < BUILDS; i++) {
    struct tree tree = {0};
    struct kernel_pair pair = {0};
    file_remove_tree(work, NULL);
    make_work(work);
    check(tree_add_folder(&tree, work, "", &err), work, &err);
    double before = bench_cpu_s();
    check(kernel_pair_build(&bare_stock, &tree, &pair, &err), "building", &err);
    cpu_s += bench_cpu_s() - before;
    file_remove_tree(pair.dir, NULL);
    kernel_pair_release(&pair);
    tree_release(&tree);
  }
  bench_promise(cpu_s / BUILDS <= 0.5,
                "build: %.2f CPU seconds a submission (at most 0.5)",
                cpu_s / BUILDS);
  free(work);
}

// --- many submissions -------------------------------------------------------

// Runs labgen grade on the folder `work`; more options end with NULL.
static struct bench_cost grade(const char *work, const char *const *options)
{
  struct argv argv = {0};
  char *program = realpath(LABGEN_BUILD "/labgen", NULL);
  char *results = xasprintf("%s-results", work);
  const char *first[] = {program, "grade",   "-c",        "lab.yaml", "-o",
                         results, "--cache", stock.cache, NULL};
  argv_add_all(&argv, first);
  argv_add_all(&argv, options);
  argv_add(&argv, work);
  struct bench_cost c = bench_run(argv_list(&argv), 1);
  argv_release(&argv);
  free(program);
  free(results);
  return c;
}
#define GRADE(work, ...) grade(work, (const char *const[]){__VA_ARGS__, NULL})

static void make_many(const char *folder, int count, bool good)
{
  for (int i = 0; i < count; i++) {
    char *name = xasprintf("%s/%s/s%04d", bench_dir, folder, i);
    char *text = path_join(name, "README");
    struct error err = {0};
    if (good) {
      check(tree_write(course_reference(&course), name, &err), name, &err);
    } else {
      check(file_mkdirs(name, &err), name, &err);
      check(file_write(text, "mine\n", 5, 0644, &err), text, &err);
    }
    free(name);
    free(text);
  }
}

static void bench_again(void)
{
  make_many("same", SAME, true);
  struct bench_cost first = GRADE("same", "--only", "object");
  struct bench_cost all = GRADE("same", "--only", "object");
  struct bench_cost one = GRADE("same", "--only", "object", "-s", "s0000");
  double each_ms = (all.wall_s - one.wall_s) / (SAME - 1) * 1e3;
  printf("again: %d unchanged in %.2f s, one in %.2f s; at first %.2f s\n",
         SAME, all.wall_s, one.wall_s, first.wall_s);
  bench_promise(each_ms < 50,
                "again: %.1f ms for one that is unchanged "
                "(under 50)",
                each_ms);
}

static void bench_memory(void)
{
  char *tool = realpath(LABGEN_BUILD "/tool-class", NULL);
  char *data = realpath(".", NULL);
  char *script = xasprintf("cd %s && exec %s %s %s/class %d", data, tool,
                           graded, bench_dir, CLASS);
  const char *reports[] = {"sh", "-c", script, NULL};
  make_many("refused", CLASS, false);
  struct bench_cost first = GRADE("refused", "--only", "object");
  struct bench_cost then = GRADE("refused", "--only", "object");
  struct bench_cost class = bench_run(reports, 0);
  printf(
      "memory: %d submissions without their file, %.1f s and %ld KiB, "
      "the second time %.1f s and %ld KiB\n",
      CLASS, first.wall_s, first.resident_kib, then.wall_s, then.resident_kib);
  bench_promise(first.resident_kib < 65536 && then.resident_kib < 65536,
                "memory: %.0f KiB at most for 1,000 submissions (under 65536)",
                (double)first.resident_kib);
  bench_promise(class.resident_kib < 65536,
                "memory: %.0f KiB for the reports on 1,000 (under 65536)",
                (double)class.resident_kib);
  free(tool);
  free(data);
  free(script);
}

// How much more is done by two boots at once than by one.
static double parallel_gain(const char *kernel)
{
  struct error err = {0};
  double one_s = boot_bare(kernel, EFFORT_TESTS).wall_s;
  struct boot *two[] = {start_bare(kernel, EFFORT_TESTS),
                        start_bare(kernel, EFFORT_TESTS)};
  int64_t begin_ms = clock_ms();
  while (!boot_ended(two[0]) || !boot_ended(two[1]))
    check(boots_poll(two, 2, 0, &err), "bare QEMU", &err);
  double two_s = (double)(clock_ms() - begin_ms) / 1e3;
  end_bare(two[0]);
  end_bare(two[1]);
  return 2 * one_s / two_s;
}

static void bench_jobs(const char *kernel)
{
  for (int i = 0; i < JOBS_OF; i++) {
    char *name = xasprintf("%s/jobs/s%04d", bench_dir, i);
    make_work(name);
    free(name);
  }
  double gain = parallel_gain(kernel);
  // What all have in common, so that runs differ by the submissions alone.
  GRADE("jobs", "--effort", "tests", "-j", "1", "-s", "s0000");
  double one_s =
      GRADE("jobs", "--effort", "tests", "--again", "-j", "1", "-s", "s0000")
          .wall_s;
  double serial_s =
      GRADE("jobs", "--effort", "tests", "--again", "-j", "1").wall_s;
  double both_s =
      GRADE("jobs", "--effort", "tests", "--again", "-j", "2").wall_s;
  double each_s = (serial_s - one_s) / (JOBS_OF - 1);
  double expected_s = one_s - each_s + JOBS_OF * each_s / gain;
  printf(
      "jobs: one %.1f s, %d one by one %.1f s, at -j 2 %.1f s; two bare "
      "boots at once do %.2f times as much\n",
      one_s, JOBS_OF, serial_s, both_s, gain);
  bench_promise(both_s <= 1.10 * expected_s,
                "jobs: %.2f times what the host's gain lets expect (at most "
                "1.10)",
                both_s / expected_s);
}

int main(void)
{
  struct error err = {0};
  struct kernel_pair pair = {0};
  bench_begin("bench-grade-");
  bench_lab("lab.yaml", CLASS);
  char *lab = path_join(bench_dir, "lab.yaml");
  graded = path_join(bench_dir, "graded");
  check(course_load(lab, false, &course, &err), lab, &err);
  check(rubric_read(course.lab.rubric, &course.arena, &rubric, &err), lab,
        &err);
  check(stock_open(CACHE, course_start(&course), true, &stock, &err), CACHE,
        &err);
  check(stock_open(CACHE, course_start(&course), false, &bare_stock, &err),
        CACHE, &err);
  check(kernel_pair_build(&stock, course_reference(&course), &pair, &err),
        "the reference", &err);
  bench_build();
  bench_again();
  bench_boot(pair.plain);
  bench_memory();
  bench_jobs(pair.plain);
  kernel_pair_release(&pair);
  stock_close(&stock);
  stock_close(&bare_stock);
  course_release(&course);
  free(lab);
  free(graded);
  return bench_end();
}
