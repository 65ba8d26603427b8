// Forks without exec, so that an item's process has all that was loaded. It must
// not be used while children of child.h are running.
#include "labgen/run/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "labgen/base/alloc.h"

#define TICK_MS 100
#define SAY_BYTES 200

struct worker {
  pid_t pid;  // 0: free
  int fd;     // what it says comes from here
  size_t item;
  char line[SAY_BYTES + 1], said[SAY_BYTES + 1];
  size_t len;  // of `line`
};

struct crew {
  const struct workers_spec *spec;
  struct worker *workers;  // spec->jobs of them
  size_t next, running;
  int signals;  // signalfd
  sigset_t before;
  struct error *err;
};

static int caught;

void workers_raise_signal(void)
{
  if (caught)
    raise(caught);
}

void worker_say(struct worker *w, const char *words)
{
  char line[SAY_BYTES + 1];
  int len = snprintf(line, SAY_BYTES, "%s", words);
  size_t n = len < 0                   ? 0
             : (size_t)len < SAY_BYTES ? (size_t)len
                                       : SAY_BYTES - 1;
  while (n > 0 && line[n - 1] == '\n')
    n--;
  for (size_t i = 0; i < n; i++)
    if (line[i] == '\n')
      line[i] = ' ';
  line[n++] = '\n';
  // Words that do not fit into the pipe are lost, and nobody waits for them.
  if (write(w->fd, line, n) < 0)
    return;
}

// --- the item's process -----------------------------------------------------

static void be_worker(struct crew *c, struct worker *w, const int fds[2],
                      pid_t parent)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  sigprocmask(SIG_SETMASK, &c->before, NULL);
  close(fds[0]);
  close(c->signals);
  for (int i = 0; i < c->spec->jobs; i++)
    if (c->workers[i].pid)
      close(c->workers[i].fd);
  struct worker mine = {.fd = fds[1]};
  int status = c->spec->work(c->spec->arg, w->item, &mine);
  fflush(NULL);
  _exit(status);
}

static int begin(struct crew *c, struct worker *w)
{
  int fds[2];
  pid_t parent = getpid();
  *w = (struct worker){.item = c->next};
  if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
    return error_errno(c->err, LG_EHARNESS, "no pipe for a worker");
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0)
    be_worker(c, w, fds, parent);
  close(fds[1]);
  if (pid < 0) {
    close(fds[0]);
    return error_errno(c->err, LG_EHARNESS, "no process for a worker");
  }
  w->pid = pid;
  w->fd = fds[0];
  c->next++;
  c->running++;
  if (c->spec->on_begin)
    c->spec->on_begin(c->spec->arg, w->item);
  return 0;
}

// --- this process -----------------------------------------------------------

static void take_words(struct crew *c, struct worker *w, const char *bytes,
                       size_t len)
{
  for (size_t i = 0; i < len; i++) {
    if (bytes[i] != '\n') {
      if (w->len < SAY_BYTES)
        w->line[w->len++] = bytes[i];
      continue;
    }
    memcpy(w->said, w->line, w->len);
    w->said[w->len] = '\0';
    w->len = 0;
    if (c->spec->on_say)
      c->spec->on_say(c->spec->arg, w->item, w->said);
  }
}

// Waits for the end of a process whose pipe has closed.
static int finish(struct crew *c, struct worker *w)
{
  struct worker_end end = {.status = -1, .said = w->said};
  int status = 0;
  while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
    ;
  if (WIFEXITED(status))
    end.status = WEXITSTATUS(status);
  else
    end.signal = WTERMSIG(status);
  close(w->fd);
  w->pid = 0;
  c->running--;
  return c->spec->on_end ? c->spec->on_end(c->spec->arg, w->item, &end, c->err)
                         : 0;
}

static int hear(struct crew *c, struct worker *w)
{
  char bytes[1024];
  ssize_t n = read(w->fd, bytes, sizeof(bytes));
  if (n > 0)
    take_words(c, w, bytes, (size_t)n);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
    return finish(c, w);
  return 0;
}

static int take_signal(struct crew *c)
{
  struct signalfd_siginfo info;
  if (read(c->signals, &info, sizeof(info)) != sizeof(info))
    return 0;
  caught = (int)info.ssi_signo;
  return error_set(c->err, LG_EHARNESS, "ended by %s", strsignal(caught));
}

static int wait_for_something(struct crew *c)
{
  int jobs = c->spec->jobs, rc = 0;
  struct pollfd *fds = xcalloc((size_t)jobs + 1, sizeof(*fds));
  fds[jobs] = (struct pollfd){.fd = c->signals, .events = POLLIN};
  for (int i = 0; i < jobs; i++)
    fds[i] = (struct pollfd){.fd = c->workers[i].pid ? c->workers[i].fd : -1,
                             .events = POLLIN};
  int n = poll(fds, (nfds_t)jobs + 1, TICK_MS);
  if (n > 0 && fds[jobs].revents)
    rc = take_signal(c);
  for (int i = 0; i < jobs && n > 0 && rc == 0; i++)
    if (fds[i].revents)
      rc = hear(c, &c->workers[i]);
  if (c->spec->on_tick)
    c->spec->on_tick(c->spec->arg);
  free(fds);
  return rc;
}

// TERM lets a worker end what it started; after two seconds, KILL.
static void end_all(struct crew *c)
{
  for (int i = 0; i < c->spec->jobs; i++)
    if (c->workers[i].pid)
      kill(c->workers[i].pid, SIGTERM);
  for (int tries = 0; c->running; tries++) {
    for (int i = 0; i < c->spec->jobs; i++) {
      struct worker *w = &c->workers[i];
      if (!w->pid)
        continue;
      if (tries == 40)
        kill(w->pid, SIGKILL);
      if (waitpid(w->pid, NULL, WNOHANG) != 0) {
        close(w->fd);
        w->pid = 0;
        c->running--;
      }
    }
    poll(NULL, 0, 50);
  }
}

int workers_run(const struct workers_spec *spec, struct error *err)
{
  struct crew c = {.spec = spec, .err = err};
  sigset_t set;
  int rc = 0;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  sigprocmask(SIG_BLOCK, &set, &c.before);
  c.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (c.signals < 0)
    rc = error_errno(err, LG_EHARNESS, "no descriptor for signals");
  c.workers = xcalloc((size_t)spec->jobs, sizeof(*c.workers));
  while (rc == 0 && (c.next < spec->count || c.running)) {
    for (int i = 0; i < spec->jobs && c.next < spec->count && rc == 0; i++)
      if (!c.workers[i].pid)
        rc = begin(&c, &c.workers[i]);
    if (rc == 0)
      rc = wait_for_something(&c);
  }
  if (c.running)
    end_all(&c);
  if (c.signals >= 0)
    close(c.signals);
  sigprocmask(SIG_SETMASK, &c.before, NULL);
  free(c.workers);
  return rc;
}
