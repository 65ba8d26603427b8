// What the code under test calls: memory, locks, interrupts, panic.
//
// Every access is checked here before it happens, so that a wild pointer is a
// report with a line number and not a damaged engine.
#include "graders/explore/machine.h"

#include <stdio.h>
#include <string.h>

// ---- notes about races ------------------------------------------------------

static void add_point(struct machine *m, const void *pc)
{
  uintptr_t off = (uintptr_t)pc - m->im->code_low;
  if (off >= m->im->code_high - m->im->code_low || m->point[off])
    return;
  m->point[off] = 1;
  m->new_points = true;
}

static bool is_point(const struct machine *m, const void *pc)
{
  uintptr_t off = (uintptr_t)pc - m->im->code_low;
  return off < m->im->code_high - m->im->code_low && m->point[off];
}

static void note_race(struct machine *m, const struct hb_access *a,
                      const struct hb_race *race, const void *addr)
{
  bool look = !a->write || !race->wrote;
  // The place to name is the allocator's; of a look, the one that looks.
  const void *pc = (a->write && look && race->pc) || !a->pc ? race->pc : a->pc;
  add_point(m, a->pc);
  add_point(m, race->pc);
  machine_report(m, look ? EX_LOOK : EX_RACE, machine_relative(m, pc), pc, addr,
                 false, "%s",
                 look ? "reads what another hart changes at the same time"
                      : "changes what another hart changes at the same time");
}

// A fill of a whole page has one record, apart from those of its words.
static void check_fill(struct machine *m, int page, const void *addr,
                       const struct hb_access *a)
{
  struct hb_cell *whole = &m->im->page_cell[page];
  unsigned word = (uintptr_t)addr % IMAGE_NAMED / 8;
  if (m->im->words_round[page] != m->hb.round) {
    m->im->words_round[page] = m->hb.round;
    m->im->words_used[page] = 0;
  }
  if (word < IMAGE_HEAD / 8)
    m->im->words_used[page] |= (uint8_t)(1u << word);
  if (whole->round != m->hb.round)
    return;
  for (int t = 0; t < HB_THREADS; t++) {
    if (t != a->thread && whole->write[t] > m->hb.thread[a->thread].at[t]) {
      struct hb_race race = {whole->write_pc[t], t, true};
      note_race(m, a, &race, addr);
      return;
    }
  }
}

// Records an access of one word or less.
static void record(struct machine *m, struct hb_cell *cell, const void *addr,
                   const struct hb_access *a)
{
  struct hb_race race;
  if (hb_access(&m->hb, cell, a, &race))
    note_race(m, a, &race, addr);
  int page = image_page_of(m->im, addr);
  if (page >= 0)
    check_fill(m, page, addr, a);
}

static void record_range(struct machine *m, const struct thread *t,
                         const void *addr, unsigned long bytes, int kind,
                         const void *pc)
{
  const char *p = addr, *end = p + bytes;
  while (p < end) {
    unsigned off = (uintptr_t)p & 7;
    unsigned n = 8 - off;
    if (n > (unsigned long)(end - p))
      n = (unsigned)(end - p);
    struct hb_access a = {.thread = machine_id(m, t),
                          .bytes = ((1u << n) - 1) << off,
                          .write = kind & EX_WRITE,
                          .sync = kind & EX_SYNC,
                          .pc = pc};
    struct hb_cell *cell = image_cell(m->im, p - off);
    if (cell)
      record(m, cell, p, &a);
    p += n;
  }
}

// A fill of a whole page: only words that somebody accessed need a look.
static void record_fill(struct machine *m, const struct thread *t, int page,
                        const void *pc)
{
  struct hb_access a = {
      .thread = machine_id(m, t), .bytes = 0xff, .write = true, .pc = pc};
  struct hb_race race;
  const char *at = image_page_at(m->im, page);
  unsigned used =
      m->im->words_round[page] == m->hb.round ? m->im->words_used[page] : 0;
  for (int word = 0; used >> word; word++) {
    if (used >> word & 1)
      record_range(m, t, at + 8 * word, 8, EX_WRITE, pc);
  }
  if (hb_access(&m->hb, &m->im->page_cell[page], &a, &race))
    note_race(m, &a, &race, at);
}

