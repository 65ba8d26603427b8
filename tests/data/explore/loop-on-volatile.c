// Waits for ever for a page, and looks at memory in a way that lets others go
// on between two looks.
#include "one-list.h"

void *kalloc(void)
{
  while (*(void *volatile *)&pool.list == 0)
    ;
  return take();
}
