// Counts lines, words and bytes of files, or of its standard input.

#include "kernel/types.h"
#include "kernel/fcntl.h"
#include "user/user.h"

// How far a count has got. A word ends at a blank; the start of the text is like
// one.
struct counts {
  uint lines;
  uint words;
  uint bytes;
  int in_word;
};

static void count_block(struct counts *counts, const char *block, uint len)
{
  counts->bytes += len;
  for (const char *c = block; c < block + len; c++) {
    int blank = strchr(" \t\n\r\v\f", *c) != 0;  // a NUL byte is one too
    counts->lines += *c == '\n';
    counts->words += !blank && !counts->in_word;
    counts->in_word = !blank;
  }
}

// Counts what fd has and prints it, with the name if there is one. Returns 0, or 1 after saying
// that reading failed.
static int count(int fd, const char *name)
{
  static char block[1024];
  struct counts counts = {0};
  int got;

  while ((got = read(fd, block, sizeof block)) > 0)
    count_block(&counts, block, got);
  if (got < 0) {
    fprintf(2, "wc: cannot read %s\n", name ? name : "standard input");
    return 1;
  }
  printf("%u %u %u%s%s\n", counts.lines, counts.words, counts.bytes,
         name ? " " : "", name ? name : "");
  return 0;
}

int main(int argc, char **argv)
{
  int failed = argc < 2 ? count(0, 0) : 0;

  for (int i = 1; i < argc; i++) {
    int fd = open(argv[i], O_RDONLY);
    if (fd < 0) {
      fprintf(2, "wc: cannot open %s\n", argv[i]);
      failed = 1;
      continue;
    }
    failed |= count(fd, argv[i]);
    close(fd);
  }
  return failed;
}