void machine_caller_writes(struct machine *m, int page)
{
  struct thread *t = machine_thread(m);
  m->hb.step++;
  m->changes++;
  if (!m->alone)
    record_range(m, t, image_page_at(m->im, page), 16, EX_WRITE, NULL);
}

// ---- loops ------------------------------------------------------------------

// A finding, unless others could still change what the thread waits for.
static void too_long(struct machine *m, struct thread *t, const void *pc)
{
  bool others_stuck = false;
  for (int i = 0; i < EX_HARTS; i++) {
    const struct thread *u = &m->thread[i];
    others_stuck |= u != t && !m->alone && u->state != THREAD_ENDED &&
                    u->state != THREAD_READY;
  }
  if (t->spins && others_stuck) {
    m->endless = MACHINE_ENDLESS_AGAIN;
    machine_report(m, EX_DEADLOCK, machine_relative(m, pc), pc, NULL, true,
                   "harts wait for each other, one of them in a loop");
  }
  m->endless = MACHINE_ENDLESS_AGAIN;
  machine_report(m, EX_ENDLESS, t->spins, pc, NULL, true,
                 t->spins ? "a loop waits for a change that nobody makes"
                          : "a call does not end");
}

// Counts an access of the running call, which may be one too many.
static void count_access(struct machine *m, struct thread *t, const void *pc)
{
  m->hb.step++;
  t->at = pc;
  uint32_t most = t->in_call || !m->alone ? m->endless : 100 * MACHINE_ENDLESS;
  if (++t->accesses > most)
    too_long(m, t, pc);
  if (++t->burst >= MACHINE_BURST)
    machine_yield(m, t);
}

static void progress(struct machine *m, struct thread *t)
{
  m->changes++;
  t->seen_next = 0;
  t->spins = false;
  memset(t->seen, 0, sizeof t->seen);
}

static int64_t value_for_trace(const struct machine *m, uint64_t value)
{
  int page =
      value % IMAGE_NAMED ? -1 : image_page_of(m->im, (const void *)value);
  return page < 0 ? (int64_t)value : EX_PAGE_VALUE + page;
}

// The thread waits for another, at a lock or in a loop of its own.
static void note_wait(struct machine *m, const void *pc, const void *addr)
{
  if (!m->alone && m->program->apart)
    machine_report(m, EX_WAITS, machine_relative(m, pc), pc, addr, false,
                   "waits for another hart, although no hart uses a page of "
                   "another's");
}

// The thread looked at memory. The same look again means that it waits.
static void looked(struct machine *m, struct thread *t, const void *pc,
                   const void *addr, uint64_t value)
{
  for (int i = 0; i < MACHINE_SEEN; i++) {
    struct look *l = &t->seen[i];
    if (l->pc != pc || l->addr != addr || l->value != value)
      continue;
    t->spins = true;
    machine_event(m, EV_SPINS, pc, addr, value_for_trace(m, value));
    note_wait(m, pc, addr);
    t->seen_change = m->changes;
    t->state = THREAD_SPIN;
    machine_yield(m, t);
    return;
  }
  t->seen[t->seen_next] = (struct look){pc, addr, value};
  t->seen_next = (t->seen_next + 1) % MACHINE_SEEN;
}

static uint64_t value_at(const void *addr, unsigned long bytes)
{
  uint64_t v = 0;
  memcpy(&v, addr, bytes < sizeof v ? bytes : sizeof v);
  return v;
}

// ---- memory -----------------------------------------------------------------

static bool on_stack(const struct thread *t, const void *addr,
                     unsigned long bytes)
{
  uintptr_t off = (uintptr_t)addr - (uintptr_t)t->stack;
  return off < CORO_STACK_BYTES && bytes <= CORO_STACK_BYTES - off;
}

