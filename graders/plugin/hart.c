// Counts what harts do with locks. It does not know where locks or instructions
// are (plugin.c) and prints nothing (report.c).
#include "graders/plugin/hart.h"

struct hart harts[HARTS_MAX];
unsigned hart_count;
counter interval_now = 1;

static uint64_t quiet_from, quiet_to;

void hart_set_quiet(uint64_t from, uint64_t to)
{
  quiet_from = from;
  quiet_to = to;
}

// Spreads addresses, which agree in their low bits, over a table.
static uint64_t slot_of(uint64_t address)
{
  return (address >> 2) * 0x9e3779b97f4a7c15u >> 32;
}

// The row of a lock, made if there is none yet; NULL when the table is full.
static struct lock_row *lock_row(struct hart *h, uint64_t lock)
{
  uint64_t slot = slot_of(lock);

  for (unsigned probes = 0; probes < LOCK_ROWS; probes++, slot++) {
    struct lock_row *row = &h->locks[slot % LOCK_ROWS];
    if (get(&row->lock) == 0)
      set(&row->lock, lock);
    if (get(&row->lock) == lock)
      return row;
  }
  return 0;
}

void hart_tries(unsigned id, uint64_t lock)
{
  struct hart *h = &harts[id];

  if (get(&h->awaited) != lock) {
    set(&h->attempts, 0);
    set(&h->awaited, lock);
  }
  add(&h->attempts, 1);
}

void hart_takes(unsigned id)
{
  struct hart *h = &harts[id];
  uint64_t lock = get(&h->awaited);
  uint64_t spins = get(&h->attempts) - 1;

  if (lock == 0)
    return;
  uint64_t held = get(&h->held_count);
  if (held < HELD_MAX) {
    set(&h->held[held], lock);
    set(&h->held_count, held + 1);
  }
  set(&h->awaited, 0);
  add(&h->turns, 1);
  if (lock < quiet_from || lock >= quiet_to)
    add(&h->acquisitions, 1);

  struct lock_row *row = lock_row(h, lock);
  if (!row) {
    add(&h->lost, 1);
    return;
  }
  add(&row->acquired, 1);
  uint64_t interval = get(&interval_now);
  if (get(&row->interval) != interval) {
    set(&row->interval, interval);
    set(&row->longest, 0);
  }
  if (spins > 0) {
    add(&row->contended, 1);
    add(&row->spins, spins);
    if (spins > get(&row->longest))
      set(&row->longest, spins);
  }
}

void hart_releases(unsigned id, uint64_t lock)
{
  struct hart *h = &harts[id];
  uint64_t count = get(&h->held_count), i = count;

  // Mostly the lock that was taken last; the others keep their order.
  while (i > 0 && get(&h->held[i - 1]) != lock)
    i--;
  if (i == 0)
    return;
  for (; i < count; i++)
    set(&h->held[i - 1], get(&h->held[i]));
  set(&h->held_count, count - 1);
}

void hart_atomic(unsigned id, uint64_t address)
{
  struct hart *h = &harts[id];
  uint64_t slot = slot_of(address);

  for (unsigned probes = 0; probes < ATOMIC_ROWS; probes++, slot++) {
    struct atomic_row *row = &h->atomics[slot % ATOMIC_ROWS];
    if (get(&row->address) == 0)
      set(&row->address, address);
    if (get(&row->address) == address) {
      add(&row->times, 1);
      return;
    }
  }
  add(&h->lost, 1);
}

void hart_foreign(unsigned id, uint64_t pc, uint64_t address)
{
  struct hart *h = &harts[id];

  for (unsigned i = 0; i < FOREIGN_ROWS; i++) {
    struct foreign_row *row = &h->foreign[i];
    if (get(&row->pc) == 0) {
      set(&row->address, address);
      set(&row->pc, pc);
    }
    if (get(&row->pc) == pc && get(&row->address) == address) {
      add(&row->times, 1);
      return;
    }
  }
  add(&h->lost, 1);
}

int hart_holding(uint64_t lock)
{
  for (unsigned id = 0; id < hart_count; id++)
    for (uint64_t i = 0, held = get(&harts[id].held_count); i < held; i++)
      if (get(&harts[id].held[i]) == lock)
        return (int)id;
  return -1;
}
