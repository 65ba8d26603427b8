// Counts what harts do with locks, inside the guest: for hosts whose QEMU takes
// no plugin. Each hart has a table of its own, so that counting takes no lock.
// Intervals end at each Ctrl-P, as the plugin's do.

#include "types.h"

#include "param.h"
#include "report.h"

#include "riscv.h"

#include "count.h"

void __real_procdump(void);
void __wrap_procdump(void);

struct count_report count_report;

// This hart's row for a lock in this interval; 0 when the table is full.
static struct count_row *find_row(struct count_hart *me, uint64 lock)
{
  uint interval = __atomic_load_n(&count_report.interval, __ATOMIC_RELAXED);
  uint64 slot = (lock >> 2) * 0x9e3779b97f4a7c15UL >> 32;

  for (uint probes = 0; probes < COUNT_ROWS; probes++, slot++) {
    struct count_row *row = &me->rows[slot % COUNT_ROWS];
    if (row->lock == 0) {
      row->lock = lock;
      row->interval = interval;
    }
    if (row->lock == lock && row->interval == interval)
      return row;
  }
  return 0;
}

void count_attempt(unsigned long word, unsigned before)
{
  struct count_hart *me = &count_report.harts[r_tp() % WATCH_CPUS];

  if (before != 0) {
    me->spins++;
    return;
  }
  struct count_row *row = find_row(me, word);
  if (row == 0) {
    me->lost++;
  } else {
    row->acquired++;
    row->contended += me->spins > 0;
    row->spins += me->spins;
    if (me->spins > row->longest)
      row->longest = me->spins;
  }
  me->spins = 0;
}

void __wrap_procdump(void)
{
  __atomic_fetch_add(&count_report.interval, 1, __ATOMIC_RELAXED);
  __real_procdump();
}
