// What the watchers know of locks: which are the student's, whether they were
// made as promised, in what order they are taken, and who waits for whom. And
// the findings, which all watchers add to.

#include "watch.h"

extern char watch_text_begin[], watch_text_end[];  // bounds-*.S: the student's
extern char etext[], end[];                        // kernel.ld

void __real_initlock(struct spinlock *lk, char *name);
void __wrap_initlock(struct spinlock *lk, char *name);

struct watch_report watch_report = {
    .magic = WATCH_MAGIC,
    .size_bytes = sizeof(struct watch_report),
    .obtainable_pages = -1,
};
struct hart watch_harts[NCPU];

static uint paused_orders[WATCH_LOCKS];  // bit j: the storm pauses at i -> j
// Pauses are longer than the host keeps a hart's thread waiting, and few.
enum { PAUSE_TURNS = 10000000, PAUSES = 12 };
static int pauses_left[NCPU] = {[0 ... NCPU - 1] = PAUSES};

static int find_lock;  // guards the report's tables

uint64 watch_off(void)
{
  uint64 before = r_sstatus() & SSTATUS_SIE;
  intr_off();
  return before;
}

void watch_restore(uint64 before)
{
  if (before)
    intr_on();
}

int watch_from_student(uint64 pc)
{
  return pc >= (uint64)watch_text_begin && pc < (uint64)watch_text_end;
}

static int in_static_data(uint64 at)
{
  return at >= (uint64)etext && at < (uint64)end;
}

