// One list under one lock, and a kalloc that goes wrong when it is empty: trap.
#include "common.h"

static struct {
  struct spinlock lock;
  struct run *list;
  int tries[NCPU];
} pool;

int always_zero(void)
{
  return 0;
}

void kinit(void)
{
  initlock(&pool.lock, "pool");
  free_all();
}

void kfree(void *pa)
{
  check(pa);
  memset(pa, 1, PGSIZE);
  acquire(&pool.lock);
  ((struct run *)pa)->next = pool.list;
  pool.list = pa;
  release(&pool.lock);
}

void *kalloc(void)
{
  if (pool.list == 0)
    __builtin_trap();
  acquire(&pool.lock);
  struct run *r = pool.list;
  if (r)
    pool.list = r->next;
  release(&pool.lock);
  return r ? memset(r, 5, PGSIZE) : 0;
}
