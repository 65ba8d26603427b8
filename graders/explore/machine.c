// Threads, harts, and the points where one gives way to another.
//
// Deliberately no weak memory: one thread acts at a time, and each sees what
// all others did before.
#include "graders/explore/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"

struct machine *the_machine;

// ---- reports and events -----------------------------------------------------

void machine_event(struct machine *m, enum ex_event_kind kind, const void *pc,
                   const void *addr, int64_t value)
{
  if (!m->trace.recording) {
    m->trace.steps++;
    return;
  }
  const struct thread *t = &m->thread[m->current < 0 ? 0 : m->current];
  int frame = t->depth < MACHINE_FRAMES ? t->depth : MACHINE_FRAMES;
  struct ex_event e = {
      .kind = (uint8_t)kind,
      .thread = (uint8_t)machine_id(m, t),
      .hart = (uint8_t)m->hart[t->slot].number,
      .pc = machine_relative(m, pc),
      .caller = frame > 0 ? machine_relative(m, t->frame[frame - 1]) : 0,
      .addr = machine_relative(m, addr),
      .value = value,
  };
  trace_add(&m->trace, &e);
}

static bool known(const struct report *list, int count, enum ex_kind kind,
                  uint64_t key)
{
  for (int i = 0; i < count; i++) {
    if (list[i].kind == kind && list[i].key == key)
      return true;
  }
  return false;
}

// Whether something in this schedule is the consequence of what was reported
// first. Notes about memory after a page went astray are, too.
static bool follows(const struct machine *m, enum ex_kind kind)
{
  if (m->reports == 0)
    return false;
  switch (m->report[0].kind) {
  case EX_FALSE_EMPTY:
    return false;
  case EX_INTERRUPTS:
    return ex_kind_is_finding(kind) && kind != EX_DEADLOCK;
  default:
    return true;
  }
}

void machine_report(struct machine *m, enum ex_kind kind, uint64_t key,
                    const void *pc, const void *addr, bool fatal,
                    const char *fmt, ...)
{
  bool finding = ex_kind_is_finding(kind);
  struct report *list = finding ? m->report : m->note;
  int *count = finding ? &m->reports : &m->notes;
  int most = finding ? MACHINE_REPORTS : MACHINE_NOTES;
  if (!known(list, *count, kind, key) && *count < most && !follows(m, kind)) {
    struct report *r = &list[(*count)++];
    *r = (struct report){.kind = kind,
                         .key = key,
                         .pc = machine_relative(m, pc),
                         .addr = machine_relative(m, addr)};
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->text, sizeof r->text, fmt, args);
    va_end(args);
    if (finding)
      machine_event(m, EV_BREAKS, pc, addr, (int64_t)kind);
  }
  if (fatal && m->current >= 0)
    machine_stop(m);
}

void machine_stop(struct machine *m)
{
  struct coro *dropped = &m->thread[m->current].coro;
  m->current = -1;
  coro_switch(dropped, &m->main);
  __builtin_unreachable();
}

// ---- who can run ------------------------------------------------------------

static bool can_run(const struct machine *m, const struct thread *t)
{
  switch (t->state) {
  case THREAD_READY:
    return true;
  case THREAD_LOCK:
    return *t->word == 0;
  case THREAD_SPIN:
    return m->changes != t->seen_change;
  case THREAD_TAKE:
    return m->gifts[machine_id(m, t)] > m->gifts_taken[machine_id(m, t)];
  case THREAD_ENDED:
    break;
  }
  return false;
}

static void switch_to(struct machine *m, struct thread *from, int to)
{
  m->current = to;
  if (from == &m->thread[to])
    return;
  coro_switch(&from->coro, &m->thread[to].coro);
}

// Collects the other threads that can run, next one first.
static int others(const struct machine *m, const struct thread *t, int cost,
                  struct choose_option *option)
{
  int n = 0;
  for (int i = 1; i < EX_HARTS; i++) {
    int id = (machine_id(m, t) + i) % EX_HARTS;
    if (can_run(m, &m->thread[id]))
      option[n++] = (struct choose_option){(uint8_t)cost, (uint8_t)id};
  }
  return n;
}

// Takes one of the options; a single one is no choice.
static int take(struct machine *m, const struct choose_option *option, int n)
{
  if (n > 1)
    return option[choose(m->chooser, option, n)].actor;
  choose_skip(m->chooser);
  return option[0].actor;
}

// ---- moving to another hart -------------------------------------------------

