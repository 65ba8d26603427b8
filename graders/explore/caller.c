// The allocator's callers: what the threads of a program do.
//
// Each page that a caller gets is marked as its own, and the mark is looked at
// before the page is freed: a page that two callers have, or that the
// allocator writes to, shows.
#include <string.h>

#include "graders/explore/machine.h"

enum { CALLER_BYTE = 0xee };

// A call with up to EX_ARGS numbers, and a page in front for `free`.
static void *call(ex_call *fn, const struct ex_function *f, void *page)
{
  const long *a = f->arg;
  struct thread *t = machine_thread(the_machine);
  t->in_code = true;
  void *got =
      page ? fn((long)page, a[0], a[1], a[2]) : fn(a[0], a[1], a[2], 0);
  t->in_code = false;
  return got;
}

static void begin_call(struct thread *t, bool allocating, uint32_t step)
{
  t->in_call = true;
  t->allocating = allocating;
  t->call_step = step;
  t->numbered = NULL;
  t->stale = false;
  t->remote = false;
  t->accesses = t->burst = 0;
  t->spins = false;
  t->seen_next = 0;
  memset(t->seen, 0, sizeof t->seen);
  t->depth = 0;
}

static void end_call(struct machine *m, struct thread *t)
{
  struct machine_use *u = t->allocating ? &m->allocs : &m->frees;
  t->in_call = false;
  if (!m->program->measure)
    return;
  u->calls++;
  u->remote_calls += t->remote;
}

static int noff(struct machine *m, const struct thread *t)
{
  return *m->im->guest->noff(m->hart[t->slot].number);
}

static void mark(struct machine *m, const struct thread *t, int page)
{
  uint64_t *w = (uint64_t *)image_page_at(m->im, page);
  image_fill(m->im, page, CALLER_BYTE);
  w[0] = EX_CALLER_MARK + (uint64_t)machine_id(m, t);
  w[1] = (uint64_t)page;
  machine_caller_writes(m, page);
}

static bool mark_is_there(struct machine *m, const struct thread *t, int page)
{
  const uint64_t *w = (const uint64_t *)image_page_at(m->im, page);
  return w[0] == EX_CALLER_MARK + (uint64_t)machine_id(m, t) &&
         w[1] == (uint64_t)page && image_last_byte(m->im, page) == CALLER_BYTE;
}

static void forget_oldest(struct thread *t)
{
  t->held_count--;
  memmove(t->held, t->held + 1, (size_t)t->held_count * sizeof t->held[0]);
}

// One call of alloc. Returns the page, or -1.
static int allocate(struct machine *m, struct thread *t)
{
  bool interrupts = m->hart[t->slot].interrupts;
  int depth = noff(m, t);
  begin_call(t, true, m->hb.step);
  machine_event(m, EV_CALL_ALLOC, NULL, NULL, 0);
  char *got = call(m->alloc, &m->lab->alloc, NULL);
  int page = image_page_of(m->im, got);
  if (got && (page < 0 || image_page_at(m->im, page) != got))
    machine_report(m, EX_NOT_A_PAGE, 0, t->at, NULL, true,
                   "%p is returned, which is no page", (void *)got);
  machine_event(m, EV_GOT, NULL, NULL, page);
  oracle_returned(m, t, page);
  if (page < 0)
    oracle_none_left(m, t);
  oracle_after_call(m, t, interrupts, depth, t->at);
  end_call(m, t);
  if (page < 0)
    return page;
  if (pages_handed_out(&m->pages, page, machine_id(m, t)) < 0)
    machine_report(m, EX_DOUBLE, 0, t->at, NULL, true,
                   "page %d is handed out while it is in use", page);
  if (m->lab->junk_alloc >= 0 &&
      image_last_byte(m->im, page) != m->lab->junk_alloc)
    machine_report(m, EX_JUNK, 0, t->at, NULL, false,
                   "%s returns a page that is not filled with %d",
                   m->lab->alloc.name, m->lab->junk_alloc);
  mark(m, t, page);
  t->held[t->held_count++] = page;
  return page;
}

static void free_address(struct machine *m, struct thread *t, char *addr)
{
  bool interrupts = m->hart[t->slot].interrupts;
  int depth = noff(m, t);
  int page = image_page_of(m->im, addr);
  begin_call(t, false, m->hb.step);
  machine_event(m, EV_CALL_FREE, NULL, NULL, page);
  call(m->free, &m->lab->free, addr);
  machine_event(m, EV_DONE, NULL, NULL, page);
  oracle_after_call(m, t, interrupts, depth, t->at);
  end_call(m, t);
}

static void release_page(struct machine *m, struct thread *t, int page)
{
  if (!mark_is_there(m, t, page))
    machine_report(m, EX_OVERWRITTEN, 0, t->at, NULL, true,
                   "page %d changed while a caller had it", page);
  pages_freeing(&m->pages, page, machine_id(m, t));
  free_address(m, t, image_page_at(m->im, page));
  pages_freed(&m->pages, page, machine_id(m, t), m->hb.step);
}

static void free_oldest(struct machine *m, struct thread *t)
{
  int page = t->held[0];
  forget_oldest(t);
  release_page(m, t, page);
}

// ---- operations -------------------------------------------------------------

