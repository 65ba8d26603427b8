// Watchers in the guest: everything that the student's object calls, and
// everything that calls it, passes through here (ld --wrap), so that promises
// are checked in every run instead of waiting for a race to strike.
//
// Nothing here changes what the kernel does, with one exception: when a call
// returns with a lock, a noff level or the interrupt state left over, that is
// reported and put right, so that the run shows what comes after.
//
// The watchers keep no lock of the kernel's and print nothing. What they see
// is left in watch_report.

#include "watch.h"

#define WRAPPED(type, name, ...)   \
  type __real_##name(__VA_ARGS__); \
  type __wrap_##name(__VA_ARGS__)

WRAPPED(void, kinit, void);
WRAPPED(void *, kalloc, void);
WRAPPED(void, kfree, void *page);
WRAPPED(void, acquire, struct spinlock *lk);
WRAPPED(void, release, struct spinlock *lk);
WRAPPED(void, pop_off, void);
WRAPPED(int, cpuid, void);
WRAPPED(struct cpu *, mycpu, void);
WRAPPED(void *, memset, void *to, int byte, uint count);
void __real_panic(char *why) __attribute__((noreturn));
void __wrap_panic(char *why) __attribute__((noreturn));

// What the student's object calls in place of riscv.h's inline functions.
uint64 watched_r_tp(void) __asm__("r_tp");
void watched_intr_on(void) __asm__("intr_on");
void watched_intr_off(void) __asm__("intr_off");
int watched_intr_get(void) __asm__("intr_get");

extern char end[];  // kernel.ld

enum { PAGE_FREE = 1, PAGE_JUNKED = 2 };
enum { JUNK_FREE = 1, JUNK_NEW = 5, LINKS_BYTES = 64 };

#define PAGES ((PHYSTOP - KERNBASE) / PGSIZE)
static uint page_state[PAGES];

// A call of kalloc or kfree, by the thread that makes it: it can move to
// another hart while interrupts are on.
struct call {
  int inside;
  int entry_on, entry_noff, entry_held;
  int was_on;    // interrupts were on at some time in this call
  int number;    // CPU number that it obtained last
  int stale;     // interrupts have been on since
  int acquired;  // student's locks so far
  uint64 pc;     // who called
};
static struct call calls[NPROC + NCPU];

// The running thread's entry. Interrupts must be off.
static struct call *current(void)
{
  uint64 cpu = r_tp() % NCPU;
  struct proc *p = cpus[cpu].proc;
  return &calls[p != 0 ? p - proc : (int)(NPROC + cpu)];
}

// ---- what a call does ------------------------------------------------------------

// A student's lock is about to be acquired inside a call.
static void note_choice(struct call *call, int row, uint64 pc)
{
  struct watch_lock *lock = &watch_report.locks[row];
  uint64 cpu = r_tp() % NCPU;

  if (call->acquired++ == 0)
    __atomic_fetch_or(&lock->home, 1u << cpu, __ATOMIC_RELAXED);
  if (call->number == NO_NUMBER || !call->stale)
    return;
  int home = watch_home(row);
  if (home == call->number || home == NO_NUMBER)
    watch_find(WATCH_STALE_CPU, pc, call->number, lock->at, 0);
}

static void note_foreign(struct call *call, struct spinlock *lk, uint64 pc)
{
  // A trap's handler is no part of the call: interrupts may have been on, and a
  // fault's message takes a lock as well.
  int handler = (r_sstatus() & SSTATUS_SPP) != 0;
  if (call->inside && !call->entry_on && !call->was_on && !handler)
    watch_find(WATCH_FOREIGN_LOCK, pc, r_tp(), (uint64)lk, 0);
}

// Sees whether interrupts are on now, after something that can turn them on.
static void note_interrupts(uint64 caller)
{
  if (!watch_from_student(caller))
    return;
  uint64 on = watch_off();
  if (on) {
    struct call *call = current();
    call->was_on = 1;
    call->stale = 1;
  }
  watch_restore(on);
}

static void note_number(uint64 caller, int number)
{
  if (!watch_from_student(caller))
    return;
  uint64 on = watch_off();
  struct call *call = current();
  call->number = number;
  call->stale = on != 0;
  watch_restore(on);
}

