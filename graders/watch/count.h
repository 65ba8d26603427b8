// Stands before the course's spinlock.c when that is compiled for a kernel that
// counts (-include): each attempt to take a lock tells count.c what came of it.
// The compiler's functions for it are named in each kernel of this family.
#ifndef GRADERS_WATCH_COUNT_H
#define GRADERS_WATCH_COUNT_H

// The word at that address, which is its lock's first, held `before` when 1 was
// put there. Interrupts are off.
void count_attempt(unsigned long word, unsigned before);

static inline __attribute__((always_inline)) unsigned count_swap(
    unsigned long word, unsigned value, unsigned before)
{
  if (value != 0)
    count_attempt(word, before);
  return before;
}

#define __atomic_exchange_n(word, value, order) \
  count_swap((unsigned long)(word), (value),    \
             __atomic_exchange_n(word, value, order))
#define __sync_lock_test_and_set(word, value) \
  count_swap((unsigned long)(word), (value),  \
             __sync_lock_test_and_set(word, value))

#endif