void watch_find(enum watch_kind kind, uint64 pc, uint64 a, uint64 b, uint64 c)
{
  struct watch_report *r = &watch_report;
  uint64 before = watch_off();

  while (__atomic_exchange_n(&find_lock, 1, __ATOMIC_ACQUIRE) != 0)
    ;
  uint i = 0;
  while (i < r->finding_count &&
         (r->findings[i].kind != kind || r->findings[i].b != b))
    i++;
  if (i < WATCH_FINDINGS) {
    struct watch_finding *f = &r->findings[i];
    if (f->count++ == 0)
      *f = (struct watch_finding){kind, 1, r->phase, r_tp(), pc, a, b, c};
    if (i == r->finding_count)
      __atomic_store_n(&r->finding_count, i + 1, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&find_lock, 0, __ATOMIC_RELEASE);
  watch_restore(before);
}

// ---- locks -------------------------------------------------------------------

int watch_row(struct spinlock *lk)
{
  struct watch_report *r = &watch_report;
  uint i = 0;

  while (__atomic_exchange_n(&find_lock, 1, __ATOMIC_ACQUIRE) != 0)
    ;
  while (i < r->lock_count && r->locks[i].at != (uint64)lk)
    i++;
  if (i == r->lock_count && i < WATCH_LOCKS) {
    r->locks[i].at = (uint64)lk;
    r->lock_count++;
  }
  __atomic_store_n(&find_lock, 0, __ATOMIC_RELEASE);
  if (i == WATCH_LOCKS)
    return -1;
  return i;
}

// The row of a lock that is already known to be the student's, or -1.
static int known_row(const struct spinlock *lk)
{
  for (uint i = 0; i < watch_report.lock_count; i++)
    if (watch_report.locks[i].at == (uint64)lk)
      return i;
  return -1;
}

// Copies a lock's name as it is now.
static void note_name(struct watch_lock *row)
{
  struct spinlock *lk = (struct spinlock *)row->at;
  uint i = 0;

  row->name_at = (uint64)lk->name;
  if (row->name_at >= KERNBASE && row->name_at < PHYSTOP - WATCH_NAME)
    for (; i < WATCH_NAME - 1 && lk->name[i] != 0; i++)
      row->name[i] = lk->name[i];
  row->name[i] = 0;
}

static int same_name(const struct watch_lock *x, const struct watch_lock *y)
{
  for (int i = 0; i < WATCH_NAME; i++) {
    if (x->name[i] != y->name[i])
      return 0;
    if (x->name[i] == 0)
      break;
  }
  return 1;
}

int watch_home(int row)
{
  struct watch_lock *lock = &watch_report.locks[row];
  int digits = 0, home = 0;

  note_name(lock);
  for (int i = 0; lock->name[i] != 0; i++) {
    int digit = lock->name[i] - '0';
    int is_digit = digit >= 0 && digit <= 9;
    home = is_digit ? (digits ? home * 10 : 0) + digit : 0;
    digits = is_digit;
  }
  if (digits)
    return home;
  if (lock->name[0] == 0)
    return NO_NUMBER;
  for (uint i = 0; i < watch_report.lock_count; i++)
    if (i != (uint)row && same_name(lock, &watch_report.locks[i]))
      return NO_NUMBER;
  return NO_LIST;
}

void watch_check_lock(int row, uint64 pc)
{
  struct watch_lock *lock = &watch_report.locks[row];

  if (lock->initialised == 0)
    watch_find(WATCH_LOCK_NOT_INITIALISED, pc, 0, lock->at, 0);
  if (((struct spinlock *)lock->at)->name == 0)
    watch_find(WATCH_LOCK_WITHOUT_NAME, pc, 0, lock->at, 0);
  if (!in_static_data(lock->at))
    watch_find(WATCH_LOCK_NOT_STATIC, pc, 0, lock->at, 0);
}

void watch_check_names(void)
{
  struct watch_report *r = &watch_report;

  for (uint i = 0; i < r->lock_count; i++) {
    note_name(&r->locks[i]);
    for (uint j = 0; j < i && r->locks[i].name_at != 0; j++)
      if (r->locks[j].name_at != 0 && same_name(&r->locks[i], &r->locks[j]))
        watch_find(WATCH_LOCK_NAME_SHARED, 0, r->locks[j].at, r->locks[i].at,
                   0);
  }
}

void __wrap_initlock(struct spinlock *lk, char *name)
{
  __real_initlock(lk, name);
  if (!watch_from_student(CALLER))
    return;

  uint64 before = watch_off();
  int row = watch_row(lk);
  if (row >= 0) {
    // A name on the stack dies with kinit. The stack is static data as well,
    // so look how near it is.
    uint64 at = (uint64)name, sp = r_sp();
    watch_report.locks[row].initialised++;
    note_name(&watch_report.locks[row]);
    if (at != 0 && (!in_static_data(at) || (at >= sp && at < sp + PGSIZE)))
      watch_find(WATCH_LOCK_NAME_NOT_STATIC, CALLER, at, (uint64)lk, 0);
  }
  watch_restore(before);
}

// ---- order, and waiting --------------------------------------------------------

void watch_note_order(const struct hart *me, int row)
{
  uint held = 0;

  for (int i = 0; i < me->count; i++) {
    int other = known_row(me->held[i]);
    if (other >= 0)
      held |= 1u << other;
  }
  for (int from = 0; from < WATCH_LOCKS; from++) {
    if ((held >> from & 1) == 0 || from == row)
      continue;
    uint gates = held & ~(1u << from);
    uint *known = &watch_report.order_gates[from][row];
    if (watch_report.order[from] >> row & 1)
      __atomic_fetch_and(known, gates, __ATOMIC_RELAXED);
    else
      __atomic_store_n(known, gates, __ATOMIC_RELEASE);
    __atomic_fetch_or(&watch_report.order[from], 1u << row, __ATOMIC_RELAXED);
  }
}

// Whether steps from `at` lead back to `goal`, each taken by a hart of its own:
// watch_harts that hold a lock in common cannot be there at the same time. `taken`
// are the locks that the watch_harts so far hold.
static int leads_back(int at, int goal, uint taken, int harts_left)
{
  for (int to = 0; to < WATCH_LOCKS && harts_left > 0; to++) {
    if ((watch_report.order[at] >> to & 1) == 0)
      continue;
    uint holds = watch_report.order_gates[at][to] | 1u << at;
    if (holds & taken)
      continue;
    if (to == goal || leads_back(to, goal, taken | holds, harts_left - 1))
      return 1;
  }
  return 0;
}

void watch_check_order(void)
{
  struct watch_report *r = &watch_report;

  for (uint i = 0; i < r->lock_count; i++) {
    for (uint j = 0; j < r->lock_count; j++) {
      if ((r->order[i] >> j & 1) == 0)
        continue;
      uint holds = r->order_gates[i][j] | 1u << i;
      if ((holds >> j & 1) == 0 && leads_back(j, i, holds, WATCH_HARTS - 1)) {
        paused_orders[i] |= 1u << j;
        watch_find(WATCH_LOCK_CYCLE, 0, r->locks[i].at, r->locks[j].at, 0);
      }
    }
  }
}

// The hart that holds a lock, or 0.
static struct hart *holder(const struct spinlock *lk)
{
  for (int h = 0; h < NCPU; h++)
    for (int i = 0; i < watch_harts[h].count; i++)
      if (watch_harts[h].held[i] == lk)
        return &watch_harts[h];
  return 0;
}

// Whether the chain of who waits for whom comes back to this hart.
static int circular(const struct hart *me)
{
  const struct hart *at = me;

  for (int steps = 0; steps < NCPU && at != 0 && at->waits != 0; steps++) {
    at = holder(at->waits);
    if (at == me)
      return 1;
  }
  return 0;
}

void watch_pause(const struct hart *me, struct spinlock *lk, int row)
{
  int *left = &pauses_left[me - watch_harts];

  if (watch_report.phase != WATCH_STORM || row < 0)
    return;
  for (int i = 0; i<me->count && * left> 0; i++) {
    int from = known_row(me->held[i]);
    if (from < 0 || (paused_orders[from] >> row & 1) == 0)
      continue;
    (*left)--;
    volatile uint *locked = &lk->locked;
    for (int turns = 0; turns < PAUSE_TURNS && *locked == 0; turns++)
      ;
    return;
  }
}

void watch_await(struct hart *me, struct spinlock *lk, uint64 pc)
{
  volatile uint *locked = &lk->locked;
  int seen = 0;

  me->waits = lk;
  while (*locked != 0 && holder(lk) != me && seen < 10000)
    seen = circular(me) ? seen + 1 : 0;
  if (seen == 10000)
    watch_find(WATCH_CIRCULAR_WAIT, pc, me - watch_harts, (uint64)lk,
               holder(lk) - watch_harts);
}