// Adds the harts that the thread could move to. Its number must have been
// read in this call: before that, moving is the same as having started there.
static int moves(const struct machine *m, const struct thread *t,
                 struct choose_option *option)
{
  int n = 0;
  if (!t->in_call || !t->numbered || !m->hart[t->slot].interrupts)
    return 0;
  for (int slot = 0; slot < EX_HARTS; slot++) {
    if (slot != t->slot && m->hart[slot].interrupts)
      option[n++] = (struct choose_option){1, (uint8_t)(EX_HARTS + slot)};
  }
  return n;
}

// The timer interrupts both harts, and each goes on with the other's thread.
static void move(struct machine *m, struct thread *t, int slot)
{
  struct hart *from = &m->hart[t->slot], *to = &m->hart[slot];
  int old = t->slot, id = machine_id(m, t), other = to->thread;
  struct thread *u = &m->thread[other];

  hb_teach(&m->hb, id, &from->clock);
  hb_teach(&m->hb, other, &to->clock);
  hb_learn(&m->hb, id, &to->clock);
  hb_learn(&m->hb, other, &from->clock);
  u->slot = old;
  u->stale = u->in_call && u->numbered && u->number != from->number;
  from->thread = other;
  t->slot = slot;
  t->stale = t->numbered && t->number != to->number;
  to->thread = id;
  machine_event(m, EV_MOVES, NULL, NULL, from->number);
}

void machine_move_point(struct machine *m, struct thread *t)
{
  struct choose_option option[CHOOSE_OPTIONS] = {
      {0, (uint8_t)machine_id(m, t)}};
  if (m->alone)
    return;
  if (t->nonstop || !choose_open(m->chooser) || !t->numbered) {
    choose_skip(m->chooser);
    return;
  }
  int actor = take(m, option, 1 + moves(m, t, option + 1));
  if (actor >= EX_HARTS)
    move(m, t, actor - EX_HARTS);
}

void machine_point(struct machine *m, struct thread *t)
{
  struct choose_option option[CHOOSE_OPTIONS] = {
      {0, (uint8_t)machine_id(m, t)}};
  if (m->alone)
    return;
  if (t->nonstop || !choose_open(m->chooser)) {
    choose_skip(m->chooser);
    return;
  }
  int n = 1 + others(m, t, 1, option + 1);
  n += moves(m, t, option + n);
  int actor = take(m, option, n);
  if (actor >= EX_HARTS)
    move(m, t, actor - EX_HARTS);
  else
    switch_to(m, t, actor);
}

// ---- waiting ----------------------------------------------------------------

// The thread that has the lock, or NULL.
static const struct thread *holder(const struct machine *m, const void *lock)
{
  for (int i = 0; i < EX_HARTS; i++) {
    const struct thread *t = &m->thread[i];
    for (int k = 0; k < t->locks.count; k++) {
      if (m->locks.lock[t->locks.lock[k]].addr == lock)
        return t;
    }
  }
  return NULL;
}

// Nobody can go on. The places where they wait say which deadlock it is; when
// a lock was kept by somebody who no longer does anything, that is the cause,
// and who runs into it is chance.
static void deadlock(struct machine *m)
{
  uint64_t key = 0;
  const void *pc = NULL, *addr = NULL;
  int waiting = 0;
  bool kept = false;
  for (int i = 0; i < EX_HARTS; i++) {
    const struct thread *t = &m->thread[i];
    if (t->state != THREAD_LOCK)
      continue;
    if (!waiting++) {
      pc = t->at;
      addr = t->lock;
    }
    // Equal places count once: two harts or three in one place are one thing.
    uint64_t place = choose_random(&(uint64_t){machine_relative(m, t->at)});
    key |= UINT64_C(1) << (place & 63);
    const struct thread *u = holder(m, t->lock);
    kept |= !u || u->state == THREAD_ENDED;
  }
  machine_report(m, EX_DEADLOCK, kept ? 0 : key, pc, addr, true,
                 kept ? "%d hart%s for a lock that is never given back"
                      : "%d hart%s for each other's locks for ever",
                 waiting, waiting == 1 ? " waits" : "s wait");
}

// Finds a thread that goes on, when the current one cannot.
static int next_thread(struct machine *m, struct thread *t)
{
  struct choose_option option[CHOOSE_OPTIONS];
  int n = others(m, t, 0, option);
  if (n > 0)
    return take(m, option, n);
  // Spinning threads may look again: perhaps they give up by themselves.
  for (int i = 1; i <= EX_HARTS; i++) {
    int id = (machine_id(m, t) + i) % EX_HARTS;
    if (m->thread[id].state == THREAD_SPIN)
      return id;
  }
  return -1;
}

