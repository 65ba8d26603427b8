// labgen/base/buf and alloc: growth, splices, and writers for hostile bytes.
#include <criterion/criterion.h>
#include <jansson.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"

typedef void writer(struct buf *b, const char *s, size_t len);

static void expect_written(writer *write, const char *bytes, size_t len,
                           const char *expected)
{
  struct buf b = BUF_INIT;
  write(&b, bytes, len);
  cr_expect_str_eq(buf_str(&b), expected);
  cr_expect_eq(b.len, strlen(expected));
  buf_release(&b);
}

#define EXPECT(write, bytes, expected) \
  expect_written(write, bytes, sizeof(bytes) - 1, expected)

// --- The buffer -----------------------------------------------------------------

Test(buf, an_empty_buffer_is_an_empty_text)
{
  struct buf b = BUF_INIT;
  cr_assert_str_eq(buf_str(&b), "");
  char *text = buf_detach(&b);
  cr_assert_str_eq(text, "");
  free(text);
  buf_release(&b);
  buf_release(&b);
}

Test(buf, grows_and_stays_terminated)
{
  struct buf b = BUF_INIT;
  for (size_t i = 0; i < 10000; i++) {
    buf_addc(&b, (char)('a' + i % 26));
    cr_assert_eq(b.len, i + 1);
    cr_assert_eq(b.data[b.len], '\0');
  }
  for (size_t i = 0; i < 10000; i++)
    cr_assert_eq(b.data[i], (char)('a' + i % 26));
  buf_release(&b);
}

Test(buf, bytes_may_be_nul)
{
  struct buf b = BUF_INIT;
  buf_add(&b, "a\0b", 3);
  buf_adds(&b, "c");
  cr_assert_eq(b.len, 4);
  cr_assert_arr_eq(b.data, "a\0bc", 5);
  buf_release(&b);
}

Test(buf, formats_short_and_long_texts)
{
  struct buf b = BUF_INIT;
  buf_addf(&b, "%s", "");
  cr_assert_str_eq(buf_str(&b), "");
  buf_addf(&b, "%d-%s|%0500d", 42, "x", 7);
  cr_assert_eq(b.len, 5 + 500);
  cr_assert_eq(strncmp(b.data, "42-x|000", 8), 0);
  cr_assert_eq(b.data[504], '7');
  buf_release(&b);
}

Test(buf, detaching_hands_the_text_over)
{
  struct buf b = BUF_INIT;
  buf_adds(&b, "text");
  char *text = buf_detach(&b);
  cr_assert_eq(b.len, 0);
  cr_assert_str_eq(buf_str(&b), "");
  buf_adds(&b, "other");
  cr_assert_str_eq(text, "text");
  free(text);
  buf_release(&b);
}

Test(buf, truncates_only_what_is_longer)
{
  struct buf b = BUF_INIT;
  buf_truncate(&b, 0);
  buf_adds(&b, "abc");
  buf_truncate(&b, 3);
  buf_truncate(&b, 10);
  cr_assert_str_eq(buf_str(&b), "abc");
  buf_truncate(&b, 1);
  cr_assert_str_eq(buf_str(&b), "a");
  buf_release(&b);
}

Test(buf, splices_at_both_ends_and_between)
{
  struct buf b = BUF_INIT;
  buf_splice(&b, 0, 0, "middle", 6);
  buf_splice(&b, 0, 0, "<", 1);
  buf_splice(&b, 7, 0, ">", 1);
  cr_assert_str_eq(buf_str(&b), "<middle>");
  buf_splice(&b, 1, 6, "a much longer text than before", 30);
  cr_assert_str_eq(buf_str(&b), "<a much longer text than before>");
  buf_splice(&b, 1, 30, NULL, 0);
  cr_assert_str_eq(buf_str(&b), "<>");
  cr_assert_eq(b.len, 2);
  buf_release(&b);
}

Test(buf, a_splice_outside_is_a_bug, .signal = SIGABRT)
{
  struct buf b = BUF_INIT;
  buf_adds(&b, "abc");
  buf_splice(&b, 2, 2, "x", 1);
}

// --- Allocation -----------------------------------------------------------------

