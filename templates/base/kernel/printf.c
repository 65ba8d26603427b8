// Formatted output to the console and to memory, and panic.
//
// Conversions: %d %i %u %x %p %c %s %%, with l or ll before d, i, u and x, and
// a field width, with 0 in front of it to pad with zeros or - to pad on the
// right. There are no precisions and no floating point.

#include <stdarg.h>

#include "types.h"
#include "riscv.h"
#include "spinlock.h"
#include "defs.h"

// Held for the length of a printf, so that lines of two harts do not mix.
static struct spinlock prlock;

// Set when a hart begins to panic. From then on printf takes no lock: whoever
// holds it may be the hart that panics.
static volatile int panicking;

// Set when the panic has been printed. From then on consputc stops every hart
// that wants to write, so that the message stays the last thing on screen.
volatile int panicked;

// Where characters go: to the console if there is no buffer. len counts all
// that were asked for, also those for which the buffer had no room.
struct sink {
  char *buf;
  unsigned long size;
  unsigned long len;
};

// How one conversion is to be laid out.
struct field {
  int width;
  int left;
  char pad;
};

static void put(struct sink *out, char c)
{
  if (out->buf == 0)
    consputc(c);
  else if (out->len + 1 < out->size)
    out->buf[out->len] = c;
  out->len++;
}

static void pad(struct sink *out, char c, int count)
{
  while (count-- > 0)
    put(out, c);
}

static void puttext(struct sink *out, struct field f, const char *text, int len)
{
  if (!f.left)
    pad(out, ' ', f.width - len);
  for (int i = 0; i < len; i++)
    put(out, text[i]);
  if (f.left)
    pad(out, ' ', f.width - len);
}

// sign is "-", "0x" or "", and counts as a part of the field.
static void putnumber(struct sink *out, struct field f, const char *sign,
                      uint64 value, int base)
{
  char text[24];  // 20 digits hold any value in base 10
  int at = sizeof(text), signlen = strlen(sign);

  do {
    text[--at] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value);

  // Zeros go between the sign and the digits, blanks before the sign.
  if (f.pad == '0' && !f.left) {
    puttext(out, (struct field){0}, sign, signlen);
    pad(out, '0', f.width - signlen - (int)(sizeof(text) - at));
    f.width = 0;
  } else {
    at -= signlen;
    memmove(text + at, sign, signlen);
  }
  puttext(out, f, text + at, sizeof(text) - at);
}

// Prints the conversion whose text begins at p, just after the percent sign.
// Returns where the format goes on.
static const char *convert(struct sink *out, const char *p, va_list *args)
{
  const char *start = p;
  struct field f = {.pad = ' '};
  int wide = 0;

  for (; *p == '0' || *p == '-'; p++) {
    if (*p == '0')
      f.pad = '0';
    else
      f.left = 1;
  }
  for (; *p >= '0' && *p <= '9'; p++)
    f.width = f.width * 10 + (*p - '0');
  for (; *p == 'l'; p++)
    wide = 1;

  switch (*p) {
  case 'd':
  case 'i': {
    long v = wide ? va_arg(*args, long) : va_arg(*args, int);
    putnumber(out, f, v < 0 ? "-" : "", v < 0 ? -(uint64)v : (uint64)v, 10);
    break;
  }
  case 'u':
  case 'x':
    putnumber(out, f, "", wide ? va_arg(*args, uint64) : va_arg(*args, uint),
              *p == 'u' ? 10 : 16);
    break;
  case 'p':
    f = (struct field){.width = 18, .pad = '0'};
    putnumber(out, f, "0x", va_arg(*args, uint64), 16);
    break;
  case 'c': {
    char c = va_arg(*args, int);
    puttext(out, f, &c, 1);
    break;
  }
  case 's': {
    const char *s = va_arg(*args, const char *);
    if (s == 0)
      s = "(null)";
    puttext(out, f, s, strlen(s));
    break;
  }
  case '%':
    put(out, '%');
    break;
  default:  // not a conversion: show it as it stands
    put(out, '%');
    return start;
  }
  return p + 1;
}

static void format(struct sink *out, const char *fmt, va_list *args)
{
  while (*fmt) {
    if (*fmt == '%')
      fmt = convert(out, fmt + 1, args);
    else
      put(out, *fmt++);
  }
}

// Prints to the console. Returns the number of characters.
int printf(const char *fmt, ...)
{
  struct sink console = {0};
  int locking = !panicking;
  va_list args;

  if (locking)
    acquire(&prlock);
  va_start(args, fmt);
  format(&console, fmt, &args);
  va_end(args);
  if (locking)
    release(&prlock);
  return console.len;
}

// Prints into the size bytes of buf. What does not fit is left out; the last
// byte is always a NUL, unless size is 0. Returns the length of the whole text
// without its NUL, so a result of size or more means that some was left out.
int snprintf(char *buf, unsigned long size, const char *fmt, ...)
{
  char nothing;
  struct sink memory = {size ? buf : &nothing, size, 0};
  va_list args;

  va_start(args, fmt);
  format(&memory, fmt, &args);
  va_end(args);
  if (size)
    buf[memory.len < size ? memory.len : size - 1] = 0;
  return memory.len;
}

// Prints why the kernel cannot go on, and stops this hart for ever. If several
// harts panic, the first one speaks and the others stop in silence; so do those
// that write to the console later (consputc).
void panic(char *s)
{
  intr_off();
  w_sie(0);  // or an interrupt that waits would end every wfi at once
  if (__sync_lock_test_and_set(&panicking, 1) == 0) {
    printf("panic: %s\n", s);
    panicked = 1;
  }
  for (;;)
    asm volatile("wfi");
}

void printfinit(void)
{
  initlock(&prlock, "pr");
}
