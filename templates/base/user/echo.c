// Prints its arguments, with blanks between them, as one line.

#include "kernel/types.h"
#include "user/user.h"

static char line[512];
static uint used;

// Adds text to the line; a line that grows too long goes out in pieces.
static void add(const char *text)
{
  for (; *text != '\0'; text++) {
    if (used == sizeof line) {
      write(1, line, used);
      used = 0;
    }
    line[used++] = *text;
  }
}

int main(int argc, char **argv)
{
  const char *gap = "";

  while (--argc > 0) {
    add(gap);
    add(*++argv);
    gap = " ";
  }
  add("\n");
  return write(1, line, used) == (int)used ? 0 : 1;
}
