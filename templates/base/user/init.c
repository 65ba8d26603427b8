// The first process. Gives the system its console and a shell on it, a new one
// whenever the shell ends, and waits for every process that has lost its parent.

#include "kernel/types.h"
#include "kernel/fcntl.h"
#include "user/user.h"

#define CONSOLE_MAJOR 1

// Makes the console standard input, output and error. In a new file system it is
// not there yet. Without a console there is nothing else to do than try again.
static void open_console(void)
{
  static const char path[] = "console";

  while (open(path, O_RDWR) < 0)
    mknod(path, CONSOLE_MAJOR, 0);
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
