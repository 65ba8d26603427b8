// The program that runs the code under test: explores the object that it is
// given and writes what it found as JSON on standard output.
//
// Deliberately a program of its own: the code that it loads can do anything to
// the process that it runs in, and the pages below PHYSTOP lie where a
// sanitizer keeps its tables.
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "graders/explore/confine.h"
#include "graders/explore/search.h"
#include "graders/explore/story.h"
#include "labgen/base/alloc.h"

// CPU time without an access of memory that is taken for a loop without end;
// less of it when one was seen already.
enum { TICK_MS = 10, STUCK_TICKS = 20, STUCK_AGAIN = 3 };

static double now_s(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double deadline_s, start_s;

static double since_start_ms(void)
{
  return (now_s() - start_s) * 1000;
}

static bool time_is_up(void)
{
  return deadline_s > 0 && now_s() > deadline_s;
}

// ---- signals ----------------------------------------------------------------

static void on_fault(int signo, siginfo_t *info, void *context)
{
  (void)context;
  struct machine *m = the_machine;
  if (!m || m->current < 0) {
    signal(signo, SIG_DFL);
    raise(signo);
    return;
  }
  machine_signal(m, signo, info->si_addr);
}

// Time passes but no memory is accessed: a loop without end.
static void on_tick(int signo)
{
  static uint32_t last_step, last_round;
  static int stuck;
  struct machine *m = the_machine;
  (void)signo;
  struct thread *t = m && m->current >= 0 ? machine_thread(m) : NULL;
  bool same = t && t->in_code && m->hb.step == last_step &&
              m->hb.round == last_round;
  stuck = same ? stuck + 1 : 0;
  if (!m)
    return;
  last_step = m->hb.step;
  last_round = m->hb.round;
  if (stuck >= (m->dead_loops ? STUCK_AGAIN : STUCK_TICKS)) {
    stuck = 0;
    machine_signal(m, 0, NULL);
  }
}

static void catch_signals(void)
{
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
  static char stack[64 * 1024];
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, NULL);
  // The handlers do not return when they end a schedule, so nothing may stay
  // blocked.
  struct sigaction fault = {.sa_sigaction = on_fault,
                            .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
    sigaction(faults[i], &fault, NULL);
  struct sigaction tick = {.sa_handler = on_tick,
                           .sa_flags = SA_NODEFER | SA_RESTART};
  sigaction(SIGVTALRM, &tick, NULL);
  struct itimerval every = {{0, TICK_MS * 1000}, {0, TICK_MS * 1000}};
  setitimer(ITIMER_VIRTUAL, &every, NULL);
}

// ---- what to do -------------------------------------------------------------

struct task {
  const char *object, *lab_path, *program;
  const char *replay;  // file with a list of findings
  bool shrink;         // make findings small
  bool record;         // write down their events
  int bound;           // most preemptions
  int part, parts;     // explore programs number part, part + parts, ...
  struct search_options search;
};

static const struct option options[] = {
    {"object", required_argument, NULL, 'o'},
    {"lab", required_argument, NULL, 'l'},
    {"program", required_argument, NULL, 'p'},
    {"replay", required_argument, NULL, 'r'},
    {"shrink", no_argument, NULL, 'S'},
    {"record", no_argument, NULL, 'E'},
    {"part", required_argument, NULL, 'i'},
    {"parts", required_argument, NULL, 'n'},
    {"bound", required_argument, NULL, 'b'},
    {"most", required_argument, NULL, 'm'},
    {"random", required_argument, NULL, 'R'},
    {"seed", required_argument, NULL, 's'},
    {"milliseconds", required_argument, NULL, 't'},
    {0},
};

static bool read_options(int argc, char **argv, struct task *t)
{
  int c;
  while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
    switch (c) {
    case 'o':
      t->object = optarg;
      break;
    case 'l':
      t->lab_path = optarg;
      break;
    case 'p':
      t->program = optarg;
      break;
    case 'r':
      t->replay = optarg;
      break;
    case 'S':
      t->shrink = true;
      break;
    case 'E':
      t->record = true;
      break;
    case 'i':
      t->part = atoi(optarg);
      break;
    case 'n':
      t->parts = atoi(optarg);
      break;
    case 'b':
      t->bound = atoi(optarg);
      break;
    case 'm':
      t->search.schedules_most = (uint32_t)strtoul(optarg, NULL, 10);
      break;
    case 'R':
      t->search.random = (uint32_t)strtoul(optarg, NULL, 10);
      break;
    case 's':
      t->search.seed = strtoull(optarg, NULL, 10);
      break;
    case 't':
      deadline_s = now_s() + atof(optarg) / 1000;
      break;
    default:
      return false;
    }
  }
  return t->object && t->lab_path && t->parts > 0;
}

