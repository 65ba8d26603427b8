// Ends processes, given their pids.

#include "kernel/types.h"
#include "user/user.h"

// 1 if the process was killed, 0 after saying why not.
static int end(const char *pid)
{
  const char *wrong = "not a pid";
  const char *digit = pid;

  while (*digit != '\0' && strchr("0123456789", *digit))
    digit++;
  if (digit > pid && *digit == '\0') {
    if (kill(atoi(pid)) == 0)
      return 1;
    wrong = "no such process";
  }
  fprintf(2, "kill: %s: %s\n", pid, wrong);
  return 0;
}

int main(int argc, char **argv)
{
  int killed = 0;

  if (argc == 1)
    fprintf(2, "usage: kill pid ...\n");
  for (int i = 1; i < argc; i++)
    killed += end(argv[i]);
  return argc == 1 || killed < argc - 1;
}
