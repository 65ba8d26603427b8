// Counts past its array's end when the list is empty.
#include "one-list.h"

int always_zero(void)
{
  return 0;
}

void *kalloc(void)
{
  if (pool.list == 0)
    pool.tries[NCPU + always_zero()]++;
  return take();
}
