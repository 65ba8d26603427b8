// Does not compile.
#include "common.h"

void kinit(void)
{
  no_such_thing;
}