static void wild(struct machine *m, const void *addr, unsigned long bytes,
                 int kind, const void *pc)
{
  uintptr_t a = (uintptr_t)addr;
  const char *what =
      a < IMAGE_NAMED ? "a null pointer is followed"
      : a < (uintptr_t)m->im->pool_top && a >= (uintptr_t)m->im->pool_room
          ? "memory below the pages is accessed"
          : "a pointer leads nowhere";
  machine_report(m, EX_WILD, machine_relative(m, pc), pc, NULL, true,
                 "%s: %s of %lu bytes at %#lx", what,
                 kind & EX_WRITE ? "a write" : "a read", bytes,
                 (unsigned long)a);
}

// Whether the memory is there to be accessed. Pages become real as needed.
// Returns true when the access must be recorded.
static bool allow(struct machine *m, struct thread *t, const void *addr,
                  unsigned long bytes, int kind, const void *pc)
{
  int page = image_page_of(m->im, addr);
  if (page >= 0) {
    const char *end = (const char *)addr + bytes;
    unsigned off = (uintptr_t)addr % IMAGE_NAMED;
    if (end > m->im->pool_top)
      wild(m, addr, bytes, kind, pc);
    for (const char *p = image_page_at(m->im, page); p < end;
         p += IMAGE_NAMED, page++) {
      if (off + bytes > IMAGE_HEAD)
        image_make_whole(m->im, page);
      if (kind & EX_WRITE)
        image_touch(m->im, page);
    }
    return true;
  }
  if ((uintptr_t)addr - m->im->data_low < m->im->data_high - m->im->data_low &&
      image_has(m->im, addr, bytes, true))
    return true;
  bool mine = on_stack(t, addr, bytes);
  for (int i = 0; i < EX_HARTS && !mine; i++)
    mine = on_stack(&m->thread[i], addr, bytes);
  const char *own = (const char *)m->caller_lock;
  mine = mine || (size_t)((const char *)addr - own) < sizeof m->caller_lock ||
         ((kind & EX_WRITE) == 0 && image_has(m->im, addr, bytes, false));
  if (!mine)
    wild(m, addr, bytes, kind, pc);
  return false;
}

// Tells the note about using a number from the one about reading it.
static const uint64_t USED = UINT64_C(1) << 63;

static void use_of_stale(struct machine *m, struct thread *t, const void *addr,
                         const void *pc)
{
  if (!t->stale || lists_element(&m->lists, addr) != t->number)
    return;
  machine_report(m, EX_STALE, machine_relative(m, t->numbered) | USED, pc, addr,
                 false, "the number %d is used on hart %d", t->number,
                 m->hart[t->slot].number);
}

// The part of an access that has to do with other threads. Whatever lets them
// run comes first: the access itself happens when this returns.
static void order_access(struct machine *m, struct thread *t, const void *addr,
                         unsigned long bytes, int kind, const void *pc)
{
  bool writes = kind & EX_WRITE, sync = kind & EX_SYNC;
  if (sync || is_point(m, pc)) {
    machine_point(m, t);
    if (!writes)
      looked(m, t, pc, addr, value_at(addr, bytes));
    machine_event(m,
                  !writes              ? EV_READS
                  : (kind & EX_ATOMIC) ? EV_UPDATES
                                       : EV_WRITES,
                  pc, addr, value_for_trace(m, value_at(addr, bytes)));
  }
  if (t->stale)
    use_of_stale(m, t, addr, pc);
  struct hb_cell *cell = sync ? image_cell(m->im, addr) : NULL;
  if (cell) {
    hb_refresh(&m->hb, cell);
    hb_learn(&m->hb, machine_id(m, t), &cell->clock);
  }
  record_range(m, t, addr, bytes, kind, pc);
  if (cell && writes)
    hb_teach(&m->hb, machine_id(m, t), &cell->clock);
}

static void hook_access(const void *addr, unsigned long bytes, int kind,
                        void *pc)
{
  struct machine *m = the_machine;
  struct thread *t = machine_thread(m);
  count_access(m, t, pc);
  if (!allow(m, t, addr, bytes, kind, pc) || (kind & EX_CHECK))
    return;
  if (!m->alone)
    order_access(m, t, addr, bytes, kind, pc);
  if ((kind & EX_WRITE) && !(kind & EX_ATOMIC))
    progress(m, t);
}

