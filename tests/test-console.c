// graders/console: lines out of whatever bytes a guest sends.
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "graders/console.h"

static void feed(struct console *c, const char *text, int64_t time_ms)
{
  console_feed(c, text, strlen(text), time_ms);
}

static void expect_line(const struct console *c, size_t i, const char *text,
                        int64_t time_ms)
{
  cr_assert_lt(i, c->count);
  cr_expect_eq(c->lines[i].len, strlen(text));
  cr_expect_eq(memcmp(console_line_text(c, &c->lines[i]), text, strlen(text)),
               0);
  cr_expect_eq(c->lines[i].time_ms, time_ms);
}

Test(console, lines_come_together_from_pieces_with_the_time_of_their_end)
{
  struct console c = {0};
  feed(&c, "fir", 1);
  cr_expect_eq(c.count, 0);
  feed(&c, "st\nsecond\nth", 5);
  cr_expect_eq(c.count, 2);
  expect_line(&c, 0, "first", 5);
  expect_line(&c, 1, "second", 5);
  feed(&c, "ird\n", 9);
  expect_line(&c, 2, "third", 9);
  cr_expect_str_eq(buf_str(&c.text), "first\nsecond\nthird\n");
  console_release(&c);
}

Test(console, an_incomplete_line_is_in_the_text_but_no_line)
{
  struct console c = {0};
  feed(&c, "one\n$ ", 1);
  cr_expect_eq(c.count, 1);
  cr_expect_str_eq(buf_str(&c.text) + c.line_start, "$ ");
  console_release(&c);
}

Test(console, carriage_returns_and_nuls_are_left_out)
{
  struct console c = {0};
  console_feed(&c, "a\0b\r\r\n\r\n\0\n", 10, 3);
  cr_expect_eq(c.count, 3);
  cr_expect_eq(c.bytes, 10, "what is left out is counted");
  expect_line(&c, 0, "ab", 3);
  expect_line(&c, 1, "", 3);
  expect_line(&c, 2, "", 3);
  console_release(&c);
}

Test(console, other_bytes_stay_as_they_are)
{
  struct console c = {0};
  feed(&c, "\x1b[2J\xFF\xC3\t\b\n", 0);
  expect_line(&c, 0, "\x1b[2J\xFF\xC3\t\b", 0);
  console_release(&c);
}

Test(console, an_overlong_line_is_cut_and_the_next_one_is_whole)
{
  struct console c = {0};
  char bytes[CONSOLE_LINE_BYTES];
  memset(bytes, 'x', sizeof bytes);
  console_feed(&c, bytes, sizeof bytes, 0);
  cr_expect_not(c.cut);
  feed(&c, "\n", 0);
  console_feed(&c, bytes, sizeof bytes, 0);
  feed(&c, "y", 0);
  cr_expect(c.cut);
  feed(&c, "yy\nnext\n", 0);
  cr_expect_eq(c.lines[0].len, CONSOLE_LINE_BYTES);
  cr_expect_not(c.lines[0].cut);
  cr_expect_eq(c.lines[1].len, CONSOLE_LINE_BYTES);
  cr_expect(c.lines[1].cut);
  expect_line(&c, 2, "next", 0);
  cr_expect_not(c.lines[2].cut);
  cr_expect_not(c.cut);
  console_release(&c);
}

static size_t find(const struct console *c, size_t from, const char *text,
                   bool at_line_start)
{
  return console_find(c, from, text, strlen(text), at_line_start);
}

Test(console, finds_text_anywhere_or_at_the_start_of_lines)
{
  struct console c = {0};
  feed(&c, "$ echo hi\nhi\n$ ", 0);
  cr_expect_eq(find(&c, 0, "hi", false), 9);
  cr_expect_eq(find(&c, 0, "hi", true), 12);
  cr_expect_eq(find(&c, 9, "hi", false), 12);
  cr_expect_eq(find(&c, 0, "$ ", true), 2, "the start of the text is one");
  cr_expect_eq(find(&c, 2, "$ ", true), 15);
  cr_expect_eq(find(&c, 0, "hi\nhi\n", false), 13, "over ends of lines");
  cr_expect_eq(find(&c, 0, "echo", true), 0);
  cr_expect_eq(find(&c, 15, "$", false), 0);
  cr_expect_eq(find(&c, 16, "$", false), 0, "behind the text is nothing");
  console_release(&c);
}

Test(console, an_empty_console_has_nothing)
{
  struct console c = {0};
  cr_expect_eq(find(&c, 0, "x", false), 0);
  cr_expect_eq(find(&c, 0, "x", true), 0);
  console_release(&c);
  console_release(&c);
}

Test(console, knows_what_a_line_has)
{
  struct console c = {0};
  feed(&c, "panic: x\npan\nic\n", 0);
  cr_expect(console_line_has(&c, &c.lines[0], "panic", 5));
  cr_expect_not(console_line_has(&c, &c.lines[0], "panic: x\n", 9));
  cr_expect_not(console_line_has(&c, &c.lines[1], "panic", 5));
  console_release(&c);
}

Test(console, pieces_of_any_size_give_the_same_lines)
{
  char bytes[20000];
  uint32_t seed = 7;
  for (size_t i = 0; i < sizeof bytes; i++) {
    seed = seed * 1103515245u + 12345u;
    bytes[i] = "ab\n\r\0\xFFz\n"[seed >> 20 & 7];
  }
  struct console whole = {0};
  console_feed(&whole, bytes, sizeof bytes, 1);
  for (size_t piece = 1; piece < 100; piece += 13) {
    struct console c = {0};
    for (size_t at = 0; at < sizeof bytes; at += piece)
      console_feed(&c, bytes + at,
                   at + piece > sizeof bytes ? sizeof bytes - at : piece, 1);
    cr_assert_eq(c.count, whole.count);
    cr_assert_eq(c.text.len, whole.text.len);
    cr_assert_eq(memcmp(c.text.data, whole.text.data, c.text.len), 0);
    for (size_t i = 0; i < c.count; i++) {
      cr_assert_eq(c.lines[i].offset, whole.lines[i].offset);
      cr_assert_eq(c.lines[i].len, whole.lines[i].len);
    }
    console_release(&c);
  }
  console_release(&whole);
}
