// Looks into the first page of a list without asking whether it has one.
#include "one-list.h"

void *kalloc(void)
{
  struct run *top = pool.list;
  if (top->next == top)
    panic("loop");
  return take();
}