static void hook_atomic_done(const void *addr, int changed)
{
  struct machine *m = the_machine;
  struct thread *t = machine_thread(m);
  if (changed)
    progress(m, t);
  else if (!m->alone)
    looked(m, t, t->at, addr, 0);
}

static void hook_fill(void *dst, int byte, unsigned long n, void *pc)
{
  struct machine *m = the_machine;
  struct thread *t = machine_thread(m);
  int page = image_page_of(m->im, dst);
  if (page < 0 || (uintptr_t)dst % IMAGE_NAMED != 0 || n != IMAGE_NAMED) {
    if (n == 0)
      return;
    hook_access(dst, n, EX_WRITE, pc);
    memset(dst, byte, n);
    return;
  }
  count_access(m, t, pc);
  if (!m->alone)
    record_fill(m, t, page, pc);
  image_fill(m->im, page, byte);
  progress(m, t);
}

static void hook_copy(void *dst, const void *src, unsigned long n, void *pc)
{
  if (n == 0)
    return;
  hook_access(src, n, EX_READ, pc);
  hook_access(dst, n, EX_WRITE, pc);
  memmove(dst, src, n);
}

// ---- functions --------------------------------------------------------------

static void hook_enter(void *caller_pc)
{
  struct thread *t = machine_thread(the_machine);
  if (t->depth < MACHINE_FRAMES)
    t->frame[t->depth] = caller_pc;
  t->depth++;
}

static void hook_leave(void)
{
  machine_thread(the_machine)->depth--;
}

static int hook_text(char *dst, unsigned long room, const char *fmt,
                     va_list args)
{
  return vsnprintf(dst, room, fmt, args);
}

static __attribute__((noreturn)) void hook_panic(const char *why, void *pc)
{
  struct machine *m = the_machine;
  if (m->expects_panic)
    machine_stop(m);
  uint64_t key = 0;
  char text[80] = "";
  if (image_has(m->im, why, 1, false))
    strncpy(text, why, sizeof text - 1);
  for (const char *c = text; *c; c++)
    key = key * 31 + (unsigned char)*c;
  machine_report(m, EX_PANIC, key, pc, NULL, true, "panic: %s", text);
  __builtin_unreachable();
}

static void hook_index(const char *file, unsigned line, long index,
                       const char *type, void *pc)
{
  struct machine *m = the_machine;
  (void)file;
  machine_report(m, EX_INDEX, line, pc, NULL, true, "index %ld of %s", index,
                 type);
}

// ---- harts and interrupts ---------------------------------------------------

static int hook_hart(int how, void *pc)
{
  struct machine *m = the_machine;
  struct thread *t = machine_thread(m);
  const struct hart *h = &m->hart[t->slot];
  if (how == EX_BY_KERNEL)
    return h->number;
  t->numbered = pc;
  t->number = h->number;
  t->stale = false;
  if (h->interrupts && t->in_call) {
    machine_event(m, EV_READS_HART, pc, NULL, h->number);
    machine_report(m, EX_STALE, machine_relative(m, pc), pc, NULL, false,
                   "the hart's number is read with interrupts on");
  }
  return h->number;
}

static int hook_interrupts(void)
{
  struct machine *m = the_machine;
  return m->hart[machine_thread(m)->slot].interrupts;
}

static void hook_set_interrupts(int on, void *pc)
{
  struct machine *m = the_machine;
  struct thread *t = machine_thread(m);
  struct hart *h = &m->hart[t->slot];
  (void)pc;
  if (!on && h->interrupts) {
    machine_move_point(m, t);
    h = &m->hart[t->slot];
  }
  h->interrupts = on;
}

// ---- locks ------------------------------------------------------------------

static struct hb_cell *cell_of(struct machine *m, const unsigned *word)
{
  struct hb_cell *cell = image_cell(m->im, word);
  size_t off = (size_t)((const char *)word - (const char *)m->caller_lock);
  if (!cell && off < sizeof m->caller_lock)
    cell = &m->caller_cell[off / sizeof m->caller_lock[0]];
  if (!cell)
    cell = &m->caller_cell[0];
  hb_refresh(&m->hb, cell);
  return cell;
}

