// Writes the lines of report.h, and watches for harts that wait for ever. It
// does not count (hart.c). Whether a wait is a fault is the reader's to judge.
#include "graders/plugin/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "graders/plugin/hart.h"

enum {
  LOOK_MS = 100,          // between two looks at the harts
  LOOKS_PER_WORK = 3,     // looks between two work lines
  LOOKS_UNTIL_STUCK = 10  // a wait that is this old is told
};

static pthread_mutex_t lines = PTHREAD_MUTEX_INITIALIZER;  // guards all below
static int out = -1;
static char text[1 << 16];
static size_t length;
static int64_t started_ms;

static int64_t now_ms(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000 - started_ms;
}

// Writes what has been put together. If nobody reads any more, it is dropped:
// the guest must go on.
static void flush(void)
{
  for (size_t done = 0; done < length;) {
    ssize_t n = write(out, text + done, length - done);
    if (n < 0 && errno != EINTR)
      break;
    if (n > 0)
      done += (size_t)n;
  }
  length = 0;
}

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
  enum { LINE_MAX_BYTES = 1024 };
  va_list args;

  if (length + LINE_MAX_BYTES > sizeof(text))
    flush();
  va_start(args, fmt);
  int n = vsnprintf(text + length, LINE_MAX_BYTES, fmt, args);
  va_end(args);
  if (n > 0 && n < LINE_MAX_BYTES)
    length += (size_t)n;
}

bool report_open(const char *path)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};

  out = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (out >= 0 || errno != ENXIO)
    return out >= 0;
  if (strlen(path) >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  memcpy(address.sun_path, path, strlen(path) + 1);
  out = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return out >= 0 &&
         connect(out, (struct sockaddr *)&address, sizeof(address)) == 0;
}

// ---- intervals --------------------------------------------------------------

// The part of a count that has not been told yet.
static uint64_t fresh(counter *c, uint64_t *told)
{
  uint64_t now = get(c), part = now - *told;

  *told = now;
  return part;
}

static void tell_hart(unsigned id, uint64_t interval)
{
  struct hart *h = &harts[id];
  static uint64_t told_user[HARTS_MAX], told_lost[HARTS_MAX];
  static uint64_t told_sent[HARTS_MAX];

  say("user %u %" PRIu64 "\n", id,
      fresh(&h->user_instructions, &told_user[id]));
  for (unsigned i = 0; i < LOCK_ROWS; i++) {
    struct lock_row *row = &h->locks[i];
    uint64_t acquired = fresh(&row->acquired, &row->told_acquired);
    if (acquired == 0)
      continue;
    uint64_t longest = get(&row->interval) == interval ? get(&row->longest) : 0;
    say("lock %u %" PRIx64 " %" PRIu64, id, get(&row->lock), acquired);
    say(" %" PRIu64, fresh(&row->contended, &row->told_contended));
    say(" %" PRIu64, fresh(&row->spins, &row->told_spins));
    say(" %" PRIu64 "\n", longest);
  }
  for (unsigned i = 0; i < ATOMIC_ROWS; i++) {
    struct atomic_row *row = &h->atomics[i];
    uint64_t times = fresh(&row->times, &row->told_times);
    if (times > 0)
      say("atomic %u %" PRIx64 " %" PRIu64 "\n", id, get(&row->address), times);
  }
  for (unsigned i = 0; i < FOREIGN_ROWS; i++) {
    struct foreign_row *row = &h->foreign[i];
    uint64_t times = fresh(&row->times, &row->told_times);
    if (times > 0)
      say("foreign %u %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", id, get(&row->pc),
          get(&row->address), times);
  }
  uint64_t sent = fresh(&h->sent, &told_sent[id]);
  if (sent > 0)
    say("sent %u %" PRIu64 "\n", id, sent);
  uint64_t lost = fresh(&h->lost, &told_lost[id]);
  if (lost > 0)
    say("lost %u %" PRIu64 "\n", id, lost);
}

// The caller holds `lines`.
static void tell_interval(void)
{
  uint64_t interval = get(&interval_now);

  say("interval %" PRIu64 " %" PRId64 "\n", interval, now_ms());
  for (unsigned id = 0; id < hart_count; id++)
    tell_hart(id, interval);
  say("end %" PRIu64 "\n", interval);
  set(&interval_now, interval + 1);
}