Test(alloc, nothing_is_something)
{
  free(xmalloc(0));
  free(xcalloc(0, 5));
  char *p = xreallocarray(NULL, 0, 4);
  cr_assert_not_null(p);
  free(p);
}

#ifndef __SANITIZE_ADDRESS__  // which has its own words for these

Test(alloc, overflow_ends_the_program, .signal = SIGABRT)
{
  free(xreallocarray(NULL, SIZE_MAX / 2, 4));
}

Test(alloc, exhaustion_ends_the_program, .signal = SIGABRT)
{
  free(xmalloc(SIZE_MAX / 2 - 1));
}

#endif

Test(alloc, grow_keeps_what_is_there)
{
  int *v = NULL;
  size_t count = 0, room = 0;
  for (int i = 0; i < 1000; i++) {
    GROW(v, count, room);
    v[count++] = i;
  }
  cr_assert_geq(room, 1000);
  for (int i = 0; i < 1000; i++)
    cr_assert_eq(v[i], i);
  free(v);
}

Test(alloc, strings_are_copied)
{
  char *a = xstrdup("abc"), *b = xstrndup("abcdef", 2);
  char *c = xasprintf("%s/%d", a, 5);
  cr_assert_str_eq(a, "abc");
  cr_assert_str_eq(b, "ab");
  cr_assert_str_eq(c, "abc/5");
  free(a);
  free(b);
  free(c);
}

// --- Escaping -------------------------------------------------------------------

Test(escape, plain_text_and_valid_utf8_stand_as_they_are)
{
  // Two, three and four bytes, and the last character there is.
  const char text[] =
      "kalloc: 5 > 3 \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF";
  EXPECT(buf_add_terminal, text, text);
}

Test(escape, control_characters_become_visible)
{
  EXPECT(buf_add_terminal, "a\x1b[31mb\a\n\t\r\x7f",
         "a\\x1b[31mb\\x07\\x0a\\x09\\x0d\\x7f");
  EXPECT(buf_add_terminal, "a\0b", "a\\x00b");
  // C1: CSI as one character, which terminals take for ESC [.
  EXPECT(buf_add_terminal,
         "\xC2\x9B"
         "2J\xC2\x80\xC2\x9F",
         "\\u{009b}2J\\u{0080}\\u{009f}");
  EXPECT(buf_add_terminal, "\xC2\xA0", "\xC2\xA0");
  EXPECT(buf_add_html, "\x1b\n\xC2\x85", "\\x1b\\x0a\\u{0085}");
  EXPECT(buf_add_markdown, "\x1b\n\xC2\x85", "\\x1b\\x0a\\u{0085}");
  EXPECT(buf_add_csv, "\x1b\n\xC2\x85", "\\x1b\\x0a\\u{0085}");
}

Test(escape, text_direction_cannot_be_turned_on_a_terminal)
{
  EXPECT(buf_add_terminal,
         "a\xE2\x80\xAE"  // NOLINT(misc-misleading-bidirectional)
         "b",
         "a\\u{202e}b");
  EXPECT(buf_add_terminal, "\xD8\x9C\xE2\x80\x8F\xE2\x81\xA6\xE2\x81\xA9",
         "\\u{061c}\\u{200f}\\u{2066}\\u{2069}");
  EXPECT(buf_add_terminal, "\xE2\x80\xA9\xE2\x81\xA5",
         "\xE2\x80\xA9\xE2\x81\xA5");
}

#define FFFD "\xEF\xBF\xBD"