static void count_lock(struct machine *m, struct thread *t, const void *lock)
{
  if (!m->program->measure || !t->in_call)
    return;
  struct machine_use *u = t->allocating ? &m->allocs : &m->frees;
  u->acquisitions++;
  if (lists_element(&m->lists, lock) != m->hart[t->slot].number) {
    u->remote++;
    t->remote = true;
  }
}

static void check_lock(struct machine *m, const void *lock, int number,
                       const void *pc)
{
  if (number < 0 || m->locks.lock[number].initialised ||
      m->locks.lock[number].caller)
    return;
  const struct debug_variable *v =
      debug_variable_at(&m->im->debug, (uintptr_t)lock - m->im->base);
  machine_report(m, EX_UNINIT, v ? v->at : (uint64_t)number, pc, lock, false,
                 "the lock was never passed to initlock");
}

// Records that the lock's word changes, for those who look without asking.
static void record_word(struct machine *m, struct thread *t,
                        struct hb_cell *cell, const unsigned *word,
                        const void *pc)
{
  struct hb_access a = {.thread = machine_id(m, t),
                        .bytes = 0xfu << ((uintptr_t)word & 4),
                        .write = true,
                        .sync = true,
                        .pc = pc};
  struct hb_race race;
  if (hb_access(&m->hb, cell, &a, &race))
    note_race(m, &a, &race, word);
}

static bool callers(const struct machine *m, const void *lock)
{
  return (size_t)((const char *)lock - (const char *)m->caller_lock) <
         sizeof m->caller_lock;
}

static void hook_lock(void *lock, unsigned *word, void *pc)
{
  struct machine *m = the_machine;
  struct thread *t = machine_thread(m);
  int number = locks_number(&m->locks, lock);
  if (number >= 0 && callers(m, lock))
    m->locks.lock[number].caller = true;
  count_access(m, t, pc);
  machine_point(m, t);
  if (*word != 0) {
    note_wait(m, pc, lock);
    t->word = word;
    t->lock = lock;
    t->state = THREAD_LOCK;
    machine_wait(m, t);
  }
  t->at = pc;
  *word = 1;
  if (!m->alone) {
    struct hb_cell *cell = cell_of(m, word);
    hb_learn(&m->hb, machine_id(m, t), &cell->clock);
    record_word(m, t, cell, word, pc);
    if (t->stale)
      use_of_stale(m, t, lock, pc);
  }
  progress(m, t);
  check_lock(m, lock, number, pc);
  count_lock(m, t, lock);
  locks_take(&m->locks, &t->locks, number, pc);
  machine_event(
      m, EV_TAKES, pc, lock,
      m->trace.recording ? lists_length_near(&m->lists, lock, NULL) : 0);
}

static void hook_unlock(void *lock, unsigned *word, void *pc)
{
  struct machine *m = the_machine;
  struct thread *t = machine_thread(m);
  count_access(m, t, pc);
  *word = 0;
  if (!m->alone) {
    struct hb_cell *cell = cell_of(m, word);
    record_word(m, t, cell, word, pc);
    hb_teach(&m->hb, machine_id(m, t), &cell->clock);
  }
  progress(m, t);
  locks_drop(&t->locks, locks_number(&m->locks, lock));
  machine_event(
      m, EV_GIVES_BACK, pc, lock,
      m->trace.recording ? lists_length_near(&m->lists, lock, NULL) : 0);
}

static void hook_lock_init(void *lock, char *name, void *pc)
{
  struct machine *m = the_machine;
  (void)name;
  (void)pc;
  int number = locks_number(&m->locks, lock);
  if (number >= 0)
    m->locks.lock[number].initialised = true;
}

const struct ex_host machine_hooks = {
    .access = hook_access,
    .atomic_done = hook_atomic_done,
    .enter = hook_enter,
    .leave = hook_leave,
    .lock = hook_lock,
    .unlock = hook_unlock,
    .lock_init = hook_lock_init,
    .hart = hook_hart,
    .interrupts = hook_interrupts,
    .set_interrupts = hook_set_interrupts,
    .panic = hook_panic,
    .fill = hook_fill,
    .copy = hook_copy,
    .text = hook_text,
    .index = hook_index,
};
