// fork() and exec() for child.c. posix_spawn() cannot set resource limits or
// the signal that follows the parent's death. After fork() the new process
// makes only async-signal-safe calls, and reports the step that failed through
// a pipe that a successful exec closes.
#include "labgen/run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/argv.h"

// Room for output while labgen is busy elsewhere; a guest's serial port drops
// characters when nobody takes them.
#define PIPE_BYTES (256 * 1024)

// The steps of a new process, and what to say when one fails.
enum step { STEP_SESSION, STEP_STREAMS, STEP_LIMITS, STEP_DIR, STEP_EXEC };

struct failure {
  enum step step;
  int error;
};

// Everything that the new process needs, made before fork().
struct plan {
  char *program;    // path of the file to execute; owned
  struct argv env;  // owned
  const struct child_spec *spec;
  pid_t parent;
  int in, out, err;  // its ends of the pipes
  int report;        // where a struct failure goes
};

// The value of NAME in a list of NAME=VALUE; NULL when it is not there.
static const char *lookup(const char *const *env, const char *name)
{
  size_t len = strlen(name);
  for (; *env; env++) {
    if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
      return *env + len + 1;
  }
  return NULL;
}

static void fill_env(const char *const *given, struct argv *env)
{
  static const char *const kept[] = {"PATH", "HOME", "TMPDIR"};
  if (given) {
    argv_add_all(env, given);
    return;
  }
  argv_add(env, "LC_ALL=C");
  for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
    const char *value = getenv(kept[i]);
    if (value)
      argv_addf(env, "%s=%s", kept[i], value);
  }
}

// The file that `name` stands for on the child's own PATH; NULL when there is
// none. Owned by the caller.
static char *find_program(const char *name, const char *path)
{
  if (strchr(name, '/'))
    return xstrdup(name);
  if (!path)
    path = "/usr/bin:/bin";
  while (*name) {
    size_t len = strcspn(path, ":");
    char *dir = len ? xstrndup(path, len) : xstrdup(".");
    char *file = path_join(dir, name);
    free(dir);
    if (access(file, X_OK) == 0)
      return file;
    free(file);
    if (!path[len])
      break;
    path += len + 1;
  }
  return NULL;
}

// --- In the new process ------------------------------------------------------

static int limit(int resource, uint64_t soft, uint64_t hard)
{
  struct rlimit old, new = {soft, hard};
  if (getrlimit(resource, &old) != 0)
    return -1;
  if (new.rlim_max > old.rlim_max)
    new.rlim_max = old.rlim_max;
  if (new.rlim_cur > new.rlim_max)
    new.rlim_cur = new.rlim_max;
  return setrlimit(resource, &new);
}

static int set_limits(const struct child_limits *l)
{
  const struct {
    int resource;
    uint64_t soft, hard;
  } rows[] = {
      {RLIMIT_CPU, l->cpu_s, l->cpu_s + 1},
      {RLIMIT_AS, l->address_space_bytes, l->address_space_bytes},
      {RLIMIT_FSIZE, l->file_bytes, l->file_bytes},
      {RLIMIT_NPROC, l->processes, l->processes},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].soft && limit(rows[i].resource, rows[i].soft, rows[i].hard))
      return -1;
  }
  return limit(RLIMIT_CORE, 0, 0);
}

// Undoes what labgen, or whoever started it, did to the signals.
static void reset_signals(bool ignore_term)
{
  sigset_t none;
  for (int sig = 1; sig < NSIG; sig++)
    signal(sig, SIG_DFL);
  if (ignore_term)
    signal(SIGTERM, SIG_IGN);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

// A pipe's end may have got the number of a standard stream itself, when labgen
// was started without one; so all three move up before they move down.
static int set_streams(const struct plan *plan)
{
  int from[3] = {plan->in, plan->out, plan->err};
  for (int i = 0; i < 3; i++) {
    from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 3);
    if (from[i] < 0)
      return -1;
  }
  for (int i = 0; i < 3; i++) {
    if (dup2(from[i], i) < 0)
      return -1;
  }
  // All that labgen inherited open goes at exec; so does the report's pipe.
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  return 0;
}

static enum step prepare_and_exec(const struct plan *plan)
{
  if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    return STEP_SESSION;
  if (getppid() != plan->parent)  // it died before the line above
    _exit(1);
  if (set_streams(plan) != 0)
    return STEP_STREAMS;
  if (plan->spec->dir && chdir(plan->spec->dir) != 0)
    return STEP_DIR;
  if (set_limits(&plan->spec->limits) != 0)
    return STEP_LIMITS;
  reset_signals(plan->spec->ignore_term);
  execve(plan->program, (char *const *)plan->spec->argv,
         (char *const *)argv_list(&plan->env));
  return STEP_EXEC;
}

