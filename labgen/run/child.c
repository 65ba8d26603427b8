// The poll loop over running children, and how each of them ends. Starting one
// is spawn.c's trade. There is no thread and no SIGCHLD handler here: a pidfd
// says when a process has ended.
#include "labgen/run/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/run/spawn.h"

#define DEFAULT_GRACE_MS 2000
#define DEFAULT_OUTPUT_BYTES (16u << 20)

struct child {
  struct child_spec spec;
  struct spawned process;
  struct child_result result;
  int64_t started_ms;
  struct buf input;  // not written yet
  bool close_input;
  size_t output_bytes;
  enum child_end reason;  // why it is being ended; CHILD_RUNNING: it is not
  int64_t kill_ms;        // when KILL follows TERM
  bool killed;
};

int64_t clock_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void child_result_release(struct child_result *result)
{
  buf_release(&result->out);
  buf_release(&result->err);
  *result = (struct child_result){0};
}

void child_result_describe(const struct child_result *result, struct buf *b)
{
  static const char *const texts[] = {
#define ROW(end, text) [end] = text,
      CHILD_ENDS(ROW)
#undef ROW
  };
  if (result->end == CHILD_EXITED)
    buf_addf(b, "exited with status %d", result->status);
  else if (result->end == CHILD_SIGNALLED)
    buf_addf(b, "was killed by signal %d (%s)", result->signal,
             strsignal(result->signal));
  else
    buf_adds(b, texts[result->end]);
}

bool child_ended(const struct child *child)
{
  return child->result.end != CHILD_RUNNING;
}

pid_t child_pid(const struct child *child)
{
  return child->process.pid;
}

const struct child_result *child_result_of(const struct child *child)
{
  return &child->result;
}

static void close_fd(int *fd)
{
  if (*fd >= 0)
    close(*fd);
  *fd = -1;
}

int child_start(const struct child_spec *spec, struct child **ret_child,
                struct error *err)
{
  struct spawned process;
  int rc = spawn(spec, &process, err);
  if (rc)
    return rc;
  struct child *child = xcalloc(1, sizeof *child);
  child->spec = *spec;
  child->process = process;
  child->result.end = CHILD_RUNNING;
  child->result.status = -1;
  child->reason = CHILD_RUNNING;
  child->started_ms = clock_ms();
  if (!child->spec.grace_ms)
    child->spec.grace_ms = DEFAULT_GRACE_MS;
  if (!child->spec.max_output_bytes)
    child->spec.max_output_bytes = DEFAULT_OUTPUT_BYTES;
  if (spec->input_len)
    buf_add(&child->input, spec->input, spec->input_len);
  child->close_input = !spec->keep_input;
  if (child->close_input && !child->input.len)
    close_fd(&child->process.in);
  *ret_child = child;
  return 0;
}

// --- Ending -------------------------------------------------------------------

static void begin_end(struct child *child, enum child_end reason)
{
  if (child_ended(child) || child->reason != CHILD_RUNNING)
    return;
  child->reason = reason;
  child->kill_ms = clock_ms() + child->spec.grace_ms;
  kill(-child->process.pid, SIGTERM);
  // A stopped process would only take notice when it is killed.
  kill(-child->process.pid, SIGCONT);
}

static void kill_now(struct child *child)
{
  child->killed = true;
  kill(-child->process.pid, SIGKILL);
}

void child_stop(struct child *child)
{
  begin_end(child, CHILD_STOPPED);
}

