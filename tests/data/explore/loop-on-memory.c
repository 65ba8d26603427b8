// Waits for ever for a page, and looks at memory.
#include "one-list.h"

void *kalloc(void)
{
  while (pool.list == 0)
    ;
  return take();
}
