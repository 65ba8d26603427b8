// Benchmark of labgen build, on the lab that ships and a roster of its own:
//   trees     lab repositories for 1,000 students against a script of git
//             commands that makes the same repositories
//   kernels   clinic kernels against make in a built tree, once a variant
//   memory    the largest resident set for 10 and for 1,000 students
//   size      of a repository beside its working tree
// Wall clocks are noisy on a busy machine; each figure is a ratio of two runs
// here and now, and CPU time stands beside it. Exit status 1 when one of the
// promises is not kept.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"

#define STUDENTS 1000
#define BY_SCRIPT 10  // students that the script makes
#define CLINIC_STUDENTS 10
#define ONE_BY_ONE 10  // variants that make compiles alone

static char *dir;
static int broken;  // promises

static void promise(bool kept, const char *fmt, double figure)
{
  char *line = xasprintf(fmt, figure);
  printf("%-72s %s\n", line, kept ? "ok" : "NOT KEPT");
  broken += !kept;
  free(line);
}

struct cost {
  double wall_s, cpu_s;
  long resident_kib;
};

static void die(const char *what, const struct buf *output)
{
  fprintf(stderr, "bench-build: %s failed\n%s", what,
          output ? buf_str(output) : "");
  exit(3);
}

static double cpu_of(const struct rusage *u)
{
  return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
         (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

// Runs a command in the folder and measures it with all that it waits for.
static struct cost run(const char *const *argv)
{
  struct rusage usage;
  int status;
  int64_t start = clock_ms();
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    if (chdir(dir) || !freopen("/dev/null", "w", stdout) ||
        !freopen("log", "w", stderr))
      _exit(126);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
  }
  if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0) {
    struct buf log = BUF_INIT;
    char *path = path_join(dir, "log");
    file_read(path, 1 << 20, &log, NULL);
    die(argv[0], &log);
  }
  return (struct cost){(double)(clock_ms() - start) / 1000, cpu_of(&usage),
                       usage.ru_maxrss};
}

static void write_text(const char *name, const char *text)
{
  char *path = path_join(dir, name);
  if (file_write(path, text, strlen(text), 0644, NULL))
    die(name, NULL);
  free(path);
}

// A lab file that differs from the one that ships by secret and roster.
static void make_lab(const char *name, int students)
{
  struct buf text = BUF_INIT, roster = BUF_INIT;
  const char *data;
  if (data_dir(&data, NULL))
    die("finding the data", NULL);
  char *path = path_join(data, "config.yaml");
  if (file_read(path, 1 << 20, &text, NULL))
    die(path, NULL);
  char *roster_name = xasprintf("%s.csv", name);
  static const char secret_line[] = "\nsecret: ", roster_line[] = "\nroster: ";
  char *at = strstr(text.data, secret_line);
  buf_splice(&text, (size_t)(at - text.data) + 1, strcspn(at + 1, "\n"),
             "secret: {file: secret}", strlen("secret: {file: secret}"));
  at = strstr(text.data, roster_line);
  char *line = xasprintf("roster: %s", roster_name);
  buf_splice(&text, (size_t)(at - text.data) + 1, strcspn(at + 1, "\n"), line,
             strlen(line));
  buf_adds(&roster, "id,name\n");
  for (int i = 0; i < students; i++)
    buf_addf(&roster, "s%04d,Student %d\n", i, i);
  write_text("secret", "the secret of the benchmark\n");
  write_text(roster_name, buf_str(&roster));
  write_text(name, buf_str(&text));
  buf_release(&text);
  buf_release(&roster);
  free(path);
  free(roster_name);
  free(line);
}

static struct cost build(const char *lab, const char *out, const char *stage,
                         bool kernels)
{
  char *program = realpath(LABGEN_BUILD "/labgen", NULL);
  const char *argv[] = {program,   "build", "-c",
                        lab,       "-o",    out,
                        "--stage", stage,   kernels ? "-j2" : "--no-kernels",
                        NULL};
  struct cost cost = run(argv);
  free(program);
  return cost;
}