void machine_wait(struct machine *m, struct thread *t)
{
  if (t->state == THREAD_LOCK) {
    const struct thread *u = holder(m, t->lock);
    machine_event(m, EV_WAITS, t->at, t->lock,
                  u ? m->hart[u->slot].number : -1);
  }
  while (!can_run(m, t)) {
    int next = m->alone ? -1 : next_thread(m, t);
    if (next < 0)
      deadlock(m);
    switch_to(m, t, next);
  }
  t->state = THREAD_READY;
}

void machine_yield(struct machine *m, struct thread *t)
{
  struct choose_option option[CHOOSE_OPTIONS];
  t->burst = 0;
  if (m->alone)
    return;
  int n = others(m, t, 1, option);
  if (n > 0) {
    option[0].cost = 0;
    switch_to(m, t, take(m, option, choose_open(m->chooser) ? n : 1));
  }
  t->state = THREAD_READY;
}

// ---- running ----------------------------------------------------------------

static void thread_entry(void)
{
  struct machine *m = the_machine;
  struct thread *t = machine_thread(m);
  m->body(t);
  machine_event(m, EV_ENDS, NULL, NULL, 0);
  t->state = THREAD_ENDED;
  if (!m->alone) {
    int next = next_thread(m, t);
    if (next >= 0)
      switch_to(m, t, next);
    for (int i = 0; i < EX_HARTS; i++) {
      if (m->thread[i].state == THREAD_LOCK)
        deadlock(m);
    }
  }
  m->current = -1;
  coro_switch(&t->coro, &m->main);
}

static void start_thread(struct machine *m, int id)
{
  struct thread *t = &m->thread[id];
  t->state = THREAD_READY;
  t->in_code = t->in_call = false;
  t->depth = 0;
  t->locks.count = 0;
  coro_start(&t->coro, t->stack, thread_entry);
}

void machine_alone(struct machine *m, int id, void (*body)(struct thread *t))
{
  m->alone = true;
  m->body = body;
  start_thread(m, id);
  m->current = id;
  coro_switch(&m->main, &m->thread[id].coro);
  m->current = -1;
}

static void reset_harts(struct machine *m, const int *numbers, bool interrupts)
{
  for (int i = 0; i < EX_HARTS; i++) {
    m->hart[i] = (struct hart){
        .number = numbers[i], .interrupts = interrupts, .thread = i};
    m->thread[i] = (struct thread){
        .stack = m->thread[i].stack, .slot = i, .state = THREAD_ENDED};
    m->gifts[i] = m->gifts_taken[i] = 0;
  }
}

static bool initialise(struct machine *m, const struct ex_program *program,
                       const int *harts)
{
  // The first hart boots, alone and with interrupts off.
  static const int first[EX_HARTS] = {0, 1, 2};
  m->program = program;
  m->reports = 0;
  m->notes = 0;
  m->doubtful_page = -1;
  m->endless = MACHINE_ENDLESS;
  m->allocs = m->frees = (struct machine_use){0};
  memset(&m->locks, 0, sizeof m->locks);
  memset(m->caller_lock, 0, sizeof m->caller_lock);
  image_reset(m->im, program->pages);
  pages_init(&m->pages, program->pages);
  reset_harts(m, first, false);
  hb_begin(&m->hb);
  trace_begin(&m->trace);
  machine_alone(m, 0, caller_boot);
  if (m->reports == 0) {
    lists_find_starts(&m->lists);
    oracle_after_boot(m);
  }
  reset_harts(m, harts, true);
  return m->reports == 0;
}

static ex_call *find(struct machine *m, const struct ex_function *f,
                     struct error *err)
{
  ex_call *fn = (ex_call *)image_function(m->im, f->name);
  if (!fn)
    error_set(err, LG_EBUILD, "the file has no function %s()", f->name);
  return fn;
}

int machine_open(struct machine *m, struct image *im, const struct ex_lab *lab,
                 struct error *err)
{
  static const struct ex_program program = {.pages = MACHINE_PAGES};
  static const int harts[EX_HARTS] = {0, 1, 2};
  *m = (struct machine){.im = im, .lab = lab, .current = -1};
  m->init = find(m, &lab->init, err);
  m->alloc = find(m, &lab->alloc, err);
  m->free = find(m, &lab->free, err);
  if (!m->init || !m->alloc || !m->free)
    return LG_EBUILD;
  the_machine = m;
  for (int i = 0; i < EX_HARTS; i++)
    m->thread[i].stack = coro_stack_new();
  m->point = xcalloc(im->code_high - im->code_low + 1, 1);
  im->guest->attach(&machine_hooks);
  lists_init(&m->lists, im);
  if (initialise(m, &program, harts)) {
    lists_learn_begin(&m->lists);
    machine_alone(m, 0, caller_learn);
    lists_learn_end(&m->lists);
  }
  return 0;
}