// Explores this process's part of the units from one bound to another.
static void explore_bounds(const struct task *t, struct machine *m,
                           const struct ex_lab *lab, int first, int last,
                           const struct search_options *o, struct result *r)
{
  int number = 0;
  for (int set = 0; set < lab->hart_sets; set++) {
    for (size_t i = 0; i < lab->programs; i++, number++) {
      struct unit u = {.program = &lab->program[i], .number = number};
      memcpy(u.harts, lab->hart_set[set], sizeof u.harts);
      if (number % t->parts == t->part &&
          (!t->program || strcmp(t->program, u.program->name) == 0))
        search_unit(m, &u, first, last, o, r);
    }
  }
}

// Few preemptions first, over all programs: what is found then is the simplest.
static void explore(const struct task *t, struct machine *m,
                    const struct ex_lab *lab, struct result *r)
{
  struct search_options random = t->search, none = t->search;
  none.random = 0;
  start_s = now_s();
  for (int b = 0; b <= t->bound; b++)
    explore_bounds(t, m, lab, b, b, &none, r);
  if (random.random > 0)
    explore_bounds(t, m, lab, t->bound + 1, t->bound, &random, r);
  search_conclude(m, r);
}

// A finding that another process or an earlier run has found.
static void take_up(const struct story *s, struct result *r)
{
  GROW(r->finding, r->findings, r->findings_room);
  struct finding *f = &r->finding[r->findings++];
  *f = (struct finding){
      .report = {.kind = s->kind, .key = s->key},
      .program = s->program,
      .unit = s->unit,
      .at_boot = s->at_boot,
      .preemptions = s->preemptions,
      .steps = s->steps,
      .schedule = s->schedule,
      .found_ms = s->found_ms,
      .choices = s->choices,
      .points = s->points,
  };
  memcpy(f->harts, s->harts, sizeof f->harts);
  memcpy(f->choice, s->choice, sizeof f->choice);
  memcpy(f->point, s->point, sizeof f->point);
}

// Reads a list of findings. What they own lives as long as this process.
static int read_findings(const char *path, struct result *r, struct error *err)
{
  json_error_t where;
  json_t *list = json_load_file(path, 0, &where);
  int rc = 0;
  if (!list)
    return error_at(err, LG_EINPUT, path, (size_t)where.line,
                    (size_t)where.column, "%s", where.text);
  for (size_t i = 0; i < json_array_size(list) && rc == 0; i++) {
    struct story s;
    rc = story_read(json_array_get(list, i), &s, err);
    if (rc == 0)
      take_up(&s, r);
  }
  json_decref(list);
  return rc;
}

static void finish(const struct task *t, struct machine *m, struct result *r)
{
  for (size_t i = 0; i < r->findings; i++) {
    if (t->shrink && !time_is_up())
      search_minimise(m, &r->finding[i]);
    if (t->record)
      search_record(m, &r->finding[i]);
  }
}

// Pages that there must be room for. A file of findings can ask for any number.
static int pool_pages(const struct task *t, const struct ex_lab *lab)
{
  if (t->replay)
    return IMAGE_PAGES;
  return lab->max_pages > MACHINE_PAGES ? lab->max_pages : MACHINE_PAGES;
}

static int run(const struct task *t, struct error *err)
{
  static struct machine m;
  static struct image im;
  struct ex_lab lab = {0};
  struct result r = {0};
  int rc = ex_lab_read(t->lab_path, &lab, err);
  if (rc == 0)
    rc = image_open(t->object, pool_pages(t, &lab), &im, err);
  if (rc == 0)
    rc = machine_open(&m, &im, &lab, err);
  if (rc == 0 && t->replay)
    rc = read_findings(t->replay, &r, err);
  else if (rc == 0)
    explore(t, &m, &lab, &r);
  if (rc < 0)
    return rc;
  finish(t, &m, &r);
  json_t *j = stories_write(&m, &r);
  if (!j || json_dumpf(j, stdout, JSON_COMPACT) != 0 || fflush(stdout) != 0)
    return error_set(err, LG_EIO, "cannot write the result");
  return 0;
}

int main(int argc, char **argv)
{
  struct task t = {.bound = 2,
                   .parts = 1,
                   .search = {.schedules_most = 6000,
                              .time_is_up = time_is_up,
                              .now_ms = since_start_ms}};
  struct error err = {0};
  if (!read_options(argc, argv, &t)) {
    fputs("this program is run by labgen explore\n", stderr);
    return error_exit_status(LG_EUSAGE);
  }
  // Core files of a student's crash are of no use to anybody.
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  catch_signals();
  if (confine(&err) < 0 || run(&t, &err) < 0) {
    fprintf(stderr, "%s\n", err.message);
    return error_exit_status(err.code);
  }
  return 0;
}
