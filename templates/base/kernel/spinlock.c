// Spinlocks, and the switching off of interrupts that goes with them.
//
// A hart that holds a spinlock must not take an interrupt: a handler that
// wanted the same lock would wait for ever for the code that it interrupted.
// Locks nest, and so does the switching off: push_off counts the levels and
// pop_off turns interrupts on again at the outermost, if they were on before.

#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "riscv.h"
#include "spinlock.h"
#include "proc.h"
#include "defs.h"

// Makes lk a free lock. The name is kept, not copied.
void initlock(struct spinlock *lk, char *name)
{
  *lk = (struct spinlock){.name = name};
}

// Waits until lk is free and takes it. Interrupts stay off until the matching
// release.
void acquire(struct spinlock *lk)
{
  push_off();
  if (holding(lk))
    panic("acquire");

  // amoswap.w puts 1 into the word and tells what was there, in one step that
  // no other hart can come between.
  uint before;
  do
    before = __sync_lock_test_and_set(&lk->locked, 1);
  while (before != 0);

  // Nothing that belongs inside the critical section may move before it.
  __sync_synchronize();
  lk->cpu = mycpu();
}

// Gives lk back. Only the hart that took it may do that.
void release(struct spinlock *lk)
{
  if (!holding(lk))
    panic("release");
  lk->cpu = 0;

  // ... nor may anything of it move behind the store that ends it.
  __sync_synchronize();
  __sync_lock_release(&lk->locked);
  pop_off();
}

// Whether this hart holds lk. Interrupts must be off, or the answer is about
// a hart that the caller has left.
int holding(struct spinlock *lk)
{
  return lk->locked != 0 && lk->cpu == mycpu();
}

// Turns interrupts off, one level deeper.
void push_off(void)
{
  int were_on = intr_get();

  intr_off();  // from here on this thread cannot change harts
  struct cpu *c = mycpu();
  if (c->noff++ == 0)
    c->intena = were_on;
}

// Undoes one push_off.
void pop_off(void)
{
  struct cpu *c = mycpu();

  if (intr_get())
    panic("pop_off: interrupts are on");
  if (c->noff <= 0)
    panic("pop_off: no push_off before it");
  c->noff--;
  if (c->noff == 0 && c->intena)
    intr_on();
}