static int64_t to_us(struct timeval t)
{
  return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

// Takes what the process left, once it has ended (or is about to, killed).
static void reap(struct child *child)
{
  struct child_result *result = &child->result;
  int status = 0;
  struct rusage usage = {0};
  pid_t pid;
  do {
    pid = wait4(child->process.pid, &status, 0, &usage);
  } while (pid < 0 && errno == EINTR);

  if (WIFEXITED(status))
    result->status = WEXITSTATUS(status);
  else if (WIFSIGNALED(status))
    result->signal = WTERMSIG(status);
  if (child->reason != CHILD_RUNNING)
    result->end = child->reason;
  else
    result->end = result->signal ? CHILD_SIGNALLED : CHILD_EXITED;
  result->wall_ms = clock_ms() - child->started_ms;
  result->user_us = to_us(usage.ru_utime);
  result->system_us = to_us(usage.ru_stime);
  close_fd(&child->process.pidfd);
  close_fd(&child->process.in);
  close_fd(&child->process.out);
  close_fd(&child->process.err);
  buf_release(&child->input);
}

// --- Input and output -----------------------------------------------------------

void child_write(struct child *child, const void *bytes, size_t len)
{
  if (child->process.in >= 0 && !child->close_input)
    buf_add(&child->input, bytes, len);
}

void child_close_input(struct child *child)
{
  child->close_input = true;
  if (!child->input.len)
    close_fd(&child->process.in);
}

// write() to a pipe that may be broken, without the signal for it, and without
// changing what labgen does about a broken pipe of its own.
static ssize_t write_quietly(int fd, const void *bytes, size_t len)
{
  sigset_t pipe_signal, old, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  sigprocmask(SIG_BLOCK, &pipe_signal, &old);
  ssize_t n = write(fd, bytes, len);
  int saved = errno;
  if (n < 0 && saved == EPIPE && !sigismember(&pending, SIGPIPE))
    sigtimedwait(&pipe_signal, NULL, &(struct timespec){0});
  sigprocmask(SIG_SETMASK, &old, NULL);
  errno = saved;
  return n;
}

static void feed_input(struct child *child)
{
  ssize_t n =
      write_quietly(child->process.in, child->input.data, child->input.len);
  if (n > 0) {
    buf_splice(&child->input, 0, (size_t)n, NULL, 0);
  } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
    buf_release(&child->input);  // it no longer reads
    close_fd(&child->process.in);
  }
  if (child->close_input && !child->input.len)
    close_fd(&child->process.in);
}

static void deliver(struct child *child, enum child_stream stream,
                    const char *bytes, size_t len)
{
  size_t room = child->spec.max_output_bytes - child->output_bytes;
  if (len > room) {
    child->result.lost_output = true;
    begin_end(child, CHILD_CAPPED);
    len = room;
  }
  if (!len)
    return;
  child->output_bytes += len;
  if (child->spec.on_output)
    child->spec.on_output(child->spec.arg, stream, bytes, len);
  else
    buf_add(stream == CHILD_STDOUT ? &child->result.out : &child->result.err,
            bytes, len);
}

// Reads once from a stream, at most `max` bytes. Returns how many; 0 when there
// is nothing or nothing more.
static size_t take_output(struct child *child, enum child_stream stream,
                          size_t max)
{
  char chunk[65536];
  int *fd = stream == CHILD_STDOUT ? &child->process.out : &child->process.err;
  ssize_t n = read(*fd, chunk, max < sizeof chunk ? max : sizeof chunk);
  if (n > 0) {
    deliver(child, stream, chunk, (size_t)n);
    return (size_t)n;
  }
  if (n == 0 || (errno != EAGAIN && errno != EINTR))
    close_fd(fd);
  return 0;
}

// Takes what lies in the pipes of an ended process: that, and not what a
// process that got away may still be writing.
static void drain(struct child *child)
{
  const int fds[] = {child->process.out, child->process.err};
  for (int i = 0; i < 2; i++) {
    int left = 0;
    if (fds[i] < 0 || ioctl(fds[i], FIONREAD, &left) != 0)
      continue;
    while (left > 0) {
      size_t n = take_output(child, (enum child_stream)i, (size_t)left);
      if (n == 0)
        break;
      left -= (int)n;
    }
  }
}

// --- The loop -------------------------------------------------------------------

enum { FD_PROCESS, FD_IN, FD_OUT, FD_ERR, FDS };

static void fill_fds(const struct child *child, struct pollfd fds[FDS])
{
  const struct spawned *p = &child->process;
  bool feeding = child->input.len > 0;
  fds[FD_PROCESS] = (struct pollfd){p->pidfd, POLLIN, 0};
  // Watched only while there is something to write: poll() would report an
  // input that broke again and again.
  fds[FD_IN] = (struct pollfd){feeding ? p->in : -1, POLLOUT, 0};
  fds[FD_OUT] = (struct pollfd){p->out, POLLIN, 0};
  fds[FD_ERR] = (struct pollfd){p->err, POLLIN, 0};
}

static void handle_fds(struct child *child, const struct pollfd fds[FDS])
{
  if (fds[FD_OUT].revents)
    take_output(child, CHILD_STDOUT, SIZE_MAX);
  if (fds[FD_ERR].revents)
    take_output(child, CHILD_STDERR, SIZE_MAX);
  if (fds[FD_IN].revents && child->process.in >= 0 && child->input.len)
    feed_input(child);
  if (fds[FD_PROCESS].revents) {
    // Before it is reaped, its number can be no other process's group.
    kill_now(child);
    drain(child);
    reap(child);
  }
}

