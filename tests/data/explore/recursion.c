// Calls itself for ever when the list is empty.
#include "one-list.h"

void *kalloc(void)
{
  if (pool.list == 0)
    return kalloc();
  return take();
}
