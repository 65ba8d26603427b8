// The growable buffer and the escaping writers. The writers work on one
// decoded character at a time and never pass a byte through that they have not
// looked at. They do not judge how wide a character is, or whether a font has
// it.
#include "labgen/base/buf.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"

// Makes room for `more` bytes and the NUL behind them.
static void reserve(struct buf *b, size_t more)
{
  size_t need;
  if (__builtin_add_overflow(b->len, more, &need) || need >= SIZE_MAX / 2) {
    fputs("labgen: a buffer outgrew the address space\n", stderr);
    abort();
  }
  if (need + 1 <= b->room)
    return;
  size_t room = b->room ? b->room : 32;
  while (room < need + 1)
    room *= 2;
  b->data = xreallocarray(b->data, room, 1);
  b->room = room;
}

void buf_release(struct buf *b)
{
  free(b->data);
  *b = (struct buf)BUF_INIT;
}

const char *buf_str(const struct buf *b)
{
  return b->data ? b->data : "";
}

char *buf_detach(struct buf *b)
{
  buf_add(b, "", 0);
  char *text = b->data;
  *b = (struct buf)BUF_INIT;
  return text;
}

void buf_add(struct buf *b, const void *bytes, size_t len)
{
  reserve(b, len);
  if (len)
    memcpy(b->data + b->len, bytes, len);
  b->len += len;
  b->data[b->len] = '\0';
}

void buf_adds(struct buf *b, const char *s)
{
  buf_add(b, s, strlen(s));
}

void buf_addc(struct buf *b, char c)
{
  buf_add(b, &c, 1);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
  va_list args, again;
  va_start(args, fmt);
  va_copy(again, args);
  int len = vsnprintf(NULL, 0, fmt, args);
  va_end(args);
  if (len < 0)
    abort();
  reserve(b, (size_t)len);
  vsnprintf(b->data + b->len, (size_t)len + 1, fmt, again);
  va_end(again);
  b->len += (size_t)len;
}

void buf_truncate(struct buf *b, size_t len)
{
  if (len < b->len) {
    b->len = len;
    b->data[len] = '\0';
  }
}

void buf_splice(struct buf *b, size_t pos, size_t len, const void *bytes,
                size_t n)
{
  if (pos > b->len || len > b->len - pos) {
    fputs("labgen: a splice outside its buffer\n", stderr);
    abort();
  }
  reserve(b, n);
  memmove(b->data + pos + n, b->data + pos + len, b->len - pos - len);
  if (n)
    memcpy(b->data + pos, bytes, n);
  b->len = b->len - len + n;
  b->data[b->len] = '\0';
}

// --- Escaping ---------------------------------------------------------------

#define INVALID 0xFFFFFFFFu

// Decodes the character at s (RFC 3629: shortest form, no surrogates, at most
// U+10FFFF) into *ret_char, and returns how many bytes it took. A byte that
// starts no such character is INVALID and taken alone.
static size_t decode(const unsigned char *s, size_t len, uint32_t *ret_char)
{
  // Lead bytes from `from` on have `bytes` bytes; smaller values are overlong.
  static const struct {
    unsigned char from, to, bytes;
    uint32_t least;
  } leads[] = {
      {0x00, 0x7F, 1, 0},
      {0xC2, 0xDF, 2, 0x80},
      {0xE0, 0xEF, 3, 0x800},
      {0xF0, 0xF4, 4, 0x10000},
  };
  *ret_char = INVALID;
  for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
    size_t n = leads[i].bytes;
    if (s[0] < leads[i].from || s[0] > leads[i].to)
      continue;
    if (n > len)
      return 1;
    uint32_t c = n == 1 ? s[0] : s[0] & (0x7Fu >> n);
    for (size_t k = 1; k < n; k++) {
      if ((s[k] & 0xC0) != 0x80)
        return 1;
      c = c << 6 | (s[k] & 0x3Fu);
    }
    if (c < leads[i].least || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
      return 1;
    *ret_char = c;
    return n;
  }
  return 1;
}

static bool is_control(uint32_t c)
{
  return c < 0x20 || (c >= 0x7F && c <= 0x9F);
}

// Characters that reorder the text around them (Unicode UAX #9, 2.1 to 2.6).
static bool is_bidi(uint32_t c)
{
  return c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// How a form writes the character c: adds it and returns true, or returns
// false when it may stand as it is.
typedef bool special_fn(struct buf *b, uint32_t c);

static void add_escaped(struct buf *b, const char *s, size_t len,
                        special_fn *special)
{
  const unsigned char *at = (const unsigned char *)s;
  while (len) {
    uint32_t c;
    size_t n = decode(at, len, &c);
    if (c == INVALID)
      buf_adds(b, "\xEF\xBF\xBD");
    else if (is_control(c))
      buf_addf(b, c < 0x80 ? "\\x%02x" : "\\u{%04x}", (unsigned)c);
    else if (!special(b, c))
      buf_add(b, at, n);
    at += n;
    len -= n;
  }
}

static bool special_terminal(struct buf *b, uint32_t c)
{
  if (!is_bidi(c))
    return false;
  buf_addf(b, "\\u{%04x}", (unsigned)c);
  return true;
}

static bool special_html(struct buf *b, uint32_t c)
{
  switch (c) {
  case '&':
    buf_adds(b, "&amp;");
    return true;
  case '<':
    buf_adds(b, "&lt;");
    return true;
  case '>':
    buf_adds(b, "&gt;");
    return true;
  case '"':
    buf_adds(b, "&quot;");
    return true;
  case '\'':
    buf_adds(b, "&#39;");
    return true;
  case 0xFFFE:  // no characters of XML 1.0 (2.2)
  case 0xFFFF:
    buf_adds(b, "\xEF\xBF\xBD");
    return true;
  default:
    return false;
  }
}

// A backslash before ASCII punctuation takes its meaning away (CommonMark
// 2.4). Punctuation that never has one inside a line stays readable.
static bool special_markdown(struct buf *b, uint32_t c)
{
  if (c >= 0x80 || !strchr("!#$&()*+-.:<=>@[\\]^_`{|}~", (int)c))
    return false;
  buf_addc(b, '\\');
  buf_addc(b, (char)c);
  return true;
}

static bool special_csv(struct buf *b, uint32_t c)
{
  if (c != '"')
    return false;
  buf_adds(b, "\"\"");
  return true;
}

void buf_add_terminal(struct buf *b, const char *s, size_t len)
{
  add_escaped(b, s, len, special_terminal);
}

void buf_add_html(struct buf *b, const char *s, size_t len)
{
  add_escaped(b, s, len, special_html);
}

void buf_add_markdown(struct buf *b, const char *s, size_t len)
{
  add_escaped(b, s, len, special_markdown);
}

void buf_add_csv(struct buf *b, const char *s, size_t len)
{
  bool formula = len && s[0] && strchr("=+-@\t\r", s[0]);
  bool quote = len && (memchr(s, ',', len) || memchr(s, '"', len) ||
                       s[0] == ' ' || s[len - 1] == ' ');
  if (quote)
    buf_addc(b, '"');
  if (formula)
    buf_addc(b, '\'');
  add_escaped(b, s, len, special_csv);
  if (quote)
    buf_addc(b, '"');
}