static _Noreturn void run_new_process(struct plan *plan)
{
  // Above the standard streams, which are about to be replaced.
  plan->report = fcntl(plan->report, F_DUPFD_CLOEXEC, 3);
  struct failure failure;
  failure.step = prepare_and_exec(plan);
  failure.error = errno;
  ssize_t unused = write(plan->report, &failure, sizeof failure);
  (void)unused;
  _exit(127);
}

// --- In labgen ----------------------------------------------------------------

static int explain(const struct child_spec *spec, const struct failure *f,
                   struct error *err)
{
  static const char *const steps[] = {
      [STEP_SESSION] = "making its session",
      [STEP_STREAMS] = "setting its streams",
      [STEP_LIMITS] = "setting its limits",
      [STEP_DIR] = "entering its folder ",
      [STEP_EXEC] = "executing it",
  };
  return error_set(err, LG_EHARNESS, "cannot start %s: %s%s: %s", spec->argv[0],
                   steps[f->step], f->step == STEP_DIR ? spec->dir : "",
                   strerror(f->error));
}

// Learns whether the new process got to its exec; otherwise reaps it.
static int await_exec(const struct child_spec *spec, pid_t pid, int report,
                      struct error *err)
{
  struct failure failure;
  ssize_t n;
  do {
    n = read(report, &failure, sizeof failure);
  } while (n < 0 && errno == EINTR);
  if (n == 0)
    return 0;
  waitpid(pid, NULL, 0);
  if (n != sizeof failure)
    failure = (struct failure){STEP_EXEC, EIO};
  return explain(spec, &failure, err);
}

static void close_pair(int pair[2])
{
  for (int i = 0; i < 2; i++) {
    if (pair[i] >= 0)
      close(pair[i]);
    pair[i] = -1;
  }
}

// What is inherited as ignored would make children vanish without a status.
static void let_children_be_waited_for(void)
{
  struct sigaction now;
  if (sigaction(SIGCHLD, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
    signal(SIGCHLD, SIG_DFL);
}

// Forks with every signal blocked: a handler of ours must not run in the copy.
static pid_t fork_quietly(struct plan *plan)
{
  sigset_t all, old;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &old);
  pid_t pid = fork();
  if (pid == 0)
    run_new_process(plan);
  int saved = errno;
  sigprocmask(SIG_SETMASK, &old, NULL);
  errno = saved;
  return pid;
}

int spawn(const struct child_spec *spec, struct spawned *ret_spawned,
          struct error *err)
{
  enum { IN, OUT, ERR, REPORT, PIPES };
  int pipes[PIPES][2];
  struct plan plan = {.spec = spec, .parent = getpid()};
  struct spawned s = {.pid = -1, .pidfd = -1, .err = -1};
  int rc = 0;
  memset(pipes, -1, sizeof pipes);
  let_children_be_waited_for();

  fill_env(spec->env, &plan.env);
  plan.program =
      find_program(spec->argv[0], lookup(argv_list(&plan.env), "PATH"));
  if (!plan.program) {
    rc = error_set(err, LG_EHARNESS, "cannot start %s: no such program in PATH",
                   spec->argv[0]);
    goto out;
  }
  for (int i = 0; i < PIPES; i++) {
    if (i == ERR && spec->merge_stderr)
      continue;
    if (pipe2(pipes[i], O_CLOEXEC) != 0) {
      rc = error_errno(err, LG_EHARNESS, "cannot make a pipe");
      goto out;
    }
  }
  plan.in = pipes[IN][0];
  plan.out = pipes[OUT][1];
  plan.err = spec->merge_stderr ? plan.out : pipes[ERR][1];
  plan.report = pipes[REPORT][1];

  s.pid = fork_quietly(&plan);
  if (s.pid < 0) {
    rc = error_errno(err, LG_EHARNESS, "cannot start %s", spec->argv[0]);
    goto out;
  }
  close(pipes[REPORT][1]);
  pipes[REPORT][1] = -1;
  rc = await_exec(spec, s.pid, pipes[REPORT][0], err);
  if (rc)
    goto out;
  s.pidfd = pidfd_open(s.pid, 0);
  if (s.pidfd < 0) {
    rc = error_errno(err, LG_EHARNESS, "cannot watch %s", spec->argv[0]);
    kill(-s.pid, SIGKILL);
    waitpid(s.pid, NULL, 0);
    goto out;
  }
  s.in = pipes[IN][1];
  s.out = pipes[OUT][0];
  s.err = pipes[ERR][0];
  pipes[IN][1] = pipes[OUT][0] = pipes[ERR][0] = -1;
  fcntl(s.in, F_SETFL, O_NONBLOCK);
  fcntl(s.out, F_SETFL, O_NONBLOCK);
  fcntl(s.out, F_SETPIPE_SZ, PIPE_BYTES);
  if (s.err >= 0)
    fcntl(s.err, F_SETFL, O_NONBLOCK);
  *ret_spawned = s;
out:
  for (int i = 0; i < PIPES; i++)
    close_pair(pipes[i]);
  argv_release(&plan.env);
  free(plan.program);
  return rc;
}
