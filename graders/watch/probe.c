// The probe: before any program runs, every hart stops at the scheduler's door,
// and the allocator is put through what luck would have to bring about
// otherwise. With one hart at work and nobody else, "kalloc returned 0 while
// pages are free" is a fact, and what a steal costs is a number that does not
// depend on the host.
//
// A hart can stand in for any CPU by changing tp while its interrupts are off,
// so the lists of CPUs that this machine lacks are tried as well.

#include "watch.h"

void __real_scheduler(void) __attribute__((noreturn));
void __wrap_scheduler(void) __attribute__((noreturn));
void __real_procdump(void);
void __wrap_procdump(void);
void push_off(void);
void pop_off(void);

enum { OWN_PAGES = 32, STEAL_PAGES = 256, ROBBED_PAGES = 8192, FEW_PAGES = 3 };
enum { DRY_ROUNDS = 2, STORM_ROUNDS = 22, STORM_PAGES = 2, SKIP_LINKS = 64 };
enum { SCRIBBLE = 0xa5, TAG_WORD = 40 };

// Where the other harts are, or may go.
enum stage { GATHER, STORM, OPEN };
static volatile int stage;
static int arrived, met;

// Pages that the probe has taken, linked through their first words.
struct taken {
  struct taken *next;
};
static struct taken *taken;
static long taken_count, lost_count;

static void phase(enum watch_phase now)
{
  __atomic_store_n(&watch_report.phase, now, __ATOMIC_RELEASE);
}

// Whether the allocator has done something after which its lists, or ours,
// cannot be trusted.
static int broken(void)
{
  for (uint i = 0; i < watch_report.finding_count; i++) {
    uint kind = watch_report.findings[i].kind;
    if (kind == WATCH_PAGE_TWICE || kind == WATCH_PAGE_OUTSIDE ||
        kind == WATCH_FREE_TWICE || kind == WATCH_PAGE_SCRIBBLED)
      return 1;
  }
  return 0;
}

// Whether every word of a page is looked at: where few pages are moved.
static int thorough(void)
{
  return watch_report.phase == WATCH_PAIRS;
}

// ---- one hart, in the role of any CPU ------------------------------------------

// What calls cost, while somebody wants to know: added up here.
static struct watch_traffic *meter;

// Adds up the locks that a CPU has acquired so far.
static struct watch_traffic acquired_by(int cpu)
{
  struct watch_traffic sum = {0};

  for (uint i = 0; i < watch_report.lock_count; i++) {
    uint acquired = watch_report.locks[i].acquired[cpu];
    int home = watch_home(i);
    sum.acquired += acquired;
    if (home == NO_LIST)
      sum.shared += acquired;
    else if (home == NO_NUMBER)
      sum.unknown += acquired;
    else if (home != cpu)
      sum.remote += acquired;
  }
  return sum;
}

// Adds to the meter what a CPU has acquired since `before`, in one call.
static void add_call(int cpu, const struct watch_traffic *before)
{
  struct watch_traffic after = acquired_by(cpu);

  meter->calls++;
  meter->away += after.remote > before->remote;
  meter->acquired += after.acquired - before->acquired;
  meter->remote += after.remote - before->remote;
  meter->shared += after.shared - before->shared;
  meter->unknown += after.unknown - before->unknown;
}

// kalloc and kfree as that CPU. Interrupts are off.
static void *kalloc_as(int cpu)
{
  struct watch_traffic before = {0};
  uint64 self = r_tp();

  if (meter != 0)
    before = acquired_by(cpu);
  w_tp(cpu);
  void *page = kalloc();
  w_tp(self);
  if (meter != 0)
    add_call(cpu, &before);
  return page;
}

static void kfree_as(int cpu, void *page)
{
  struct watch_traffic before = {0};
  uint64 self = r_tp();

  if (meter != 0)
    before = acquired_by(cpu);
  w_tp(cpu);
  kfree(page);
  w_tp(self);
  if (meter != 0)
    add_call(cpu, &before);
}

// Takes a page as that CPU; 0 when kalloc returns none. Interrupts are off.
static int take(int cpu)
{
  struct taken *page = kalloc_as(cpu);

  if (page == 0 || broken())
    return 0;
  if (!watch_filled(page, 5, 0, thorough()))
    watch_find(WATCH_NO_JUNK_NEW, 0, (uint64)page, 0, 0);
  page->next = taken;
  taken = page;
  taken_count++;
  return 1;
}

