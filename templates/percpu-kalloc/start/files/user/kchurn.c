// kchurn [-n WORD] [rounds [pages [processes]]]
//
// The churn phase of kalloctest alone: several processes grow and shrink their
// memory at the same time. For measuring how they get into each other's way in
// the page allocator.

#include "user/churn.h"

int main(int argc, char **argv)
{
  struct work work;

  read_arguments(argc, argv, &work);
  exit(churn(&work, "kchurn"));
}
