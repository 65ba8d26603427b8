// A list and a lock of the kernel's for each hart, and behind them one lock of
// the student's own for all. Correct, and no faster than one list.
#include "common.h"

static struct {
  struct spinlock lock;
  char name[8];
  struct run *list;
} kmem[NCPU];

static uint hidden;

static void *use(void *pa)
{
  push_off();
  int me = cpuid();
  struct run *r = 0;
  for (int i = 0; i < NCPU && !r; i++) {
    int cpu = (me + i) % NCPU;
    acquire(&kmem[cpu].lock);
    while (__atomic_exchange_n(&hidden, 1, __ATOMIC_ACQUIRE))
      ;
    if (pa) {
      r = pa;
      r->next = kmem[cpu].list;
      kmem[cpu].list = r;
    } else if ((r = kmem[cpu].list)) {
      kmem[cpu].list = r->next;
    }
    __atomic_store_n(&hidden, 0, __ATOMIC_RELEASE);
    release(&kmem[cpu].lock);
  }
  pop_off();
  return r;
}

void kinit(void)
{
  for (int i = 0; i < NCPU; i++) {
    snprintf(kmem[i].name, sizeof kmem[i].name, "kmem%d", i);
    initlock(&kmem[i].lock, kmem[i].name);
  }
  free_all();
}

void kfree(void *pa)
{
  check(pa);
  memset(pa, 1, PGSIZE);
  use(pa);
}

void *kalloc(void)
{
  void *pa = use(0);
  return pa ? memset(pa, 5, PGSIZE) : 0;
}
