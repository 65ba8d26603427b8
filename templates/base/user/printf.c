// Formatted output. The text of one call is collected and goes out in one write
// (long texts in several), so that what several processes print mixes as little
// as possible. Nothing is kept between calls. No floating point.

#include "kernel/types.h"
#include "user/user.h"

#include <stdarg.h>

struct out {
  int fd;
  uint used;
  char bytes[256];
};

// One conversion of the format, as it was asked for.
struct spec {
  int left;    // pad on the right
  char fill;   // what to pad on the left with
  uint width;  // at least this many characters
  int longs;   // number of l
};

static void flush(struct out *out)
{
  if (out->used > 0)
    write(out->fd, out->bytes, out->used);
  out->used = 0;
}

static void put(struct out *out, char c)
{
  if (out->used == sizeof out->bytes)
    flush(out);
  out->bytes[out->used++] = c;
}

// Puts len characters of text with the padding that spec asks for.
static void put_field(struct out *out, struct spec spec, const char *text,
                      uint len)
{
  uint pad = spec.width > len ? spec.width - len : 0;

  if (!spec.left)
    for (; pad > 0; pad--)
      put(out, spec.fill);
  for (uint i = 0; i < len; i++)
    put(out, text[i]);
  for (; pad > 0; pad--)
    put(out, ' ');
}

// Puts a number with sign ("", "-" or "0x") in front. The sign stands before
// zeros, but after blanks.
static void put_number(struct out *out, struct spec spec, const char *sign,
                       uint64 value, uint base)
{
  char digits[24];
  char *first = digits + sizeof digits;
  uint len = strlen(sign);

  do {
    *--first = "0123456789abcdef"[value % base];
    value /= base;
  } while (value > 0);
  if (spec.fill == '0' && !spec.left) {
    for (; *sign != '\0'; sign++)
      put(out, *sign);
    spec.width = spec.width > len ? spec.width - len : 0;
  } else {
    first -= len;
    memcpy(first, sign, len);
  }
  put_field(out, spec, first, digits + sizeof digits - first);
}

// Reads what may stand between % and the letter; returns where the letter is.
static const char *parse_spec(const char *fmt, struct spec *ret_spec)
{
  struct spec spec = {.fill = ' '};

  for (; *fmt == '-' || *fmt == '0'; fmt++) {
    if (*fmt == '-')
      spec.left = 1;
    else
      spec.fill = '0';
  }
  for (; *fmt >= '0' && *fmt <= '9'; fmt++)
    spec.width = spec.width * 10 + (*fmt - '0');
  for (; *fmt == 'l'; fmt++)
    spec.longs++;
  *ret_spec = spec;
  return fmt;
}

static void put_string(struct out *out, struct spec spec, const char *text)
{
  if (text == 0)
    text = "(null)";
  spec.fill = ' ';
  put_field(out, spec, text, strlen(text));
}

static void put_signed(struct out *out, struct spec spec, long value)
{
  if (value < 0)
    put_number(out, spec, "-", -(uint64)value, 10);
  else
    put_number(out, spec, "", value, 10);
}

static void format(int fd, const char *fmt, va_list args)
{
  struct out out = {.fd = fd, .used = 0};
  struct spec spec;
  uint64 word;
  char c;

  for (; *fmt != '\0'; fmt++) {
    if (*fmt != '%') {
      put(&out, *fmt);
      continue;
    }
    fmt = parse_spec(fmt + 1, &spec);
    switch (*fmt) {
    case 'd':
      put_signed(&out, spec,
                 spec.longs ? va_arg(args, long) : va_arg(args, int));
      break;
    case 'u':
    case 'x':
      word = spec.longs ? va_arg(args, uint64) : va_arg(args, uint);
      put_number(&out, spec, "", word, *fmt == 'x' ? 16 : 10);
      break;
    case 'p':
      put_number(&out, spec, "0x", va_arg(args, uint64), 16);
      break;
    case 's':
      put_string(&out, spec, va_arg(args, const char *));
      break;
    case 'c':
      c = va_arg(args, int);
      put_field(&out, spec, &c, 1);
      break;
    case '%':
      put(&out, '%');
      break;
    case '\0':  // the format ends in the middle of a conversion
      fmt--;
      break;
    default:  // an unknown letter shows itself
      put(&out, '%');
      put(&out, *fmt);
    }
  }
  flush(&out);
}

void fprintf(int fd, const char *fmt, ...)
{
  va_list args;

  va_start(args, fmt);
  format(fd, fmt, args);
  va_end(args);
}

void printf(const char *fmt, ...)
{
  va_list args;

  va_start(args, fmt);
  format(1, fmt, args);
  va_end(args);
}
