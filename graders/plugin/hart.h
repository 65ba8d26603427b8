// What the plugin remembers of each hart. A hart's entry is written by the
// thread that runs the hart and read by others, so every field is atomic; with
// one writer, relaxed loads and stores are enough and cost nothing.
#ifndef LABGEN_PLUGIN_HART_H
#define LABGEN_PLUGIN_HART_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

enum {
  HARTS_MAX = 16,
  HELD_MAX = 16,          // locks that one hart holds at a time
  LOCK_ROWS = 1 << 15,    // a power of two; each pipe has a lock of its own
  ATOMIC_ROWS = 1 << 10,  // a power of two
  FOREIGN_ROWS = 64,
};

typedef _Atomic uint64_t counter;

// One lock as one hart used it since the start. `longest` is of the interval
// with that number alone; the others never go back, and the reporter subtracts
// what it has reported already.
struct lock_row {
  counter lock;  // its address; 0 for a row that is not in use
  counter acquired, contended, spins, longest, interval;
  uint64_t told_acquired, told_contended, told_spins;  // the reporter's own
};

// Atomic instructions of the code under watch, by the address that they touch.
struct atomic_row {
  counter address;
  counter times;
  uint64_t told_times;
};

// What an instruction of the code under watch did to a device: `address` is the
// device's register, or 0 where it made the kernel's driver send bytes.
struct foreign_row {
  counter pc;  // 0 for a row that is not in use
  counter address;
  counter times;
  uint64_t told_times;
};

struct hart {
  alignas(64) counter user_instructions;
  counter acquisitions;  // without those of quiet locks
  counter lost;          // events that found their table full

  counter awaited;   // the lock that the hart is trying to take, or 0
  counter attempts;  // made for it so far
  counter turns;     // locks taken, so two waits never have the same number
  counter held[HELD_MAX], held_count;  // in the order of taking

  counter sent;  // bytes that the kernel's driver sent to the console

  alignas(64) struct lock_row locks[LOCK_ROWS];
  struct atomic_row atomics[ATOMIC_ROWS];
  struct foreign_row foreign[FOREIGN_ROWS];
};

extern struct hart harts[HARTS_MAX];
extern unsigned hart_count;
extern counter interval_now;  // number of the interval that is running, from 1

static inline uint64_t get(counter *c)
{
  return atomic_load_explicit(c, memory_order_relaxed);
}

static inline void set(counter *c, uint64_t value)
{
  atomic_store_explicit(c, value, memory_order_relaxed);
}

// For the one writer of a counter.
static inline void add(counter *c, uint64_t n)
{
  set(c, get(c) + n);
}

// What a hart does, as the callbacks see it. `lock` and `address` are guest
// addresses.
void hart_tries(unsigned id, uint64_t lock);
void hart_takes(unsigned id);
void hart_releases(unsigned id, uint64_t lock);
void hart_atomic(unsigned id, uint64_t address);
void hart_foreign(unsigned id, uint64_t pc, uint64_t address);

// Acquisitions of locks in [from, to) are no work (a scheduler that looks for
// something to run); they are counted all the same.
void hart_set_quiet(uint64_t from, uint64_t to);

// The hart that holds a lock, or -1.
int hart_holding(uint64_t lock);

#endif
