// Loops for ever in the first call, and looks at nothing.
#include "one-list.h"

void *kalloc(void)
{
  for (;;)
    ;
}
