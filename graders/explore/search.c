// Runs schedules and keeps the best one of each finding: with the fewest
// preemptions, then with the fewest steps.
#include "graders/explore/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/explore/shrink.h"
#include "labgen/base/alloc.h"

enum {
  ROUNDS_MOST = 40,        // times that new points make a program start again
  TIME_EVERY = 256,        // schedules between looks at the clock
  SHRINK_SCHEDULES = 4000  // of one smaller program, per bound
};

// A schedule's path is large, so it is no local variable.
static struct chooser chooser;

void result_release(struct result *r)
{
  for (size_t i = 0; i < r->findings; i++)
    free(r->finding[i].event);
  free(r->finding);
  free(r->note);
  free(r->coverage);
  *r = (struct result){0};
}

struct finding *search_find(const struct result *r, const struct report *what)
{
  for (size_t i = 0; i < r->findings; i++) {
    if (r->finding[i].report.kind == what->kind &&
        r->finding[i].report.key == what->key)
      return &r->finding[i];
  }
  return NULL;
}

static void keep_points(const struct machine *m, struct finding *f)
{
  f->points = 0;
  uintptr_t bytes = m->im->code_high - m->im->code_low;
  for (uintptr_t i = 0; i < bytes && f->points < SEARCH_POINTS; i++) {
    if (m->point[i])
      f->point[f->points++] = m->im->code_low + i - m->im->base;
  }
}

static void use_points(struct machine *m, const struct finding *f)
{
  for (int i = 0; i < f->points; i++)
    m->point[f->point[i] + m->im->base - m->im->code_low] = 1;
}

static bool better(const struct finding *old, int preemptions, size_t steps)
{
  if ((old->preemptions < 0) != (preemptions < 0))
    return old->preemptions < 0;
  return preemptions < old->preemptions ||
         (preemptions == old->preemptions && steps < old->steps);
}

static void fill(struct machine *m, const struct report *what, const int *harts,
                 const struct chooser *c, int preemptions, struct finding *f)
{
  f->report = *what;
  f->program = *m->program;
  memcpy(f->harts, harts, sizeof f->harts);
  f->preemptions = preemptions;
  f->steps = m->trace.steps;
  f->at_boot = !c;
  f->choices = 0;
  for (uint32_t i = 0; c && i < c->made_count && i < SEARCH_CHOICES; i++)
    f->choice[f->choices++] = c->made[i];
  keep_points(m, f);
}

// Takes down what the schedule that just ran has shown. `c` is NULL for what
// happened before any schedule.
static void collect(struct machine *m, const int *harts,
                    const struct chooser *c, struct result *r)
{
  int preemptions = !c ? 0 : c->mode == CHOOSE_ALL ? c->spent : -1;
  if (c && c->made_count > SEARCH_CHOICES)
    return;
  for (int i = 0; i < m->reports; i++) {
    const struct report *what = &m->report[i];
    struct finding *f = search_find(r, what);
    if (f && !better(f, preemptions, m->trace.steps))
      continue;
    if (!f) {
      GROW(r->finding, r->findings, r->findings_room);
      f = &r->finding[r->findings++];
      *f = (struct finding){.schedule = r->schedules};
    }
    fill(m, what, harts, c, preemptions, f);
  }
}

static void add_note(struct result *r, const struct report *n)
{
  for (size_t k = 0; k < r->notes; k++) {
    if (r->note[k].kind == n->kind && r->note[k].key == n->key)
      return;
  }
  GROW(r->note, r->notes, r->notes_room);
  r->note[r->notes++] = *n;
}

static void note_circle(const struct machine *m, struct result *r)
{
  int circle[LOCKS_MOST];
  int length = locks_circle(&m->locks, circle);
  if (length > 0) {
    int a = circle[0], b = circle[1 % length];
    struct report n = {
        .kind = EX_LOCK_ORDER,
        .pc = machine_relative(m, m->locks.edge[a][b].pc),
        .addr = machine_relative(m, m->locks.lock[b].addr),
        .value = length,
    };
    snprintf(n.text, sizeof n.text,
             "%d locks, each taken while another of "
             "them is held",
             length);
    add_note(r, &n);
  }
}

static void note_remote(const struct machine *m, struct result *r,
                        const struct machine_use *u, uint64_t key,
                        const char *what)
{
  struct report n = {.kind = EX_REMOTE, .key = key};
  if (u->remote_calls * 100 <= u->calls * (uint64_t)m->lab->remote_percent)
    return;
  snprintf(n.text, sizeof n.text,
           "%lu of %lu %s took a lock that is not the own hart's",
           (unsigned long)u->remote_calls, (unsigned long)u->calls, what);
  add_note(r, &n);
}

void machine_use_add(struct machine_use *to, const struct machine_use *from)
{
  to->calls += from->calls;
  to->acquisitions += from->acquisitions;
  to->remote += from->remote;
  to->remote_calls += from->remote_calls;
}

void search_conclude(const struct machine *m, struct result *r)
{
  note_remote(m, r, &r->allocs, 0, "allocations");
  note_remote(m, r, &r->frees, 1, "frees");
}

// How a round of schedules ended.
enum round { ROUND_DONE, ROUND_CAPPED, ROUND_AGAIN, ROUND_CUT };