void __wrap_acquire(struct spinlock *lk)
{
  uint64 pc = CALLER;
  int student = watch_from_student(pc);
  uint64 before = watch_off();
  struct hart *me = &watch_harts[r_tp() % NCPU];
  struct call *call = current();

  int row = student ? watch_row(lk) : -1;
  if (row >= 0) {
    watch_check_lock(row, pc);
    watch_note_order(me, row);
    if (call->inside)
      note_choice(call, row, pc);
    __atomic_fetch_add(&watch_report.locks[row].acquired[r_tp() % NCPU], 1,
                       __ATOMIC_RELAXED);
  } else if (!student) {
    note_foreign(call, lk, pc);
  }
  if (me->count > 0) {
    watch_pause(me, lk, row);
    watch_await(me, lk, pc);
  }
  watch_restore(before);

  __real_acquire(lk);
  me = &watch_harts[r_tp() % NCPU];
  me->waits = 0;
  if (me->count < WATCH_HELD)
    me->held[me->count++] = lk;
}

static void forget_held(struct spinlock *lk)
{
  struct hart *me = &watch_harts[r_tp() % NCPU];

  for (int i = me->count - 1; i >= 0; i--) {
    if (me->held[i] != lk)
      continue;
    me->count--;
    for (; i < me->count; i++)
      me->held[i] = me->held[i + 1];
    return;
  }
}

void __wrap_release(struct spinlock *lk)
{
  uint64 before = watch_off();
  forget_held(lk);
  watch_restore(before);
  __real_release(lk);
  note_interrupts(CALLER);
}

void __wrap_pop_off(void)
{
  __real_pop_off();
  note_interrupts(CALLER);
}

int __wrap_cpuid(void)
{
  int number = __real_cpuid();
  note_number(CALLER, number);
  return number;
}

struct cpu *__wrap_mycpu(void)
{
  struct cpu *cpu = __real_mycpu();
  note_number(CALLER, cpu - cpus);
  return cpu;
}

uint64 watched_r_tp(void)
{
  uint64 number = r_tp();
  note_number(CALLER, number);
  return number;
}

void watched_intr_on(void)
{
  int noff = cpus[r_tp() % NCPU].noff;

  if (noff > 0)
    watch_find(WATCH_INTERRUPTS_ON_INSIDE, CALLER, r_tp(), 0, noff);
  if (watch_report.memory_pages ==
      0)  // in kinit, which is called with them off
    watch_find(WATCH_INTERRUPTS_NOT_RESTORED, CALLER, r_tp(), 0, 1);
  intr_on();
  note_interrupts(CALLER);
}

void watched_intr_off(void)
{
  intr_off();
}

int watched_intr_get(void)
{
  return intr_get();
}

// ---- kalloc and kfree --------------------------------------------------------------

static void enter(uint64 pc)
{
  uint64 on = watch_off();
  uint64 cpu = r_tp() % NCPU;

  *current() = (struct call){
      .inside = 1,
      .entry_on = on != 0,
      .entry_noff = cpus[cpu].noff,
      .entry_held = watch_harts[cpu].count,
      .number = NO_NUMBER,
      .pc = pc,
  };
  watch_restore(on);
}

// Compares what a call leaves behind with what it found, and puts it right.
static void leave(void)
{
  uint64 on = watch_off();
  uint64 cpu = r_tp() % NCPU;
  struct call *call = current();
  struct hart *me = &watch_harts[cpu];

  call->inside = 0;
  while (me->count > call->entry_held) {
    struct spinlock *kept = me->held[me->count - 1];
    watch_find(WATCH_LOCK_KEPT, call->pc, cpu, (uint64)kept, 0);
    forget_held(kept);
    __real_release(kept);
    on = call->entry_on;
  }
  intr_off();
  int deeper = cpus[cpu].noff - call->entry_noff;
  if (deeper != 0)
    watch_find(WATCH_NOFF_NOT_RESTORED, call->pc, cpu, 0, deeper);
  else if ((on != 0) != call->entry_on)
    watch_find(WATCH_INTERRUPTS_NOT_RESTORED, call->pc, cpu, 0, on != 0);
  cpus[cpu].noff = call->entry_noff;
  watch_restore(call->entry_on);
}

