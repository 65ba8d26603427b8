// Makes directories.

#include "kernel/types.h"
#include "user/user.h"

int main(int argc, char **argv)
{
  int status = 0;

  if (argc == 1) {
    fprintf(2, "usage: mkdir directory ...\n");
    return 1;
  }
  while (*++argv != 0) {
    if (mkdir(*argv) == 0)
      continue;
    fprintf(2, "mkdir: cannot make %s\n", *argv);
    status = 1;
  }
  return status;
}
