// Locks: which there are, who initialised them, and in which order they are
// taken.
#ifndef LABGEN_EXPLORE_LOCKS_H
#define LABGEN_EXPLORE_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

enum { LOCKS_MOST = 64, LOCKS_HELD = 16, LOCKS_SLOTS = 256 };

// The locks that a thread holds, in the order in which it took them.
struct locks_held {
  int lock[LOCKS_HELD];  // numbers
  const void *pc[LOCKS_HELD];
  int count;
};

struct lock {
  const void *addr;
  bool initialised, initialised_saved;
  bool caller;  // not the allocator's
};

// That one lock was taken while another was held.
struct lock_edge {
  bool there;
  uint64_t gates;  // further locks that were held every time, as bits
  const void *held_pc, *pc;
};

struct locks {
  struct lock lock[LOCKS_MOST];
  int count;
  uint8_t slot[LOCKS_SLOTS];  // hash table of numbers + 1
  struct lock_edge edge[LOCKS_MOST][LOCKS_MOST];
};

// The number of the lock at an address; a new one if need be. -1 when there
// are too many.
int locks_number(struct locks *l, const void *addr);

// A thread takes and gives back the lock of that number. Taking notes down the
// order. locks_drop() returns false when the thread does not have the lock.
void locks_take(struct locks *l, struct locks_held *held, int number,
                const void *pc);
bool locks_drop(struct locks_held *held, int number);

// Looks for a circle of orders that no gate (a lock that is held round all of
// it) makes harmless. Returns its length and the numbers in *ret (room for
// LOCKS_MOST), 0 when there is none. Callers' locks count like others.
int locks_circle(const struct locks *l, int *ret);

#endif
