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

// A lock that a hart takes twice, or gives back without having it, is a bug
// that is easiest to find where it happens.
static void expect(struct spinlock *lk, int held, char *complaint)
{
  if (holding(lk) != held)
    panic(complaint);
}

// Waits until lk is free and takes it. Interrupts stay off until the matching
// release.
void acquire(struct spinlock *lk)
{
  push_off();
  expect(lk, 0, "acquire: held already");

  // amoswap.w puts 1 into the word and tells what was there, in one step that
  // no other hart can come between.
  while (__atomic_exchange_n(&lk->locked, 1, __ATOMIC_ACQUIRE) != 0)
    continue;

  // Nothing that belongs inside the critical section may move before it.
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  lk->cpu = mycpu();
}

// Gives lk back. Only the hart that took it may do that.
void release(struct spinlock *lk)
{
  expect(lk, 1, "release: not held");
  lk->cpu = 0;

  // ... nor may anything of it move behind the swap that ends it.
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  (void)__atomic_exchange_n(&lk->locked, 0, __ATOMIC_RELEASE);
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

  if (c->noff <= 0 || intr_get())
    panic(c->noff > 0 ? "pop_off: interrupts are on"
                      : "pop_off: no push_off before it");
  if (--c->noff > 0 || !c->intena)
    return;
  intr_on();
}