static void do_alloc(struct machine *m, struct thread *t, int n)
{
  while (n-- > 0 && allocate(m, t) >= 0) {
  }
}

static void do_alloc_all(struct machine *m, struct thread *t, int n)
{
  (void)n;
  while (allocate(m, t) >= 0) {
  }
}

static void do_free(struct machine *m, struct thread *t, int n)
{
  while (n-- > 0 && t->held_count > 0)
    free_oldest(m, t);
}

static void do_free_last(struct machine *m, struct thread *t, int n)
{
  (void)n;
  if (t->held_count > 0)
    release_page(m, t, t->held[--t->held_count]);
}

static void do_free_all(struct machine *m, struct thread *t, int n)
{
  (void)n;
  do_free(m, t, IMAGE_PAGES);
}

static void do_give(struct machine *m, struct thread *t, int to)
{
  int page = -1;
  int id = machine_id(m, t);
  if (t->held_count > 0) {
    page = t->held[0];
    forget_oldest(t);
  }
  machine_event(m, EV_HANDS_OVER, NULL, NULL, page);
  m->gift[to][m->gifts[to]++] = page;
  hb_teach(&m->hb, id, &m->gift_clock[to]);
  m->changes++;
}

static void do_take(struct machine *m, struct thread *t, int n)
{
  (void)n;
  int id = machine_id(m, t);
  if (m->gifts_taken[id] == m->gifts[id]) {
    t->state = THREAD_TAKE;
    machine_wait(m, t);
  }
  int page = m->gift[id][m->gifts_taken[id]++];
  hb_learn(&m->hb, id, &m->gift_clock[id]);
  machine_event(m, EV_IS_GIVEN, NULL, NULL, page);
  if (page < 0)
    return;
  pages_passed_on(&m->pages, page, id);
  mark(m, t, page);
  t->held[t->held_count++] = page;
}

static void do_nonstop(struct machine *m, struct thread *t, int n)
{
  (void)m;
  (void)n;
  t->nonstop = true;
}

static void do_off(struct machine *m, struct thread *t, int n)
{
  (void)t;
  (void)n;
  m->im->guest->push_off();
}

static void do_on(struct machine *m, struct thread *t, int n)
{
  (void)t;
  (void)n;
  m->im->guest->pop_off();
}

static void do_lock(struct machine *m, struct thread *t, int n)
{
  t->accesses = t->burst = 0;
  m->im->guest->acquire(m->caller_lock[n]);
}

static void do_unlock(struct machine *m, struct thread *t, int n)
{
  (void)t;
  m->im->guest->release(m->caller_lock[n]);
}

static void do_free_bad(struct machine *m, struct thread *t, int n)
{
  char *bad[] = {m->im->pool + 8, m->im->pool - IMAGE_NAMED, m->im->pool_top};
  m->expects_panic = true;
  free_address(m, t, bad[n]);
  m->expects_panic = false;
  machine_report(m, EX_BAD_FREE, (uint64_t)n, t->at, NULL, true,
                 "%s(%p) returns, and that is no page", m->lab->free.name,
                 (void *)bad[n]);
}

static void (*const operations[OP_COUNT])(struct machine *, struct thread *,
                                          int) = {
    [OP_ALLOC] = do_alloc,
    [OP_ALLOC_ALL] = do_alloc_all,
    [OP_FREE] = do_free,
    [OP_FREE_LAST] = do_free_last,
    [OP_FREE_ALL] = do_free_all,
    [OP_GIVE] = do_give,
    [OP_TAKE] = do_take,
    [OP_NONSTOP] = do_nonstop,
    [OP_OFF] = do_off,
    [OP_ON] = do_on,
    [OP_LOCK] = do_lock,
    [OP_UNLOCK] = do_unlock,
    [OP_FREE_BAD] = do_free_bad,
};

static void run(struct machine *m, struct thread *t, const struct ex_ops *ops)
{
  for (int i = 0; i < ops->count; i++)
    operations[ops->op[i].kind](m, t, ops->op[i].number);
}

void caller_boot(struct thread *t)
{
  t->accesses = t->burst = 0;
  call(the_machine->init, &the_machine->lab->init, NULL);
}

void caller_before(struct thread *t)
{
  struct machine *m = the_machine;
  run(m, t, &m->program->before[machine_id(m, t)]);
}

void caller_run(struct thread *t)
{
  struct machine *m = the_machine;
  run(m, t, &m->program->thread[machine_id(m, t)]);
}

static bool page_is_free(void *arg, int page)
{
  const struct pages *p = arg;
  return p->page[page].state == PAGE_FREE;
}

// Takes pages one by one and gives some back, so that counts can be told from
// other numbers, and lists from other pointers.
void caller_learn(struct thread *t)
{
  struct machine *m = the_machine;
  for (int i = 0; i < 2 * m->pages.count; i++) {
    if (i % 6 == 4)
      do_free(m, t, 1);
    else if (allocate(m, t) < 0)
      break;
    lists_check_starts(&m->lists, page_is_free, &m->pages);
    lists_learn(&m->lists);
  }
}

// Takes every page that there is, to see whether all are there.
void caller_drain(struct thread *t)
{
  machine_event(the_machine, EV_DRAINS, NULL, NULL, 0);
  do_alloc_all(the_machine, t, 0);
}
