// forktest [-n WORD]
//
// Forks until no further process can be made, then waits for all of them: fork
// must fail in good order, and everything it took must come back.

#include "kernel/types.h"
#include "user/user.h"

#define TOO_MANY 1000  // more than any table of processes has

static const char *prefix;

static int failed(const char *what)
{
  printf("%sforktest: FAILED: %s\n", prefix, what);
  return 1;
}

// Forks as often as possible. The children read from the pipe, so they stay until
// its last write end is closed. Returns how many there are.
static int fork_all(int hold[2])
{
  char nothing;
  int count = 0;
  int pid;

  while (count < TOO_MANY && (pid = fork()) >= 0) {
    if (pid == 0) {
      close(hold[1]);
      read(hold[0], &nothing, 1);
      exit(count % 100);
    }
    count++;
  }
  return count;
}

// One round; returns how many children there were, or -1 after a message.
static int round(void)
{
  int hold[2];
  int count, sum = 0;

  if (pipe(hold) < 0)
    return -failed("cannot make a pipe");
  count = fork_all(hold);
  close(hold[0]);
  close(hold[1]);
  for (int i = 0; i < count; i++) {
    int status = -1;
    if (wait(&status) < 0)
      return -failed("a child is missing");
    sum += status - i % 100;
  }
  if (sum != 0)
    return -failed("a child ended with a wrong status");
  if (wait(0) >= 0)
    return -failed("one child too many");
  if (count == 0)
    return -failed("no fork worked");
  if (count == TOO_MANY)
    return -failed("fork never fails");
  return count;
}

int main(int argc, char **argv)
{
  int first, second;

  prefix = line_prefix(&argc, argv);
  if (argc > 1) {
    fprintf(2, "usage: forktest [-n WORD]\n");
    return 1;
  }
  first = round();
  if (first < 0)
    return 1;
  second = round();
  if (second < 0)
    return 1;
  if (first != second)
    return failed("fewer processes the second time");
  printf("%sforktest: %d processes\n", prefix, first);
  printf("%sforktest: OK\n", prefix);
  return 0;
}
