// Runs schedules and keeps the best one of each finding: with the fewest
// preemptions, then with the fewest steps.
#include "graders/explore/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/explore/shrink.h"
#include "labgen/base/alloc.h"

enum {
  MEASURE_LEAST = 50,  // calls that a share is worth telling of
  ROUNDS_MOST = 40,    // times that new points make a program start again
  TIME_EVERY = 256,    // schedules between looks at the clock
  // What costs more than correct allocators do is not gone through to the end,
  // at one bound of one program: schedules with a call that never ends, and
  // accesses for each schedule that there may be (the most seen was 490).
  ENDLESS_MOST = 100,
  ACCESSES_A_SCHEDULE = 1000,
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

static int keep_points(const struct machine *m, uint64_t *ret)
{
  int n = 0;
  uintptr_t bytes = m->im->code_high - m->im->code_low;
  for (uintptr_t i = 0; i < bytes && n < SEARCH_POINTS; i++) {
    if (m->point[i])
      ret[n++] = m->im->code_low + i - m->im->base;
  }
  return n;
}

static void use_points(struct machine *m, const uint64_t *point, int points)
{
  uintptr_t bytes = m->im->code_high - m->im->code_low;
  for (int i = 0; i < points; i++) {
    uintptr_t off = point[i] + m->im->base - m->im->code_low;
    if (off < bytes)
      m->point[off] = 1;
  }
}

// Fewest preemptions first (random schedules last), then fewest steps, then the
// first program: the same whatever was explored in which process.
static bool better(const struct finding *old, const struct finding *f)
{
  if ((old->preemptions < 0) != (f->preemptions < 0))
    return old->preemptions < 0;
  if (f->preemptions != old->preemptions)
    return f->preemptions < old->preemptions;
  if (f->steps != old->steps)
    return f->steps < old->steps;
  return f->unit < old->unit;
}

// The choices of the schedule that just ran; `c` is NULL when what is reported
// happened before any schedule.
static void keep_schedule(const struct machine *m, const struct chooser *c,
                          struct finding *f)
{
  f->at_boot = !c;
  f->choices = 0;
  for (uint32_t i = 0; c && i < c->made_count; i++)
    f->choice[f->choices++] = c->made[i];
  f->points = keep_points(m, f->point);
}

// Takes down what was reported.
static void collect(struct machine *m, const struct unit *u,
                    const struct search_options *o, const struct chooser *c,
                    struct result *r)
{
  static struct finding f;
  if (c && c->made_count > SEARCH_CHOICES)
    return;
  for (int i = 0; i < m->reports; i++) {
    struct finding *old = search_find(r, &m->report[i]);
    f.report = m->report[i];
    f.unit = u->number;
    f.steps = m->trace.steps;
    f.preemptions = !c ? 0 : c->mode == CHOOSE_ALL ? c->spent : -1;
    f.schedule = old ? old->schedule : r->schedules;
    f.found_ms = old ? old->found_ms : o->now_ms ? o->now_ms() : 0;
    if (old && !better(old, &f))
      continue;
    f.program = *u->program;
    memcpy(f.harts, u->harts, sizeof f.harts);
    keep_schedule(m, c, &f);
    if (!old) {
      GROW(r->finding, r->findings, r->findings_room);
      old = &r->finding[r->findings++];
    }
    *old = f;
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
  if (u->calls < MEASURE_LEAST ||
      u->remote_calls * 100 <= u->calls * (uint64_t)m->lab->remote_percent)
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

static bool never_ended(const struct machine *m)
{
  for (int i = 0; i < m->reports; i++)
    if (m->report[i].kind == EX_ENDLESS)
      return true;
  return false;
}

// How a round of schedules ended.
enum round { ROUND_DONE, ROUND_CAPPED, ROUND_AGAIN, ROUND_CUT };

static enum round run_round(struct machine *m, const struct unit *u,
                            const struct search_options *o, uint32_t most,
                            struct result *r, uint64_t *ret_schedules)
{
  uint64_t n = 0, accesses = 0, endless = 0;
  enum round end = ROUND_DONE;
  do {
    if (n == most || m->dead_loops >= MACHINE_HOPELESS ||
        endless == ENDLESS_MOST ||
        accesses / ACCESSES_A_SCHEDULE >= (uint64_t)most) {
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
    accesses += m->hb.step;
    endless += never_ended(m);
    if (m->reports > 0)
      collect(m, u, o, &chooser, r);
    if (m->new_points) {
      end = ROUND_AGAIN;
      break;
    }
  } while (choose_next(&chooser));
  *ret_schedules = n;
  return end;
}

// One pass over bounds, and random schedules. Returns how the last round ended.
static enum round run_bounds(struct machine *m, int first, int last,
                             const struct search_options *o, struct result *r,
                             struct coverage *c)
{
  static const enum choose_mode modes[] = {CHOOSE_RANDOM, CHOOSE_PCT};
  enum round end = ROUND_DONE;
  for (int b = first; b <= last && b <= m->program->bound; b++) {
    choose_init(&chooser, CHOOSE_ALL, b, 0);
    end = run_round(m, &c->unit, o, o->schedules_most, r, &c->schedules[b]);
    c->complete[b] = end == ROUND_DONE && !chooser.too_deep;
    if (end == ROUND_AGAIN || end == ROUND_CUT)
      return end;
  }
  c->random = 0;
  for (size_t i = 0; i < 2 && o->random > 0; i++) {
    uint64_t n;
    choose_init(&chooser, modes[i], 3, o->seed);
    end = run_round(m, &c->unit, o, o->random, r, &n);
    c->random += n;
    if (end == ROUND_AGAIN)
      return end;
  }
  // Random schedules go on for as long as there is time; that is no cut.
  return ROUND_DONE;
}

static struct coverage *coverage_of(struct result *r, const struct unit *u)
{
  for (size_t i = 0; i < r->coverages; i++) {
    if (r->coverage[i].unit.number == u->number)
      return &r->coverage[i];
  }
  GROW(r->coverage, r->coverages, r->coverages_room);
  struct coverage *c = &r->coverage[r->coverages++];
  *c = (struct coverage){.unit = *u};
  for (int b = 0; b < SEARCH_BOUNDS; b++)
    c->complete[b] = b > u->program->bound;
  return c;
}

void search_unit(struct machine *m, const struct unit *u, int first, int last,
                 const struct search_options *o, struct result *r)
{
  struct coverage *c = coverage_of(r, u);
  if (c->cut || (first > u->program->bound && o->random == 0))
    return;
  bool good = machine_boot(m, u->program, u->harts);
  if (first == 0)
    collect(m, u, o, NULL, r);
  use_points(m, c->point, c->points);
  m->new_points = false;
  enum round end = good ? run_bounds(m, first, last, o, r, c) : ROUND_DONE;
  // New points make other schedules, so all bounds so far come again.
  for (int i = 0; end == ROUND_AGAIN && i < ROUNDS_MOST; i++) {
    m->new_points = false;
    end = run_bounds(m, 0, last, o, r, c);
  }
  c->cut = end == ROUND_CUT;
  c->points = keep_points(m, c->point);
  for (int i = 0; i < m->notes; i++)
    add_note(r, &m->note[i]);
  note_circle(m, r);
  machine_use_add(&r->allocs, &m->allocs);
  machine_use_add(&r->frees, &m->frees);
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
  struct search_options o = {.schedules_most = SHRINK_SCHEDULES};
  struct unit u = {.program = program, .number = a->best->unit};
  struct result r = {0};
  bool smaller = false;

  memcpy(u.harts, a->best->harts, sizeof u.harts);
  search_unit(a->m, &u, 0, a->best->preemptions, &o, &r);
  const struct finding *f = search_find(&r, &a->best->report);
  if (f && f->at_boot == a->best->at_boot &&
      (f->preemptions < a->best->preemptions ||
       (f->preemptions == a->best->preemptions && f->steps < a->best->steps))) {
    uint64_t schedule = a->best->schedule;
    double found_ms = a->best->found_ms;
    *a->best = *f;
    a->best->schedule = schedule;
    a->best->found_ms = found_ms;
    smaller = true;
  }
  result_release(&r);
  return smaller;
}

void search_minimise(struct machine *m, struct finding *f)
{
  struct attempt a = {m, f};
  if (f->preemptions < 0 || m->dead_loops > 0)
    return;
  struct ex_program program = f->program;
  shrink(&program, try_program, &a);
}

static void repeat(struct machine *m, const struct finding *f)
{
  struct ex_program program = f->program;
  trace_begin(&m->trace);
  m->trace.recording = true;
  if (machine_boot(m, &program, f->harts) && !f->at_boot) {
    use_points(m, f->point, f->points);
    choose_init_replay(&chooser, f->choice, (uint32_t)f->choices);
    machine_run(m, &chooser);
  }
  m->trace.recording = false;
}

static const struct report *reported(const struct machine *m,
                                     const struct report *what)
{
  for (int i = 0; i < m->reports; i++) {
    if (m->report[i].kind == what->kind && m->report[i].key == what->key)
      return &m->report[i];
  }
  return NULL;
}

void search_record(struct machine *m, struct finding *f)
{
  f->repeats = true;
  for (int i = 0; i < 3; i++) {
    repeat(m, f);
    const struct report *now = reported(m, &f->report);
    f->repeats = f->repeats && now && (i == 0 || f->hash == m->trace.hash);
    if (now)
      f->report = *now;
    f->hash = m->trace.hash;
  }
  free(f->event);
  f->events = m->trace.events;
  f->event = xcalloc(f->events + 1, sizeof *f->event);
  memcpy(f->event, m->trace.event, f->events * sizeof *f->event);
}
