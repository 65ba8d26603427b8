// Prints files, or its standard input, one after the other.

#include "kernel/types.h"
#include "kernel/fcntl.h"
#include "user/user.h"

// Copies all of fd to standard output. 0, or 1 after saying what failed.
static int copy(int fd, const char *name)
{
  static char buf[1024];
  int got;

  while ((got = read(fd, buf, sizeof buf)) > 0) {
    if (write(1, buf, got) != got) {
      fprintf(2, "cat: cannot write\n");
      return 1;
    }
  }
  if (got == 0)
    return 0;
  fprintf(2, "cat: cannot read %s\n", name);
  return 1;
}

static int copy_file(const char *path)
{
  int fd = open(path, O_RDONLY);
  int failed;

  if (fd < 0) {
    fprintf(2, "cat: cannot open %s\n", path);
    return 1;
  }
  failed = copy(fd, path);
  close(fd);
  return failed;
}

int main(int argc, char **argv)
{
  int failed = argc < 2 ? copy(0, "standard input") : 0;

  for (int i = 1; i < argc; i++)
    failed |= copy_file(argv[i]);
  return failed;
}
