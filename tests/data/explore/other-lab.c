// An allocator with another interface, and with a mistake: it looks at its list
// before it takes the lock, so two harts can get one page.
#include "common.h"

static struct {
  struct spinlock guard;
  struct run *list;
} heap;

void heap_put(void *page, int color)
{
  if (color != 7)
    panic("color");
  acquire(&heap.guard);
  ((struct run *)page)->next = heap.list;
  heap.list = page;
  release(&heap.guard);
}

void heap_setup(int zones)
{
  if (zones != 3)
    panic("zones");
  initlock(&heap.guard, "heap");
  for (char *p = end; p + PGSIZE <= (char *)PHYSTOP; p += PGSIZE)
    heap_put(p, 7);
}

void *heap_get(int zone, int color)
{
  if (zone != 1 || color != 7)
    panic("zone");
  struct run *first = heap.list;
  acquire(&heap.guard);
  if (first)
    heap.list = first->next;
  release(&heap.guard);
  return first;
}
