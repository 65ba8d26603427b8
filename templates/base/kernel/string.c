// Memory and string functions, with their usual contracts. Every page is
// filled when it is freed and again when it is allocated, so memset and
// memmove work in 64-bit words, eight at a time. Words are only ever accessed
// at their own alignment: a machine may trap on anything else. The Makefile's
// -fno-tree-loop-distribute-patterns keeps the compiler from recognising the
// loops as memset and memmove, and turning each into a call of itself.

#include "types.h"
#include "riscv.h"
#include "defs.h"

// A word that may overlay objects of any type.
typedef uint64 __attribute__((may_alias)) word;

#define WORD sizeof(word)
#define GROUP (8 * WORD)
#define MISALIGNED(address) ((uint64)(address) % WORD)

// For functions below 512 bytes: they lie in one page then. QEMU runs a loop
// that straddles two of them twenty times slower.
#define IN_ONE_PAGE __attribute__((aligned(512)))

IN_ONE_PAGE void *memset(void *dst, int c, uint n)
{
  uchar *p = dst;
  uchar *end = p + n;
  word pattern = (uchar)c * 0x0101010101010101UL;

  while (p < end && MISALIGNED(p))
    *p++ = c;
  for (; end - p >= (long)GROUP; p += GROUP) {
    word *w = (word *)p;
    w[0] = pattern;
    w[1] = pattern;
    w[2] = pattern;
    w[3] = pattern;
    w[4] = pattern;
    w[5] = pattern;
    w[6] = pattern;
    w[7] = pattern;
  }
  for (; end - p >= (long)WORD; p += WORD)
    *(word *)p = pattern;
  while (p < end)
    *p++ = c;
  return dst;
}

// Copies upwards from the first byte. Right when dst lies below src, or when
// the two do not overlap.
static void copyup(uchar *d, const uchar *s, uint n)
{
  if (MISALIGNED(d) == MISALIGNED(s)) {
    for (; n && MISALIGNED(d); n--)
      *d++ = *s++;
    for (; n >= GROUP; n -= GROUP, d += GROUP, s += GROUP) {
      word *to = (word *)d;
      const word *from = (const word *)s;
      word w0 = from[0], w1 = from[1], w2 = from[2], w3 = from[3];
      word w4 = from[4], w5 = from[5], w6 = from[6], w7 = from[7];
      to[0] = w0, to[1] = w1, to[2] = w2, to[3] = w3;
      to[4] = w4, to[5] = w5, to[6] = w6, to[7] = w7;
    }
    for (; n >= WORD; n -= WORD, d += WORD, s += WORD)
      *(word *)d = *(const word *)s;
  }
  for (; n; n--)
    *d++ = *s++;
}

// Copies downwards from the last byte: for a dst that lies within the source.
static void copydown(uchar *d, const uchar *s, uint n)
{
  if (MISALIGNED(d) == MISALIGNED(s)) {
    for (; n && MISALIGNED(d + n); n--)
      d[n - 1] = s[n - 1];
    for (; n >= WORD; n -= WORD)
      *(word *)(d + n - WORD) = *(const word *)(s + n - WORD);
  }
  for (; n; n--)
    d[n - 1] = s[n - 1];
}

IN_ONE_PAGE void *memmove(void *dst, const void *src, uint n)
{
  // As unsigned numbers: dst - src < n only if dst is inside the source.
  if ((uint64)dst - (uint64)src < n)
    copydown(dst, src, n);
  else
    copyup(dst, src, n);
  return dst;
}

// For the compiler, which may call it to copy a struct.
void *memcpy(void *dst, const void *src, uint n)
{
  return memmove(dst, src, n);
}

int memcmp(const void *a, const void *b, uint n)
{
  const uchar *x = a, *y = b;

  for (uint i = 0; i < n; i++)
    if (x[i] != y[i])
      return x[i] < y[i] ? -1 : 1;
  return 0;
}

int strlen(const char *s)
{
  const char *end = s;

  while (*end)
    end++;
  return end - s;
}

int strncmp(const char *a, const char *b, uint n)
{
  for (uint i = 0; i < n; i++) {
    int difference = (uchar)a[i] - (uchar)b[i];
    if (difference || a[i] == 0)
      return difference;
  }
  return 0;
}

// Fills what is left of the n bytes with NULs. A src of n bytes or more leaves
// dst without one.
char *strncpy(char *dst, const char *src, int n)
{
  int i = 0;

  for (; i < n && src[i]; i++)
    dst[i] = src[i];
  for (; i < n; i++)
    dst[i] = 0;
  return dst;
}

// Like strncpy, but dst always ends with a NUL and is not padded.
char *safestrcpy(char *dst, const char *src, int n)
{
  int i = 0;

  if (n <= 0)
    return dst;
  for (; i < n - 1 && src[i]; i++)
    dst[i] = src[i];
  dst[i] = 0;
  return dst;
}
