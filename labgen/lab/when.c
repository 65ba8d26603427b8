// Points in time as lab files write them: a date, a time of day and an offset
// from UTC, never a local time without one.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "labgen/lab/schema.h"

// Reads exactly `digits` digits; -1 when there are fewer.
static int number(const char **p, int digits)
{
  int value = 0;
  for (int i = 0; i < digits; i++, (*p)++) {
    if (**p < '0' || **p > '9')
      return -1;
    value = 10 * value + (**p - '0');
  }
  return value;
}

static bool skip(const char **p, const char *one_of)
{
  if (!**p || !strchr(one_of, **p))
    return false;
  (*p)++;
  return true;
}

static bool read_offset(const char **p, int *ret_minutes)
{
  while (**p == ' ')
    (*p)++;
  *ret_minutes = 0;
  if (skip(p, "Zz"))
    return true;
  int sign = **p == '-' ? -1 : 1;
  if (!skip(p, "+-"))
    return false;
  int hours = number(p, 2);
  skip(p, ":");
  int minutes = number(p, 2);
  *ret_minutes = sign * (60 * hours + minutes);
  return hours >= 0 && hours <= 14 && minutes >= 0 && minutes < 60;
}

int when_parse(const char *text, struct when *ret)
{
  const char *p = text;
  struct tm tm = {0};
  int offset;
  tm.tm_year = number(&p, 4);
  bool ok = tm.tm_year >= 1970 && skip(&p, "-");
  tm.tm_mon = ok ? number(&p, 2) : -1;
  ok = tm.tm_mon >= 1 && tm.tm_mon <= 12 && skip(&p, "-");
  tm.tm_mday = ok ? number(&p, 2) : -1;
  ok = tm.tm_mday >= 1 && skip(&p, " Tt");
  tm.tm_hour = ok ? number(&p, 2) : -1;
  ok = tm.tm_hour >= 0 && tm.tm_hour < 24 && skip(&p, ":");
  tm.tm_min = ok ? number(&p, 2) : -1;
  ok = tm.tm_min >= 0 && tm.tm_min < 60;
  if (ok && skip(&p, ":"))
    tm.tm_sec = number(&p, 2);
  ok = ok && tm.tm_sec >= 0 && tm.tm_sec < 60 && read_offset(&p, &offset);
  if (!ok || *p)
    return LG_EINPUT;
  int day = tm.tm_mday, month = tm.tm_mon - 1;
  tm.tm_year -= 1900;
  tm.tm_mon = month;
  int64_t seconds = timegm(&tm);
  if (tm.tm_mday != day || tm.tm_mon != month)
    return LG_EINPUT;  // such as 31 February
  *ret = (struct when){true, seconds - 60 * offset, offset};
  return 0;
}

void when_format(const struct when *w, char *ret, size_t size_bytes)
{
  struct tm tm = {0};
  time_t local = (time_t)(w->seconds + 60 * w->offset_minutes);
  gmtime_r(&local, &tm);
  int off = w->offset_minutes < 0 ? -w->offset_minutes : w->offset_minutes;
  char date[24];
  strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
  snprintf(ret, size_bytes, "%s %c%02d:%02d", date,
           w->offset_minutes < 0 ? '-' : '+', off / 60, off % 60);
}
