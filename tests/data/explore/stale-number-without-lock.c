// Lists without locks that only their own hart uses, and pages that are spread
// over all of them at boot. The number is read before interrupts are off.
#include "common.h"

static struct run *list[NCPU];

static void put(int id, void *pa)
{
  memset(pa, 1, PGSIZE);
  ((struct run *)pa)->next = list[id];
  list[id] = pa;
}

void kinit(void)
{
  int id = 0;
  for (char *p = (char *)PGROUNDUP((uint64)end); p + PGSIZE <= (char *)PHYSTOP;
       p += PGSIZE, id = (id + 1) % NCPU)
    put(id, p);
}

void kfree(void *pa)
{
  check(pa);
  int id = cpuid();
  push_off();
  put(id, pa);
  pop_off();
}

void *kalloc(void)
{
  int id = cpuid();
  push_off();
  struct run *r = list[id];
  if (r)
    list[id] = r->next;
  pop_off();
  return r ? memset(r, 5, PGSIZE) : 0;
}
