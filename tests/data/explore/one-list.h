// An allocator with one list under one lock, but for kalloc(), which its includer
// makes of take() and something that goes wrong when the list is empty.
#include "common.h"

static struct {
  struct spinlock lock;
  struct run *list;
  int tries[NCPU];
} pool;

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

static void *take(void)
{
  acquire(&pool.lock);
  struct run *r = pool.list;
  if (r)
    pool.list = r->next;
  release(&pool.lock);
  return r ? memset(r, 5, PGSIZE) : 0;
}