void report_interval(void)
{
  pthread_mutex_lock(&lines);
  tell_interval();
  flush();
  pthread_mutex_unlock(&lines);
}

void report_end(void)
{
  pthread_mutex_lock(&lines);
  tell_interval();
  say("bye %" PRId64 "\n", now_ms());
  flush();
  pthread_mutex_unlock(&lines);
}

// ---- harts that wait --------------------------------------------------------

// What one look at a hart saw.
struct look {
  uint64_t turns;    // with the lock, says which wait it is
  uint64_t awaited;  // the lock; 0: it waits for nothing
  int holder;        // the hart that has the lock, or -1
  unsigned age;      // looks that saw this same wait before
  bool told_stuck;
};

static struct look looks[HARTS_MAX];

static void look_at(unsigned id)
{
  struct hart *h = &harts[id];
  struct look now = {.turns = get(&h->turns), .awaited = get(&h->awaited)};
  struct look *before = &looks[id];

  if (now.awaited == 0) {
    *before = (struct look){0};
    return;
  }
  now.holder = hart_holding(now.awaited);
  if (before->awaited != 0 && now.turns == before->turns) {
    now.age = before->age + 1;
    now.told_stuck = before->told_stuck;
  }
  *before = now;
}

// The number of harts in a circle of waits that begins at `first`, each of
// which was seen in the same wait by the look before; 0 if there is none. A hart
// that took nothing between two looks was waiting all the time between them,
// holding what it held, so such a circle can never open again.
static unsigned circle_from(unsigned first)
{
  unsigned id = first;

  for (unsigned n = 1; n <= hart_count; n++) {
    if (looks[id].awaited == 0 || looks[id].age == 0 || looks[id].holder < 0)
      return 0;
    id = (unsigned)looks[id].holder;
    if (id == first)
      return n;
  }
  return 0;
}

// Tells the first circle, once.
static void tell_deadlock(void)
{
  static bool told;

  for (unsigned first = 0; first < hart_count && !told; first++) {
    unsigned n = circle_from(first);
    if (n == 0)
      continue;
    told = true;
    say("deadlock %" PRId64 " %u", now_ms(), n);
    // Each holds what the one before it in the circle awaits.
    unsigned before = first;
    for (unsigned i = 0; i < n; i++) {
      unsigned id = (unsigned)looks[before].holder;
      say(" %u %" PRIx64 " %" PRIx64, id, looks[before].awaited,
          looks[id].awaited);
      before = id;
    }
    say("\n");
  }
}

static void tell_stuck(unsigned id)
{
  struct look *l = &looks[id];
  char holder[16] = "-";

  if (l->awaited == 0 || l->age < LOOKS_UNTIL_STUCK || l->told_stuck)
    return;
  l->told_stuck = true;
  if (l->holder >= 0)
    snprintf(holder, sizeof(holder), "%d", l->holder);
  say("stuck %" PRId64 " %u %" PRIx64 " %s %" PRIu64 "\n", now_ms(), id,
      l->awaited, holder, get(&harts[id].attempts));
}

static void tell_work(void)
{
  say("work %" PRId64, now_ms());
  for (unsigned id = 0; id < hart_count; id++)
    say(" %" PRIu64 " %" PRIu64, get(&harts[id].user_instructions),
        get(&harts[id].acquisitions));
  say("\n");
}

static void *watch(void *unused)
{
  struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};

  (void)unused;
  for (unsigned count = 1;; count++) {
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&lines);
    for (unsigned id = 0; id < hart_count; id++)
      look_at(id);
    tell_deadlock();
    for (unsigned id = 0; id < hart_count; id++)
      tell_stuck(id);
    if (count % LOOKS_PER_WORK == 0)
      tell_work();
    flush();
    pthread_mutex_unlock(&lines);
  }
  return NULL;
}

bool report_start(int api)
{
  pthread_t thread;
  sigset_t all, before;

  started_ms = now_ms();
  say("labgen-plugin 1 api %d harts %u\n", api, hart_count);
  flush();
  // QEMU's signals are for QEMU's threads.
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&thread, NULL, watch, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failed == 0;
}