Test(escape, invalid_utf8_becomes_a_replacement_character)
{
  writer *const writers[] = {buf_add_terminal, buf_add_html, buf_add_markdown,
                             buf_add_csv};
  for (size_t i = 0; i < 4; i++) {
    EXPECT(writers[i], "a\xFFz\xFE", "a" FFFD "z" FFFD);
    EXPECT(writers[i], "\x80\xBF", FFFD FFFD);           // no lead byte
    EXPECT(writers[i], "\xC3", FFFD);                    // cut off
    EXPECT(writers[i], "\xE2\x82", FFFD FFFD);           // cut off
    EXPECT(writers[i], "\xE2\x82z", FFFD FFFD "z");      // broken off
    EXPECT(writers[i], "\xC0\xAF", FFFD FFFD);           // overlong '/'
    EXPECT(writers[i], "\xC1\xBF", FFFD FFFD);           // overlong DEL
    EXPECT(writers[i], "\xE0\x80\xAF", FFFD FFFD FFFD);  // overlong '/'
    EXPECT(writers[i], "\xF0\x80\x80\x8A", FFFD FFFD FFFD FFFD);
    EXPECT(writers[i], "\xED\xA0\x80", FFFD FFFD FFFD);  // surrogate
    EXPECT(writers[i], "\xF4\x90\x80\x80", FFFD FFFD FFFD FFFD);
    EXPECT(writers[i], "\xF8\x88\x80\x80\x80", FFFD FFFD FFFD FFFD FFFD);
  }
}

Test(escape, html_and_xml_keep_no_markup)
{
  EXPECT(buf_add_html, "<script>'\"&amp;</script>]]>",
         "&lt;script&gt;&#39;&quot;&amp;amp;&lt;/script&gt;]]&gt;");
  EXPECT(buf_add_html, "\xEF\xBF\xBE\xEF\xBF\xBF", FFFD FFFD);
}

Test(escape, markdown_keeps_no_markup)
{
  EXPECT(buf_add_markdown, "# *a* _b_ `c` [d](e) <f> |g| ~h~ 1. &i; \\",
         "\\# \\*a\\* \\_b\\_ \\`c\\` \\[d\\]\\(e\\) \\<f\\> \\|g\\| \\~h\\~ "
         "1\\. \\&i; \\\\");
  EXPECT(buf_add_markdown, "http://x.y, said 'me'",
         "http\\://x\\.y, said 'me'");
}

Test(escape, csv_fields_are_quoted_where_they_must_be)
{
  EXPECT(buf_add_csv, "", "");
  EXPECT(buf_add_csv, "plain text", "plain text");
  EXPECT(buf_add_csv, "a,b", "\"a,b\"");
  EXPECT(buf_add_csv, "say \"hi\"", "\"say \"\"hi\"\"\"");
  EXPECT(buf_add_csv, " edge", "\" edge\"");
}

Test(escape, csv_fields_are_no_formulas)
{
  EXPECT(buf_add_csv, "=1+1", "'=1+1");
  EXPECT(buf_add_csv, "+1", "'+1");
  EXPECT(buf_add_csv, "-1", "'-1");
  EXPECT(buf_add_csv, "@SUM(A1,A2)", "\"'@SUM(A1,A2)\"");
  EXPECT(buf_add_csv, "\t=1", "'\\x09=1");
  EXPECT(buf_add_csv, "\r=1", "'\\x0d=1");
  EXPECT(buf_add_csv, "1-1", "1-1");
}

Test(escape, a_length_is_respected_whatever_follows)
{
  expect_written(buf_add_terminal, "\xC3\xA4", 1, FFFD);
  expect_written(buf_add_csv, "a,b", 1, "a");
  expect_written(buf_add_html, NULL, 0, "");
  expect_written(buf_add_csv, NULL, 0, "");
}

Test(escape, whatever_goes_in_valid_utf8_comes_out)
{
  writer *const writers[] = {buf_add_terminal, buf_add_html, buf_add_markdown,
                             buf_add_csv};
  uint32_t seed = 12345;
  for (int round = 0; round < 2000; round++) {
    char bytes[24];
    for (size_t i = 0; i < sizeof bytes; i++) {
      seed = seed * 1103515245u + 12345u;
      // Half the bytes from those that make up longer characters.
      bytes[i] = (char)(seed >> 16 & 1 ? seed >> 24 : 0x80 | seed >> 24);
    }
    struct buf b = BUF_INIT;
    writers[round % 4](&b, bytes, sizeof bytes);
    // jansson checks UTF-8 when it makes a string.
    json_t *text = json_stringn(b.data, b.len);
    cr_assert_not_null(text);
    json_decref(text);
    for (size_t i = 0; i < b.len; i++)
      cr_assert((unsigned char)b.data[i] >= 0x20 && b.data[i] != 0x7F);
    buf_release(&b);
  }
}
