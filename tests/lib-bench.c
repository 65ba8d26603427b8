// See the header. Deliberately no statistics beyond a median: figures are ratios
// of runs here and now.
#include "tests/lib-bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"

char *bench_dir;
static int broken;  // promises

void bench_begin(const char *name)
{
  if (file_make_temp_dir(NULL, name, &bench_dir, NULL))
    bench_die("making a folder", "failed");
}

int bench_end(void)
{
  file_remove_tree(bench_dir, NULL);
  free(bench_dir);
  return broken != 0;
}

_Noreturn void bench_die(const char *what, const char *why)
{
  fprintf(stderr, "%s: %s\n", what, why);
  exit(3);
}

void bench_promise(bool kept, const char *fmt, double figure)
{
  char *line = xasprintf(fmt, figure);
  printf("%-72s %s\n", line, kept ? "ok" : "NOT KEPT");
  fflush(stdout);
  broken += !kept;
  free(line);
}

static double cpu_of(const struct rusage *u)
{
  return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
         (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

double bench_cpu_s(void)
{
  struct rusage mine, theirs;
  getrusage(RUSAGE_SELF, &mine);
  getrusage(RUSAGE_CHILDREN, &theirs);
  return cpu_of(&mine) + cpu_of(&theirs);
}

// Says which command it was, how it ended, and what it said.
static _Noreturn void die_of_command(const char *const *argv, int status)
{
  struct buf log = BUF_INIT;
  char *path = path_join(bench_dir, "log");
  for (; *argv; argv++)
    fprintf(stderr, "%s ", *argv);
  fprintf(stderr, "(in %s)\n", bench_dir);
  if (file_read(path, 1 << 20, &log, NULL) == 0)
    fputs(buf_str(&log), stderr);
  if (WIFSIGNALED(status))
    bench_die("ended by", strsignal(WTERMSIG(status)));
  char *number = xasprintf("%d", WEXITSTATUS(status));
  bench_die("exit status", number);
}

struct bench_cost bench_run(const char *const *argv, int most)
{
  struct rusage usage;
  int status;
  int64_t start = clock_ms();
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    if (chdir(bench_dir) || !freopen("/dev/null", "w", stdout) ||
        !freopen("log", "w", stderr))
      _exit(126);
    execvp(argv[0], (char *const *)argv);
    perror(argv[0]);
    _exit(127);
  }
  if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
    bench_die(argv[0], strerror(errno));
  if (!WIFEXITED(status) || WEXITSTATUS(status) > most)
    die_of_command(argv, status);
  return (struct bench_cost){(double)(clock_ms() - start) / 1000,
                             cpu_of(&usage), usage.ru_maxrss};
}

static int by_size(const void *a, const void *b)
{
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

double bench_median(double *v, size_t count)
{
  qsort(v, count, sizeof(*v), by_size);
  return v[count / 2];
}

void bench_write(const char *name, const char *text)
{
  char *path = path_join(bench_dir, name);
  if (file_write(path, text, strlen(text), 0644, NULL))
    bench_die(name, "cannot be written");
  free(path);
}

void bench_lab(const char *name, int students)
{
  struct buf text = BUF_INIT, roster = BUF_INIT;
  const char *data;
  if (data_dir(&data, NULL))
    bench_die("finding the data", "failed");
  char *path = path_join(data, "config.yaml");
  if (file_read(path, 1 << 20, &text, NULL))
    bench_die(path, "cannot be read");
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
  bench_write("secret", "the secret of the benchmark\n");
  bench_write(roster_name, buf_str(&roster));
  bench_write(name, buf_str(&text));
  buf_release(&text);
  buf_release(&roster);
  free(path);
  free(roster_name);
  free(line);
}
