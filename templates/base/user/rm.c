// Removes files and empty directories. Goes on after one that it cannot remove.

#include "kernel/types.h"
#include "user/user.h"

static int remove(const char *path)
{
  if (unlink(path) == 0)
    return 0;
  fprintf(2, "rm: cannot remove %s\n", path);
  return 1;
}

int main(int argc, char **argv)
{
  int failed = argc < 2;

  if (failed)
    fprintf(2, "usage: rm path ...\n");
  for (int i = 1; i < argc; i++)
    failed |= remove(argv[i]);
  return failed;
}