// Gives `count` of the taken pages back as that CPU. Each has been used.
static void give(int cpu, long count)
{
  for (; count > 0 && taken != 0; count--) {
    struct taken *page = taken;
    taken = page->next;
    taken_count--;
    for (uint i = 0; i < PGSIZE / sizeof(uint64); i += thorough() ? 1 : 8)
      ((uint64 *)page)[i] = SCRIBBLE;
    kfree_as(cpu, page);
    if (!watch_filled(page, 1, SKIP_LINKS, thorough()))
      watch_find(WATCH_NO_JUNK_FREE, 0, (uint64)page, 0, 0);
  }
}

// Pages that should be there to be taken.
static long missing(void)
{
  return watch_report.free_pages - lost_count;
}

// Takes as that CPU until kalloc returns 0. What any other CPU can have then
// was kept from this one, and what none can have is lost for good. `other` is
// the CPU that the pages were freed on.
static void take_all(int cpu, int other)
{
  int absent = cpu >= WATCH_HARTS || other >= WATCH_HARTS;

  while (!broken() && take(cpu))
    ;
  long kept_back = taken_count;
  for (int any = 0; any < NCPU && missing() > 0; any++)
    while (!broken() && take(any))
      ;
  kept_back = taken_count - kept_back;
  if (broken())
    return;
  if (kept_back > 0)
    watch_find(absent ? WATCH_LIST_NOT_TRIED : WATCH_ZERO_WHILE_FREE, 0, cpu, 0,
               kept_back);
  if (missing() > 0) {
    watch_find(WATCH_PAGES_LOST, 0, cpu, 0, missing());
    lost_count += missing();
  }
}

// ---- the steps -------------------------------------------------------------------

static void drain(void)
{
  phase(WATCH_DRAIN);
  take_all(0, 0);
}

static void pairs(void)
{
  phase(WATCH_PAIRS);
  for (int giver = 0; giver < NCPU; giver++) {
    for (int taker = 0; taker < NCPU && !broken(); taker++) {
      give(giver, FEW_PAGES);
      take_all(taker, giver);
    }
  }
}

static void take_some(int cpu, int count)
{
  for (int i = 0; i < count; i++)
    take(cpu);
}

static void traffic(void)
{
  phase(WATCH_TRAFFIC);
  for (int cpu = 0; cpu < NCPU; cpu++) {
    meter = &watch_report.own;
    give(cpu, OWN_PAGES);
    take_some(cpu, OWN_PAGES);
    meter = 0;
    take_all(cpu, cpu);
  }

  give(1, STEAL_PAGES);
  meter = &watch_report.steal;
  take_some(0, STEAL_PAGES);
  meter = 0;
  take_all(0, 1);

  give(1, taken_count < ROBBED_PAGES ? taken_count / 2 : ROBBED_PAGES);
  take(0);
  meter = &watch_report.robbed;
  take(1);
  meter = 0;
  take_all(1, 1);
}

// The running hart takes until nothing is left, and gives all back, calling as
// the rest of the kernel does: no role is played, interrupts are the caller's.
static void use_as_caller(int pages_on)
{
  void *had[FEW_PAGES + 1];
  int count = 0;

  uint64 before = watch_off();
  give(pages_on, FEW_PAGES);
  watch_restore(before);

  while (count <= FEW_PAGES && (had[count] = kalloc()) != 0)
    count++;
  while (count > 0)
    kfree(had[--count]);

  before = watch_off();
  take_all(0, 0);
  watch_restore(before);
}

static void callers(void)
{
  phase(WATCH_CALLERS);
  for (int pages_on = 0; pages_on < 2 && !broken(); pages_on++) {
    intr_on();
    use_as_caller(pages_on);
    intr_off();
    if (broken())
      return;

    push_off();
    use_as_caller(pages_on);
    pop_off();
  }
}

// ---- all harts ---------------------------------------------------------------------

// Waits until every hart has come to the same round.
static void meet(int round)
{
  __atomic_fetch_add(&met, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(&met, __ATOMIC_ACQUIRE) < WATCH_HARTS * (round + 1) &&
         !broken())
    ;
}

// Uses a few pages for a moment. A page that somebody else writes to is in two
// hands.
static void use_pages(uint64 tag)
{
  uint64 *had[STORM_PAGES];
  int count = 0;

  while (count < STORM_PAGES && (had[count] = kalloc()) != 0)
    had[count++][TAG_WORD] = tag;
  for (volatile int wait = tag % 64; wait > 0; wait--)
    ;
  while (count > 0) {
    uint64 *page = had[--count];
    if (*(volatile uint64 *)&page[TAG_WORD] != tag)
      watch_find(WATCH_PAGE_SCRIBBLED, 0, (uint64)page, 0, r_tp());
    kfree(page);
  }
}

