// Benchmark of labgen build, on the lab that ships and a roster of its own:
//   trees     lab repositories for 1,000 students against a script of git
//             commands that makes the same repositories
//   kernels   clinic kernels against make in a built tree, once a variant
//   memory    the largest resident set for 10 and for 1,000 students
//   size      of a repository beside its working tree
// Wall clocks are noisy on a busy machine; each figure is a ratio of two runs
// here and now, and CPU time stands beside it. Exit status 1 when one of the
// promises is not kept. Arguments name the parts to run: trees, kernels.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"
#include "tests/lib-bench.h"

#define STUDENTS 1000
#define BY_SCRIPT 10  // students that the script makes
#define CLINIC_STUDENTS 3
#define ONE_BY_ONE 6  // variants that make compiles alone

static struct bench_cost build(const char *lab, const char *out,
                               const char *stage, bool kernels)
{
  char *program = realpath(LABGEN_BUILD "/labgen", NULL);
  const char *argv[] = {program,   "build", "-c",
                        lab,       "-o",    out,
                        "--stage", stage,   kernels ? "-j2" : "--no-kernels",
                        NULL};
  struct bench_cost cost = bench_run(argv, 0);
  free(program);
  return cost;
}

// The same repositories by git: three commits, one pack, packed refs, no
// reflogs and no samples. Trees lie ready in t0, t1 and t2.
static struct bench_cost by_script(void)
{
  char *script = xasprintf(
      "set -e\n"
      "export GIT_AUTHOR_NAME=S GIT_AUTHOR_EMAIL=s@example.org\n"
      "export GIT_COMMITTER_NAME=S GIT_COMMITTER_EMAIL=s@example.org\n"
      "for i in $(seq %d); do\n"
      "  git init -q -b mine script/$i\n"
      "  for t in t0 t1 t2; do\n"
      "    cp -R $t/. script/$i/\n"
      "    git -C script/$i add -A\n"
      "    git -C script/$i commit -q -m $t\n"
      "  done\n"
      "  git -C script/$i repack -q -a -d\n"
      "  git -C script/$i pack-refs --all\n"
      "  rm -rf script/$i/.git/hooks script/$i/.git/logs\n"
      "done\n",
      BY_SCRIPT);
  bench_write("script.sh", script);
  const char *prepare[] = {
      "sh", "-ec",
      "for n in 2 1 0; do git clone -q lab-one/students/s0000 c$n\n"
      "(cd c$n && git checkout -q HEAD~$((2 - n)))\n"
      "mkdir t$n && cp -R c$n/. t$n/ && rm -rf t$n/.git c$n; done",
      NULL};
  const char *argv[] = {"sh", "script.sh", NULL};
  bench_run(prepare, 0);
  struct bench_cost cost = bench_run(argv, 0);
  free(script);
  return cost;
}

static int add_size(void *arg, const char *path, struct error *err)
{
  struct stat st;
  char *full = xasprintf("%s/lab-one/students/s0000/.git/%s", bench_dir, path);
  (void)err;
  if (stat(full, &st) == 0)
    *(double *)arg += (double)st.st_size / 1024;
  free(full);
  return 0;
}

static void bench_size(void)
{
  double kib = 0;
  char *path = path_join(bench_dir, "lab-one/students/s0000/.git");
  if (file_walk(path, add_size, &kib, NULL))
    bench_die(path, "failed");
  bench_promise(kib <= 200,
                "size: %.0f KiB beside the working tree (at most 200)", kib);
  free(path);
}

static void bench_trees(void)
{
  bench_lab("one.yaml", 10);
  bench_lab("many.yaml", STUDENTS);
  struct bench_cost few = build("one.yaml", "lab-one", "lab", false);
  struct bench_cost many = build("many.yaml", "lab-many", "lab", false);
  struct bench_cost script = by_script();
  double per_build = many.wall_s / STUDENTS * 1000;
  double per_script = script.wall_s / BY_SCRIPT * 1000;
  printf(
      "trees: labgen %.2f ms a student (CPU %.2f), git commands %.1f (CPU "
      "%.1f)\n",
      per_build, many.cpu_s / STUDENTS * 1000, per_script,
      script.cpu_s / BY_SCRIPT * 1000);
  bench_promise(per_script >= 10 * per_build,
                "trees: %.1f times faster than git commands (at least 10)",
                per_script / per_build);
  bench_promise(
      many.resident_kib - few.resident_kib < 8192,
      "memory: 1,000 students take %.0f KiB more than 10 (under 8192)",
      (double)(many.resident_kib - few.resident_kib));
  bench_size();
}

static void bench_kernels(void)
{
  // The instructor's kernels first, so that the clinic's are what is measured.
  bench_lab("clinic.yaml", CLINIC_STUDENTS);
  build("clinic.yaml", "clinic", "lab", true);
  struct bench_cost all = build("clinic.yaml", "clinic", "clinic", true);
  char *script = xasprintf(
      "git clone -q -b clinic-1 clinic/clinic/s0000 w && cd w && make -s "
      "kernel/kernel && cd .. && : > alone.sh && for i in $(seq %d); do echo "
      "'touch w/kernel/kalloc.c && make -s -C w kernel/kernel' >> alone.sh; "
      "done",
      ONE_BY_ONE);
  const char *prepare[] = {"sh", "-ec", script, NULL};
  const char *argv[] = {"sh", "-e", "alone.sh", NULL};
  bench_run(prepare, 0);
  struct bench_cost alone = bench_run(argv, 0);
  double variants = 3 * CLINIC_STUDENTS;
  double each = alone.cpu_s / ONE_BY_ONE;
  printf(
      "kernels: %.0f variants, CPU %.3f s each with all around it, make "
      "alone %.3f s; wall %.2f s\n",
      variants, all.cpu_s / variants, each, all.wall_s);
  bench_promise(all.cpu_s <= 1.10 * variants * each,
                "kernels: %.2f times the CPU time of make alone (at most 1.10)",
                all.cpu_s / variants / each);
  free(script);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*run)(void);
  } parts[] = {{"trees", bench_trees}, {"kernels", bench_kernels}};
  bench_begin("bench-build-");
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
    bool wanted = argc == 1;
    for (int k = 1; k < argc; k++)
      wanted |= strcmp(argv[k], parts[i].name) == 0;
    if (wanted)
      parts[i].run();
  }
  return bench_end();
}
