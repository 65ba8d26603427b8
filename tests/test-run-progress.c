// labgen/run/progress: plain lines in files, live lines on a terminal.
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "labgen/base/buf.h"
#include "labgen/run/progress.h"

// A terminal of 40 columns: `side` is where a program writes, `screen` what the
// terminal gets.
struct terminal {
  int screen;
  FILE *side;
};

static struct terminal open_terminal(void)
{
  struct terminal t;
  struct winsize size = {.ws_row = 10, .ws_col = 40};
  t.screen = posix_openpt(O_RDWR | O_NOCTTY);
  cr_assert_eq(grantpt(t.screen), 0);
  cr_assert_eq(unlockpt(t.screen), 0);
  t.side = fopen(ptsname(t.screen), "w");
  cr_assert_not_null(t.side);
  cr_assert_eq(ioctl(t.screen, TIOCSWINSZ, &size), 0);
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  return t;
}

// What has been written to the terminal so far.
static struct buf seen(struct terminal *t)
{
  struct buf b = BUF_INIT;
  char chunk[4096];
  ssize_t n;
  fcntl(t->screen, F_SETFL, O_NONBLOCK);
  while ((n = read(t->screen, chunk, sizeof chunk)) > 0)
    buf_add(&b, chunk, (size_t)n);
  return b;
}

static void two_items(FILE *stream)
{
  struct progress *p = progress_start(stream, 2);
  size_t a = progress_begin(p, "ann"), b = progress_begin(p, "b\x1b[2Job");
  progress_say(p, a, "boots");
  progress_end(p, b, "failed", PROGRESS_BAD);
  progress_end(p, a, "passed", PROGRESS_GOOD);
  progress_finish(p);
}

Test(progress, a_file_gets_plain_lines)
{
  char *text = NULL;
  size_t len = 0;
  FILE *f = tmpfile();
  two_items(f);
  rewind(f);
  cr_assert_gt(getdelim(&text, &len, '\0', f), 0);
  cr_assert_str_eq(text,
                   "[1/2] b\\x1b[2Job: failed (about 1 s left)\n"
                   "[2/2] ann: passed\n");
  free(text);
  fclose(f);
}

Test(progress, a_dumb_terminal_gets_plain_lines)
{
  struct terminal t = open_terminal();
  setenv("TERM", "dumb", 1);
  two_items(t.side);
  struct buf b = seen(&t);
  cr_assert_null(strchr(buf_str(&b), '\x1b'));
  cr_assert_not_null(strstr(buf_str(&b), "[2/2] ann: passed\r\n"));
  buf_release(&b);
}

Test(progress, a_terminal_gets_live_lines_that_go_away)
{
  struct terminal t = open_terminal();
  two_items(t.side);
  struct buf b = seen(&t);
  const char *text = buf_str(&b);
  cr_assert_not_null(strstr(text, "0 of 2 done\r\n"));
  cr_assert_not_null(strstr(text, "[1/2] b\\x1b[2Job: \x1b[31mfailed\x1b[0m"));
  cr_assert_not_null(strstr(text,
                            "1 of 2 done, about 1 s left\r\n"
                            "  ann: boots, 0 s\r\n"));
  const char *last = strstr(text, "[2/2] ann: \x1b[32mpassed\x1b[0m\r\n");
  cr_assert_not_null(last);
  cr_assert_str_eq(strchr(last, '\n') + 1,
                   "2 of 2 done\r\n"
                   "\x1b[1A\r\x1b[J");
  buf_release(&b);
}

static void count_to_nine(FILE *stream)
{
  struct progress *p = progress_start(stream, 0);
  for (size_t i = 0; i <= 9; i++) {
    char words[32];
    snprintf(words, sizeof(words), "trees %zu/9\x1b[2J", i);
    progress_count(p, words, i, 9);
  }
  progress_hide(p);
  fputs("a word in between\n", stream);
  progress_finish(p);
}

Test(progress, counts_in_a_file_are_lines_now_and_then)
{
  char *text = NULL;
  size_t len = 0;
  FILE *f = tmpfile();
  count_to_nine(f);
  rewind(f);
  cr_assert_gt(getdelim(&text, &len, '\0', f), 0);
  cr_assert_str_eq(text, "trees 0/9\\x1b[2J\na word in between\n");
  free(text);
  fclose(f);
}

Test(progress, counts_on_a_terminal_are_one_live_line)
{
  struct terminal t = open_terminal();
  count_to_nine(t.side);
  fflush(t.side);
  struct buf b = seen(&t);
  cr_assert_str_eq(buf_str(&b),
                   "trees 0/9\\x1b[2J\r\n"
                   "\x1b[1A\r\x1b[J"
                   "a word in between\r\n");
  buf_release(&b);
}

Test(progress, counts_tell_the_time_left)
{
  struct terminal t = open_terminal();
  struct progress *p = progress_start(t.side, 0);
  progress_count(p, "trees 3/9", 3, 9);
  struct buf b = seen(&t);
  cr_assert_str_eq(buf_str(&b), "trees 3/9, about 1 s left\r\n");
  buf_release(&b);
  progress_finish(p);
}

Test(progress, no_color_is_respected)
{
  struct terminal t = open_terminal();
  setenv("NO_COLOR", "1", 1);
  two_items(t.side);
  struct buf b = seen(&t);
  cr_assert_null(strstr(buf_str(&b), "\x1b[3"));
  cr_assert_not_null(strstr(buf_str(&b), "\x1b[J"));
  buf_release(&b);
}

Test(progress, a_live_line_does_not_wrap)
{
  struct terminal t = open_terminal();
  struct progress *p = progress_start(t.side, 2);
  size_t item = progress_begin(
      p,
      "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4 this name has more than forty "
      "columns");
  progress_end(p, progress_begin(p, "other"), "ok", PROGRESS_PLAIN);
  struct buf b = seen(&t);
  // Two columns before the name; the last column stays free.
  cr_assert_not_null(strstr(
      buf_str(&b),
      "\r\n  \xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4 this name has more than forty "
      "co\r\n"));
  buf_release(&b);
  progress_say(p, item, "still");
  progress_finish(p);
}
