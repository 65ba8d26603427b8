#ifndef SPINLOCK_H
#define SPINLOCK_H

#include "types.h"

// A lock that is waited for by spinning, with interrupts off.
struct spinlock {
  uint locked;      // 1 while some hart holds it
  char *name;       // what reports call it; must live as long as the lock
  struct cpu *cpu;  // the hart that holds it, 0 when nobody does
};

#endif
