// Gives a file one more name.

#include "kernel/types.h"
#include "user/user.h"

int main(int argc, char **argv)
{
  if (argc == 3 && link(argv[1], argv[2]) == 0)
    return 0;
  if (argc == 3)
    fprintf(2, "ln: cannot link %s to %s\n", argv[2], argv[1]);
  else
    fprintf(2, "usage: ln existing new\n");
  return 1;
}
