#ifndef SLEEPLOCK_H
#define SLEEPLOCK_H

#include "spinlock.h"

// A lock that is waited for by sleeping: for long work, by processes only.
struct sleeplock {
  struct spinlock lk;  // guards the other fields
  int pid;             // the process that holds it
  uint locked;         // 1 while some process holds it
  char *name;          // what reports call it
};

#endif
