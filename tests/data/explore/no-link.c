// Compiles, and calls what is not there.
#include "common.h"

void lost(void);

void kinit(void)
{
  lost();
}

void kfree(void *pa)
{
  check(pa);
}

void *kalloc(void)
{
  return 0;
}