// When the loop must look at the child again; INT64_MAX: only for an event.
static int64_t next_look_ms(const struct child *child)
{
  if (child->reason != CHILD_RUNNING)
    return child->killed ? INT64_MAX : child->kill_ms;
  return child->spec.deadline_ms ? child->spec.deadline_ms : INT64_MAX;
}

static void check_deadline(struct child *child, int64_t now_ms)
{
  if (child_ended(child) || now_ms < next_look_ms(child))
    return;
  if (child->reason == CHILD_RUNNING)
    begin_end(child, CHILD_TIMED_OUT);
  else
    kill_now(child);
}

static int raised_by_user;  // the signal that interrupted a poll; 0: none

void child_raise_signal(void)
{
  if (raised_by_user)
    raise(raised_by_user);
}

// One poll() over all children that run, and `signals_fd`. Returns how many
// children ran.
static size_t poll_once(struct child *const *children, size_t count,
                        int64_t until_ms, int signals_fd)
{
  struct pollfd *fds = xcalloc(count * FDS + 1, sizeof *fds);
  int64_t wake_ms = until_ms ? until_ms : INT64_MAX;
  size_t running = 0;
  for (size_t i = 0; i < count; i++) {
    struct pollfd *own = fds + FDS * i;
    if (child_ended(children[i])) {
      for (int k = 0; k < FDS; k++)
        own[k].fd = -1;
      continue;
    }
    running++;
    fill_fds(children[i], own);
    if (next_look_ms(children[i]) < wake_ms)
      wake_ms = next_look_ms(children[i]);
  }
  fds[FDS * count] = (struct pollfd){signals_fd, POLLIN, 0};
  int timeout = -1;
  if (wake_ms != INT64_MAX) {
    int64_t wait_ms = wake_ms - clock_ms();
    timeout = wait_ms < 0 ? 0 : wait_ms > 60000 ? 60000 : (int)wait_ms;
  }
  int n = running ? poll(fds, FDS * count + 1, timeout) : 0;
  for (size_t i = 0; i < count && n > 0; i++) {
    if (!child_ended(children[i]))
      handle_fds(children[i], fds + FDS * i);
  }
  for (size_t i = 0; i < count; i++)
    check_deadline(children[i], clock_ms());
  free(fds);
  return running;
}

// Ends all children after the user asked for it; asked again, at once.
static void end_all(struct child *const *children, size_t count, int signals_fd)
{
  struct signalfd_siginfo info;
  for (size_t i = 0; i < count; i++)
    child_stop(children[i]);
  while (poll_once(children, count, 0, signals_fd) > 0) {
    if (read(signals_fd, &info, sizeof info) != sizeof info)
      continue;
    for (size_t i = 0; i < count; i++) {
      if (!child_ended(children[i]))
        kill_now(children[i]);
    }
  }
}

// The signals by which a user ends labgen, but those that it was started to
// ignore.
static sigset_t user_signals(void)
{
  static const int all[] = {SIGINT, SIGTERM, SIGHUP};
  sigset_t set;
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    struct sigaction now;
    if (sigaction(all[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
      sigaddset(&set, all[i]);
  }
  return set;
}

int children_poll(struct child *const *children, size_t count, int64_t until_ms,
                  struct error *err)
{
  sigset_t old, wanted = user_signals();
  int rc = 0;
  int signals_fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_fd < 0)
    return error_errno(err, LG_EHARNESS, "cannot watch for signals");
  sigprocmask(SIG_BLOCK, &wanted, &old);
  if (!raised_by_user)
    poll_once(children, count, until_ms, signals_fd);
  struct signalfd_siginfo info;
  if (read(signals_fd, &info, sizeof info) == sizeof info)
    raised_by_user = (int)info.ssi_signo;
  if (raised_by_user) {
    end_all(children, count, signals_fd);
    rc = error_set(err, LG_EHARNESS, "interrupted: %s",
                   strsignal(raised_by_user));
  }
  sigprocmask(SIG_SETMASK, &old, NULL);
  close(signals_fd);
  return rc;
}

void child_release(struct child *child)
{
  if (!child)
    return;
  if (!child_ended(child)) {
    child->reason = CHILD_STOPPED;
    kill_now(child);
    reap(child);
  }
  child_result_release(&child->result);
  free(child);
}

int child_run(const struct child_spec *spec, struct child_result *ret_result,
              struct error *err)
{
  struct child *child = NULL;
  int rc = child_start(spec, &child, err);
  while (rc == 0 && !child_ended(child))
    rc = children_poll(&child, 1, 0, err);
  if (rc == 0) {
    *ret_result = child->result;
    child->result = (struct child_result){.end = child->result.end};
  }
  child_release(child);
  return rc;
}
