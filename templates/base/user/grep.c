// Prints the lines of files, or of its standard input, in which a pattern is
// found. In a pattern . is any character, X* is any number of X, ^ and $ are
// the ends of the line, and \X is X itself. Exits with 0 if it found a line, 1
// if it found none, 2 if something failed.
//
// A pattern is a row of at most 63 items, and the state of a search is one
// word: bit i says that items 0 to i-1 have been matched by what stands just
// before this place. All ways to match are followed at once by a few shifts, so
// the time for a line does not depend on the pattern.

#include "kernel/types.h"
#include "kernel/fcntl.h"
#include "user/user.h"

#define MAX_ITEMS 63
#define MAX_LINE 1024  // a longer line is treated as several

struct pattern {
  uint64 takes[256];  // bit i: item i matches this character
  uint64 starred;     // bit i: item i may match often, or not at all
  uint64 found;       // the state's bit for "all items matched"
  int at_start;       // ^ in front
  int at_end;         // $ at the end
};

static struct pattern pattern;

// Input that is read in blocks and handed out by the line.
struct input {
  int fd;
  int used;   // bytes of block that have been handed out
  int valid;  // bytes that it has
  char block[1024];
};

// ---- the pattern ----------------------------------------------------------

// Makes item i out of the start of text. Returns what follows.
static const char *add_item(const char *text, int i)
{
  uint64 bit = 1UL << i;
  int any = *text == '.';

  if (*text == '\\' && text[1] != '\0')
    text++;
  for (int c = 0; c < 256; c++)
    if (any || c == (uchar)*text)
      pattern.takes[c] |= bit;
  text++;
  if (*text != '*')
    return text;
  pattern.starred |= bit;
  return text + 1;
}

// Fills pattern from its text. 0, or -1 if it is too long.
static int compile(const char *text)
{
  int items = 0;

  pattern.at_start = *text == '^';
  text += pattern.at_start;
  while (*text != '\0') {
    if (strcmp(text, "$") == 0) {
      pattern.at_end = 1;
      break;
    }
    if (items == MAX_ITEMS)
      return -1;
    text = add_item(text, items++);
  }
  pattern.found = 1UL << items;
  return 0;
}

// ---- searching ------------------------------------------------------------

// Adds to a state what it reaches by leaving out starred items.
static uint64 skip_starred(uint64 state)
{
  uint64 before;

  do {
    before = state;
    state |= (state & pattern.starred) << 1;
  } while (state != before);
  return state;
}

// The state after one more character: a starred item that takes it stays where
// it is, another one is done.
static uint64 advance(uint64 state, uchar c)
{
  uint64 taking = state & pattern.takes[c];

  return (taking & pattern.starred) | (taking & ~pattern.starred) << 1;
}

// 1 if the pattern is found in the len characters of line.
static int search(const char *line, int len)
{
  uint64 state = skip_starred(1);

  for (int i = 0; i < len; i++) {
    if ((state & pattern.found) && !pattern.at_end)
      return 1;
    state = advance(state, line[i]);
    if (!pattern.at_start)
      state |= 1;
    state = skip_starred(state);
  }
  return (state & pattern.found) != 0;
}

// ---- files ----------------------------------------------------------------

// What next_char returns when there is no character.
enum { INPUT_ENDED = -1, INPUT_FAILED = -2 };

// The next character of the input, or one of the above.
static int next_char(struct input *in)
{
  if (in->used == in->valid) {
    in->used = 0;
    in->valid = read(in->fd, in->block, sizeof in->block);
    if (in->valid <= 0) {
      int end = in->valid < 0 ? INPUT_FAILED : INPUT_ENDED;
      in->valid = 0;
      return end;
    }
  }
  return (uchar)in->block[in->used++];
}

// The exit status of two searches together: a failure counts most, then a find.
static int combine(int one, int other)
{
  if (one == 2 || other == 2)
    return 2;
  return one == 0 || other == 0 ? 0 : 1;
}

// Prints the line, which has room for a newline, if the pattern is found in it.
// Returns the exit status that this gives.
static int judge(char *line, int len)
{
  if (!search(line, len))
    return 1;
  line[len] = '\n';
  return write(1, line, len + 1) == len + 1 ? 0 : 2;
}

// Prints the lines of fd in which the pattern is found, the last one too if it
// has no newline. Returns the exit status that this gives.
static int grep(int fd, const char *name)
{
  static struct input in;
  static char line[MAX_LINE + 1];
  int status = 1;
  int len = 0;
  int c;

  in.used = in.valid = 0;
  in.fd = fd;
  while ((c = next_char(&in)) >= 0 && status < 2) {
    int ends = c == '\n';
    if (!ends)
      line[len++] = c;
    if (!ends && len < MAX_LINE)
      continue;
    status = combine(status, judge(line, len));
    len = 0;
  }
  if (c == INPUT_ENDED && len > 0)
    status = combine(status, judge(line, len));
  if (c != INPUT_FAILED)
    return status;
  fprintf(2, "grep: cannot read %s\n", name);
  return 2;
}

int main(int argc, char **argv)
{
  int status = 1;

  if (argc < 2) {
    fprintf(2, "usage: grep pattern [file ...]\n");
    return 2;
  }
  if (compile(argv[1]) < 0) {
    fprintf(2, "grep: pattern too long\n");
    return 2;
  }
  if (argc == 2)
    return grep(0, "standard input");
  for (int i = 2; i < argc; i++) {
    int fd = open(argv[i], O_RDONLY);
    int result = 2;
    if (fd < 0) {
      fprintf(2, "grep: cannot open %s\n", argv[i]);
    } else {
      result = grep(fd, argv[i]);
      close(fd);
    }
    status = combine(status, result);
  }
  return status;
}