void machine_close(struct machine *m)
{
  for (int i = 0; i < EX_HARTS; i++)
    coro_stack_free(m->thread[i].stack);
  trace_release(&m->trace);
  free(m->point);
  *m = (struct machine){0};
  the_machine = NULL;
}

// Whether the state is good enough to run programs from, whatever was found.
static bool can_go_on(const struct machine *m)
{
  for (int i = 0; i < m->reports; i++) {
    enum ex_kind kind = m->report[i].kind;
    if (kind != EX_FALSE_EMPTY && kind != EX_INTERRUPTS && kind != EX_LOST)
      return false;
  }
  return true;
}

bool machine_boot(struct machine *m, const struct ex_program *program,
                  const int *harts)
{
  struct lists_start start[LISTS_COUNTS];
  int starts = m->lists.starts;
  memcpy(start, m->lists.start, sizeof start);
  memset(m->point, 0, m->im->code_high - m->im->code_low + 1);
  m->new_points = false;
  initialise(m, program, harts);
  memcpy(m->lists.start, start, sizeof start);
  m->lists.starts = starts;
  for (int i = 0; i < EX_HARTS && can_go_on(m); i++)
    machine_alone(m, i, caller_before);
  if (!can_go_on(m))
    return false;
  pages_settle(&m->pages);
  image_save(m->im);
  for (int i = 0; i < m->locks.count; i++)
    m->locks.lock[i].initialised_saved = m->locks.lock[i].initialised;
  memcpy(m->thread_saved, m->thread, sizeof m->thread);
  memcpy(m->hart_saved, m->hart, sizeof m->hart);
  m->pages_saved = m->pages;
  return true;
}

static void restore(struct machine *m)
{
  image_restore(m->im);
  for (int i = 0; i < m->locks.count; i++)
    m->locks.lock[i].initialised = m->locks.lock[i].initialised_saved;
  for (int i = 0; i < EX_HARTS; i++) {
    struct thread *t = &m->thread[i];
    const struct thread *s = &m->thread_saved[i];
    t->slot = s->slot;
    t->held_count = s->held_count;
    memcpy(t->held, s->held, (size_t)s->held_count * sizeof t->held[0]);
    t->numbered = NULL;
    t->stale = false;
    t->nonstop = false;
    m->gifts[i] = m->gifts_taken[i] = 0;
    m->gift_clock[i] = (struct hb_clock){{0}};
  }
  m->expects_panic = false;
  memset(m->caller_lock, 0, sizeof m->caller_lock);
  memcpy(m->hart, m->hart_saved, sizeof m->hart);
  memcpy(m->pages.page, m->pages_saved.page,
         (size_t)m->pages.count * sizeof m->pages.page[0]);
  m->doubtful_page = -1;
}

void machine_run(struct machine *m, struct chooser *c)
{
  struct choose_option option[CHOOSE_OPTIONS];
  int n = 0;

  restore(m);
  m->chooser = c;
  m->reports = 0;
  m->changes = 0;
  hb_begin(&m->hb);
  trace_begin(&m->trace);
  choose_begin(c);
  m->alone = false;
  m->body = caller_run;
  for (int i = 0; i < EX_HARTS; i++) {
    m->thread[i].state = THREAD_ENDED;
    if (m->program->thread[i].count == 0)
      continue;
    start_thread(m, i);
    option[n++] = (struct choose_option){0, (uint8_t)i};
  }
  if (n == 0)
    return;
  m->current = take(m, option, n);
  coro_switch(&m->main, &m->thread[m->current].coro);
  bool ended = true;
  for (int i = 0; i < EX_HARTS; i++)
    ended = ended && m->thread[i].state == THREAD_ENDED;
  m->current = -1;
  if (ended)
    oracle_at_end(m);
}

void machine_signal(struct machine *m, int signo, const void *addr)
{
  struct thread *t = machine_thread(m);
  const void *pc = t->at;
  if (signo == 0) {
    m->dead_loops++;
    machine_report(m, EX_ENDLESS, machine_relative(m, pc), pc, NULL, true,
                   "a loop that accesses no memory does not end");
  }
  bool overflow = (uintptr_t)t->stack - (uintptr_t)addr <= CORO_GUARD_BYTES;
  machine_report(m, EX_CRASH, (uint64_t)signo, pc, NULL, true, "%s",
                 overflow ? "the stack overflows: functions call each other "
                            "without end"
                          : strsignal(signo));
}