static enum round run_round(struct machine *m, const int *harts,
                            const struct search_options *o, uint32_t most,
                            struct result *r, uint64_t *ret_schedules)
{
  uint64_t n = 0;
  enum round end = ROUND_DONE;
  do {
    if (n == most) {
      end = ROUND_CAPPED;
      break;
    }
    if (n % TIME_EVERY == 0 && o->time_is_up && o->time_is_up()) {
      end = ROUND_CUT;
      break;
    }
    machine_run(m, &chooser);
    n++;
    r->schedules++;
    if (m->reports > 0)
      collect(m, harts, &chooser, r);
    if (m->new_points) {
      end = ROUND_AGAIN;
      break;
    }
  } while (choose_next(&chooser));
  *ret_schedules = n;
  return end;
}

// One pass over the bounds. Returns false when it must start again, since new
// points change which schedules there are.
static bool run_bounds(struct machine *m, const int *harts,
                       const struct search_options *o, struct result *r,
                       struct coverage *c)
{
  int bound = o->bound < m->program->bound ? o->bound : m->program->bound;
  for (int b = 0; b <= bound && b < SEARCH_BOUNDS; b++) {
    choose_init(&chooser, CHOOSE_ALL, b, 0);
    enum round end =
        run_round(m, harts, o, o->schedules_most, r, &c->schedules[b]);
    c->complete[b] = end == ROUND_DONE && !chooser.too_deep;
    if (end == ROUND_AGAIN)
      return false;
    c->cut |= end == ROUND_CUT;
    if (c->cut)
      return true;
  }
  static const enum choose_mode modes[] = {CHOOSE_RANDOM, CHOOSE_PCT};
  for (size_t i = 0; i < 2 && o->random > 0; i++) {
    uint64_t n;
    choose_init(&chooser, modes[i], 3, o->seed);
    enum round end = run_round(m, harts, o, o->random, r, &n);
    c->random += n;
    if (end == ROUND_AGAIN)
      return false;
    c->cut |= end == ROUND_CUT;
  }
  return true;
}

void search_program(struct machine *m, const struct ex_program *program,
                    const int *harts, const struct search_options *o,
                    struct result *r)
{
  struct coverage c = {.program = program};
  memcpy(c.harts, harts, sizeof c.harts);
  if (!machine_boot(m, program, harts)) {
    collect(m, harts, NULL, r);
  } else {
    for (int round = 0; round < ROUNDS_MOST; round++) {
      m->new_points = false;
      c.random = 0;
      if (run_bounds(m, harts, o, r, &c))
        break;
    }
  }
  for (int i = 0; i < m->notes; i++)
    add_note(r, &m->note[i]);
  note_circle(m, r);
  machine_use_add(&r->allocs, &m->allocs);
  machine_use_add(&r->frees, &m->frees);
  GROW(r->coverage, r->coverages, r->coverages_room);
  r->coverage[r->coverages++] = c;
}

// ---- making a finding small, and showing it ---------------------------------

// What shrink() calls to try a smaller program.
struct attempt {
  struct machine *m;
  struct finding *best;
};

static bool try_program(void *arg, const struct ex_program *program)
{
  struct attempt *a = arg;
  struct search_options o = {.bound = a->best->preemptions,
                             .schedules_most = SHRINK_SCHEDULES};
  struct result r = {0};
  bool smaller = false;

  search_program(a->m, program, a->best->harts, &o, &r);
  const struct finding *f = search_find(&r, &a->best->report);
  if (f && f->at_boot == a->best->at_boot &&
      (f->preemptions < a->best->preemptions ||
       (f->preemptions == a->best->preemptions && f->steps < a->best->steps))) {
    uint64_t schedule = a->best->schedule;
    *a->best = *f;
    a->best->schedule = schedule;
    smaller = true;
  }
  result_release(&r);
  return smaller;
}

void search_minimise(struct machine *m, struct finding *f)
{
  struct attempt a = {m, f};
  if (f->preemptions < 0)
    return;
  struct ex_program program = f->program;
  shrink(&program, try_program, &a);
}

static void repeat(struct machine *m, const struct finding *f)
{
  struct ex_program program = f->program;
  trace_begin(&m->trace);
  m->trace.recording = true;
  if (machine_boot(m, &program, f->harts)) {
    use_points(m, f);
    choose_init_replay(&chooser, f->choice, (uint32_t)f->choices);
    machine_run(m, &chooser);
  }
  m->trace.recording = false;
}

static bool reported(const struct machine *m, const struct report *what)
{
  for (int i = 0; i < m->reports; i++) {
    if (m->report[i].kind == what->kind && m->report[i].key == what->key)
      return true;
  }
  return false;
}

void search_record(struct machine *m, struct finding *f)
{
  f->repeats = true;
  for (int i = 0; i < 3; i++) {
    repeat(m, f);
    f->repeats = f->repeats && reported(m, &f->report) &&
                 (i == 0 || f->hash == m->trace.hash);
    f->hash = m->trace.hash;
  }
  free(f->event);
  f->events = m->trace.events;
  f->event = xcalloc(f->events + 1, sizeof *f->event);
  memcpy(f->event, m->trace.event, f->events * sizeof *f->event);
}
