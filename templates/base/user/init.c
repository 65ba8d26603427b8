// The first process. Gives the system its console and a shell on it, a new one
// whenever the shell ends, and waits for every process that has lost its parent.

#include "kernel/types.h"
#include "kernel/fcntl.h"
#include "user/user.h"

#define CONSOLE_MAJOR 1

// Makes the console standard input, output and error. The file system may be
// new and have no such device yet.
static void open_console(void)
{
  if (open("console", O_RDWR) != 0) {
    mknod("console", CONSOLE_MAJOR, 0);
    open("console", O_RDWR);
  }
  while (dup(0) < 2) {
  }
}

// Starts a shell and returns its pid; tries again while there is no room for it.
static int start_shell(void)
{
  char *args[] = {"sh", 0};
  int pid;

  printf("init: starting sh\n");
  while ((pid = fork()) < 0)
    pause(10);
  if (pid == 0) {
    exec("sh", args);
    printf("init: cannot run sh\n");
    pause(10);  // the next shell will fail as well: not too many messages
    exit(1);
  }
  return pid;
}

int main(void)
{
  open_console();
  for (;;) {
    int shell = start_shell();
    while (wait(0) != shell) {
    }
  }
}