// Index of a page's state, -1 when the allocator has no such page.
static long page_index(uint64 page)
{
  if (page % PGSIZE != 0 || page < PGROUNDUP((uint64)end) || page >= PHYSTOP)
    return -1;
  return (page - KERNBASE) / PGSIZE;
}

int watch_filled(const void *page, int byte, int skip, int every_word)
{
  const uint64 *words = page;
  uint64 want = 0x0101010101010101UL * byte;

  for (uint i = skip / 8; i < PGSIZE / 8; i += every_word ? 1 : 8)
    if (words[i] != want)
      return 0;
  return 1;
}

void __wrap_kinit(void)
{
  __real_kinit();

  for (uint64 p = PGROUNDUP((uint64)end); p < PHYSTOP; p += PGSIZE) {
    page_state[page_index(p)] |= PAGE_FREE;
    watch_report.memory_pages++;
  }
  watch_report.free_pages = watch_report.memory_pages;
}

void *__wrap_kalloc(void)
{
  uint64 pc = CALLER;

  enter(pc);
  void *page = __real_kalloc();
  leave();

  __atomic_fetch_add(&watch_report.kalloc_calls, 1, __ATOMIC_RELAXED);
  if (page == 0) {
    __atomic_fetch_add(&watch_report.kalloc_zeros, 1, __ATOMIC_RELAXED);
    return 0;
  }
  long i = page_index((uint64)page);
  if (i < 0) {
    watch_find(WATCH_PAGE_OUTSIDE, pc, (uint64)page, 0, 0);
    return page;
  }
  __atomic_fetch_sub(&watch_report.free_pages, 1, __ATOMIC_RELAXED);
  if ((__atomic_exchange_n(&page_state[i], 0, __ATOMIC_RELAXED) & PAGE_FREE) ==
      0)
    watch_find(WATCH_PAGE_TWICE, pc, (uint64)page, 0, 0);
  if (!watch_filled(page, JUNK_NEW, 0, 0))
    watch_find(WATCH_NO_JUNK_NEW, pc, (uint64)page, 0, 0);
  return page;
}

void __wrap_kfree(void *page)
{
  uint64 pc = CALLER;
  long i = page_index((uint64)page);

  // Free from here on: another hart can have the page before kfree returns.
  if (i >= 0) {
    if (__atomic_fetch_or(&page_state[i], PAGE_FREE, __ATOMIC_RELAXED) &
        PAGE_FREE)
      watch_find(WATCH_FREE_TWICE, pc, (uint64)page, 0, 0);
    __atomic_fetch_add(&watch_report.free_pages, 1, __ATOMIC_RELAXED);
  }
  __atomic_fetch_add(&watch_report.kfree_calls, 1, __ATOMIC_RELAXED);
  enter(pc);
  __real_kfree(page);
  leave();
}

// The fills of the allocator: the one in kfree is remembered, and the one in
// kalloc is the last moment at which to see that the page was left alone.
void *__wrap_memset(void *to, int byte, uint count)
{
  long i = page_index((uint64)to);

  if (count == PGSIZE && i >= 0 && watch_from_student(CALLER)) {
    uint state = page_state[i];
    if (byte == JUNK_FREE)
      __atomic_fetch_or(&page_state[i], PAGE_JUNKED, __ATOMIC_RELAXED);
    else if ((state & PAGE_JUNKED) &&
             !watch_filled(to, JUNK_FREE, LINKS_BYTES,
                           watch_report.phase == WATCH_PAIRS))
      watch_find(WATCH_PAGE_CHANGED, CALLER, (uint64)to, 0, 0);
  }
  return __real_memset(to, byte, count);
}

void __wrap_panic(char *why)
{
  uint64 pc = CALLER;

  intr_off();
  struct call *call = current();
  if (call->inside || watch_from_student(pc)) {
    call->inside = 0;
    watch_find(WATCH_PANIC, pc, r_tp(), 0, 0);
  }
  __real_panic(why);
}