// All harts at once: first none finds a page anywhere, then all fight for a
// few. The host may run harts one after the other, so they meet now and then.
static void storm(void)
{
  int round = 0;

  for (; round < DRY_ROUNDS && !broken(); round++) {
    meet(round);
    use_pages(round);
  }
  meet(round);
  if (r_tp() == 0)
    give(0, STORM_PAGES * WATCH_HARTS - 1);
  for (; round < STORM_ROUNDS && !broken(); round++) {
    meet(round + 1);
    for (int i = 0; i < 100; i++)
      use_pages((r_tp() << 32) | (round * 100 + i));
  }
}

static void arrive(void)
{
  __atomic_fetch_add(&arrived, 1, __ATOMIC_ACQ_REL);
}

static void await_arrivals(int count)
{
  while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < count)
    ;
}

static void storm_with_others(void)
{
  phase(WATCH_STORM);
  stage = STORM;
  storm();
  await_arrivals(2 * (WATCH_HARTS - 1));
  watch_report.storm_rounds = STORM_ROUNDS;
  take_all(0, 0);
}

static void probe(void)
{
  static void (*const steps[])(void) = {drain, pairs, traffic, callers};

  await_arrivals(WATCH_HARTS - 1);
  for (uint i = 0; i < sizeof(steps) / sizeof(steps[0]) && !broken(); i++)
    steps[i]();
  watch_check_names();
  watch_check_order();
  if (!broken())
    storm_with_others();
  if (!broken()) {
    phase(WATCH_GIVE_BACK);
    give(0, taken_count);
  }
  phase(broken() ? WATCH_ABANDONED : WATCH_RUNNING);
  stage = OPEN;
}

// ---- while programs run --------------------------------------------------------------

// Whether no process runs anywhere, so that nobody allocates.
static int quiet(void)
{
  for (int cpu = 0; cpu < NCPU; cpu++)
    if (cpus[cpu].proc != 0)
      return 0;
  return 1;
}

// Takes all pages that this CPU can have, or one that this machine lacks, and
// gives them back to this one. The other harts take interrupts of their own now,
// so nobody may stand in for them.
static void count_obtainable(void)
{
  int self = r_tp();

  taken = 0;
  taken_count = 0;
  watch_report.free_pages_then = watch_report.free_pages;
  for (int cpu = 0; cpu < NCPU; cpu++)
    while ((cpu == self || cpu >= WATCH_HARTS) && !broken() && take(cpu))
      ;
  watch_report.obtainable_pages = taken_count;
  give(self, taken_count);
}

// Ctrl-P, in the console's interrupt: what the student's line says can be held
// against what there is.
void __wrap_procdump(void)
{
  int was_quiet = quiet();

  watch_report.obtainable_pages = -1;
  __real_procdump();
  if (watch_report.phase == WATCH_RUNNING && was_quiet && quiet() && !broken())
    count_obtainable();
}

// ---- at the scheduler's door ---------------------------------------------------------

// Sleeps for a moment, so that waiting harts leave the host's cores to the one
// that works. No interrupt is taken, since hart 0 may be standing in for this
// CPU: what ended the sleep is put off (stimecmp, where the kernel has the Sstc
// extension) or taken back (a software interrupt).
static void doze(void)
{
  enum { MOMENT = 20000, SSOFT = 1 << 1, STIMER = 1 << 5 };
  uint64 pending, now;

  __asm__ volatile("wfi");
  __asm__ volatile("csrr %0, sip" : "=r"(pending));
  if (pending & STIMER) {
    __asm__ volatile("csrr %0, time" : "=r"(now));
    __asm__ volatile("csrw 0x14d, %0" : : "r"(now + MOMENT));
  }
  __asm__ volatile("csrc sip, %0" : : "r"((uint64)SSOFT));
}

// Each hart comes by here once, with interrupts off, before it looks for work.
void __wrap_scheduler(void)
{
  if (r_tp() == 0) {
    probe();
  } else {
    arrive();
    while (stage == GATHER)
      doze();
    if (stage == STORM)
      storm();
    arrive();
    while (stage != OPEN)
      doze();
  }
  __real_scheduler();
}
