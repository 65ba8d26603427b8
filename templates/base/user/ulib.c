// The part of the library that is neither formatted output nor memory: where a
// program starts, strings, and thin covers of system calls. No locale, no
// errno.

#include "kernel/types.h"
#include "kernel/stat.h"
#include "kernel/fcntl.h"
#include "user/user.h"

int main(int argc, char **argv);

// The first instruction of every program (user.ld names it as the entry). A
// program has nowhere to return to, so it exits for main.
void start(int argc, char **argv)
{
  exit(main(argc, argv));
}

char *sbrk(int bytes)
{
  return sys_sbrk(bytes, SBRK_EAGER);
}

char *sbrklazy(int bytes)
{
  return sys_sbrk(bytes, SBRK_LAZY);
}

int sleep(int ticks)
{
  return pause(ticks);
}

int stat(const char *path, struct stat *ret_st)
{
  int result = -1;
  int fd = open(path, O_RDONLY);

  if (fd >= 0) {
    result = fstat(fd, ret_st);
    close(fd);
  }
  return result;
}

uint strlen(const char *s)
{
  const char *end = s;

  while (*end != '\0')
    end++;
  return end - s;
}

char *strcpy(char *dst, const char *src)
{
  return memcpy(dst, src, strlen(src) + 1);
}

int strcmp(const char *a, const char *b)
{
  uint same = 0;

  while (a[same] != '\0' && a[same] == b[same])
    same++;
  return (uchar)a[same] - (uchar)b[same];
}

char *strchr(const char *s, char c)
{
  while (*s != c) {
    if (*s == '\0')
      return 0;
    s++;
  }
  return (char *)s;
}

int atoi(const char *digits)
{
  int value = 0;
  int negative = *digits == '-';
  uint digit;

  if (negative)
    digits++;
  while ((digit = (uint)*digits - '0') < 10) {
    value = 10 * value + digit;
    digits++;
  }
  return negative ? -value : value;
}

void *memset(void *dst, int byte, uint n)
{
  uchar *bytes = dst;

  while (n > 0)
    bytes[--n] = byte;
  return dst;
}

// Copies downwards when dst lies within src, so that no byte is overwritten
// before it has been read.
void *memmove(void *dst, const void *src, uint n)
{
  uchar *to = dst;
  const uchar *from = src;

  if (to <= from)
    return memcpy(dst, src, n);
  while (n > 0) {
    n--;
    to[n] = from[n];
  }
  return dst;
}

void *memcpy(void *dst, const void *src, uint n)
{
  uchar *to = dst;
  const uchar *from = src;

  for (uint i = 0; i < n; i++)
    to[i] = from[i];
  return dst;
}

int memcmp(const void *a, const void *b, uint n)
{
  const uchar *left = a;
  const uchar *right = b;
  int difference = 0;

  for (uint i = 0; i < n && difference == 0; i++)
    difference = left[i] - right[i];
  return difference;
}

char *gets(char *buf, int bytes)
{
  int used = 0;
  char c = '\0';

  while (used < bytes - 1 && c != '\n' && c != '\r') {
    if (read(0, &c, 1) != 1)
      break;
    buf[used++] = c;
  }
  buf[used] = '\0';
  return buf;
}

const char *line_prefix(int *argc, char **argv)
{
  static char prefix[64];
  uint len;

  if (*argc < 3 || strcmp(argv[1], "-n") != 0)
    return "";
  len = strlen(argv[2]);
  if (len > sizeof prefix - 2)
    len = sizeof prefix - 2;
  memcpy(prefix, argv[2], len);
  memcpy(prefix + len, " ", 2);
  *argc -= 2;
  for (int i = 1; i <= *argc; i++)
    argv[i] = argv[i + 2];
  return prefix;
}
