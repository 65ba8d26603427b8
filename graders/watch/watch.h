// Between the watchers (watch.c) and the probe (probe.c), inside the guest.
#ifndef GRADERS_WATCH_WATCH_H
#define GRADERS_WATCH_WATCH_H

#include "types.h"

#include "param.h"

#include "memlayout.h"
#include "report.h"
#include "spinlock.h"

#include "riscv.h"

#include "proc.h"

// Harts that take part; all of them must reach the scheduler.
#ifndef WATCH_HARTS
#define WATCH_HARTS 3
#endif

// Where a watcher was called from.
#define CALLER ((uint64)__builtin_return_address(0))

extern struct watch_report watch_report;

// What a hart holds and waits for. Its own, with interrupts off; others look.
enum { WATCH_HELD = 16 };
struct hart {
  struct spinlock *held[WATCH_HELD];
  int count;
  struct spinlock *volatile waits;
};
extern struct hart watch_harts[NCPU];

// Whether an address lies in the student's code.
int watch_from_student(uint64 pc);

// Turns interrupts off without telling anybody, and returns what to put back.
uint64 watch_off(void);
void watch_restore(uint64 before);

// Adds a finding, or counts it up when there is one of that kind for lock b.
void watch_find(enum watch_kind kind, uint64 pc, uint64 a, uint64 b, uint64 c);

// The report's row for a lock of the student's, made on first sight; -1 when the
// table is full.
int watch_row(struct spinlock *lk);

// Checks a lock that is about to be acquired, by its row.
void watch_check_lock(int row, uint64 pc);

// Notes that a lock is being acquired while this hart holds others.
void watch_note_order(const struct hart *me, int row);

// In the storm, a hart that is about to close a cycle of locks gives the others
// time to be where it would matter.
void watch_pause(const struct hart *me, struct spinlock *lk, int row);

// Waits in acquire's place while a lock is taken, to look whether the wait can
// end. Interrupts are off, and this hart holds a lock.
void watch_await(struct hart *me, struct spinlock *lk, uint64 pc);

// Whether every byte of a page from `skip` on is `byte`; looks at every word,
// or at one in eight.
int watch_filled(const void *page, int byte, int skip, int every_word);

// Checks the names of the locks seen so far, and looks for cycles in the order
// in which they were taken.
void watch_check_names(void);
void watch_check_order(void);

// The CPU whose list the lock in a row of the report guards, told from the
// digits that end its name; NO_LIST for a name of its own without digits;
// NO_NUMBER when names tell nothing.
enum { NO_NUMBER = -1, NO_LIST = -2 };
int watch_home(int row);

// The student's functions, watched as the rest of the kernel calls them.
void *kalloc(void);
void kfree(void *page);

#endif