// The same repositories by git: three commits, one pack, packed refs, no
// reflogs and no samples. Trees lie ready in t0, t1 and t2.
static struct cost by_script(void)
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
  write_text("script.sh", script);
  const char *prepare[] = {
      "sh", "-ec",
      "for n in 2 1 0; do git clone -q lab-one/students/s0000 c$n\n"
      "(cd c$n && git checkout -q HEAD~$((2 - n)))\n"
      "mkdir t$n && cp -R c$n/. t$n/ && rm -rf t$n/.git c$n; done",
      NULL};
  const char *argv[] = {"sh", "script.sh", NULL};
  run(prepare);
  struct cost cost = run(argv);
  free(script);
  return cost;
}

static void bench_trees(void)
{
  make_lab("one.yaml", 10);
  make_lab("many.yaml", STUDENTS);
  struct cost few = build("one.yaml", "lab-one", "lab", false);
  struct cost many = build("many.yaml", "lab-many", "lab", false);
  struct cost script = by_script();
  double per_build = many.wall_s / STUDENTS * 1000;
  double per_script = script.wall_s / BY_SCRIPT * 1000;
  printf(
      "trees: labgen %.2f ms a student (CPU %.2f), git commands %.1f (CPU "
      "%.1f)\n",
      per_build, many.cpu_s / STUDENTS * 1000, per_script,
      script.cpu_s / BY_SCRIPT * 1000);
  promise(per_script >= 10 * per_build,
          "trees: %.1f times faster than git commands (at least 10)",
          per_script / per_build);
  promise(many.resident_kib - few.resident_kib < 8192,
          "memory: 1,000 students take %.0f KiB more than 10 (under 8192)",
          (double)(many.resident_kib - few.resident_kib));
}

static int add_size(void *arg, const char *path, struct error *err)
{
  struct stat st;
  char *full = xasprintf("%s/lab-one/students/s0000/.git/%s", dir, path);
  (void)err;
  if (stat(full, &st) == 0)
    *(double *)arg += (double)st.st_size / 1024;
  free(full);
  return 0;
}

static void bench_size(void)
{
  double kib = 0;
  char *path = path_join(dir, "lab-one/students/s0000/.git");
  if (file_walk(path, add_size, &kib, NULL))
    die(path, NULL);
  promise(kib <= 200, "size: %.0f KiB beside the working tree (at most 200)",
          kib);
  free(path);
}

static void bench_kernels(void)
{
  // The instructor's kernels first, so that the clinic's are what is measured.
  make_lab("clinic.yaml", CLINIC_STUDENTS);
  build("clinic.yaml", "clinic", "lab", true);
  struct cost all = build("clinic.yaml", "clinic", "clinic", true);
  char *script = xasprintf(
      "git clone -q -b clinic-1 clinic/clinic/s0000 w && cd w && make -s "
      "kernel/kernel && cd .. && : > alone.sh && for i in $(seq %d); do echo "
      "'touch w/kernel/kalloc.c && make -s -C w kernel/kernel' >> alone.sh; "
      "done",
      ONE_BY_ONE);
  const char *prepare[] = {"sh", "-ec", script, NULL};
  const char *argv[] = {"sh", "-e", "alone.sh", NULL};
  run(prepare);
  struct cost alone = run(argv);
  double variants = 3 * CLINIC_STUDENTS;
  double each = alone.cpu_s / ONE_BY_ONE;
  printf(
      "kernels: %.0f variants, CPU %.3f s each with all around it, make "
      "alone %.3f s; wall %.2f s\n",
      variants, all.cpu_s / variants, each, all.wall_s);
  promise(all.cpu_s <= 1.10 * variants * each,
          "kernels: %.2f times the CPU time of make alone (at most 1.10)",
          all.cpu_s / variants / each);
  free(script);
}

int main(void)
{
  if (file_make_temp_dir(NULL, "bench-build-", &dir, NULL))
    die("making a folder", NULL);
  bench_trees();
  bench_size();
  bench_kernels();
  file_remove_tree(dir, NULL);
  free(dir);
  return broken != 0;
}
