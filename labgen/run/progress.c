// The live lines stand below the lines that stay: before anything is written
// they are taken away, and afterwards drawn again. Only the cursor's own line
// and those above it are touched, so what others wrote stays.
#include "labgen/run/progress.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/run/child.h"

#define REDRAW_MS 100
#define PLAIN_MS 5000  // between two plain lines of counts

struct item {
  char *name, *state;  // owned, escaped; name is NULL when it is done
  int64_t begun_ms;
};

struct progress {
  FILE *stream;
  bool live, coloured;
  size_t total, done;
  char *words;  // owned, escaped; what to say of them; NULL: the numbers
  struct item *items;
  size_t count, room;
  size_t drawn;  // live lines on the screen
  int64_t started_ms, drawn_ms;
};

static char *escaped(const char *s)
{
  struct buf b = BUF_INIT;
  buf_add_terminal(&b, s, strlen(s));
  return buf_detach(&b);
}

struct progress *progress_start(FILE *stream, size_t total)
{
  struct progress *p = xcalloc(1, sizeof *p);
  const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
  p->stream = stream;
  p->total = total;
  p->live = isatty(fileno(stream)) && term && strcmp(term, "dumb") != 0;
  p->coloured = p->live && !(no_color && *no_color);
  p->started_ms = clock_ms();
  return p;
}

// "about 3 min left", as far as what is done tells; nothing before that.
static void add_time_left(const struct progress *p, struct buf *b)
{
  if (p->done == 0 || p->done >= p->total)
    return;
  int64_t spent_ms = clock_ms() - p->started_ms;
  int64_t left_s =
      spent_ms * (int64_t)(p->total - p->done) / (int64_t)p->done / 1000 + 1;
  if (left_s < 120)
    buf_addf(b, "about %d s left", (int)left_s);
  else
    buf_addf(b, "about %d min left", (int)((left_s + 59) / 60));
}

static size_t columns(const struct progress *p)
{
  struct winsize size;
  if (ioctl(fileno(p->stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 10)
    return size.ws_col;
  return 80;
}

// Adds at most `max` characters of UTF-8 text: a live line that wraps would be
// two on the screen, and only one would be taken away.
static void add_fitting(struct buf *b, const char *text, size_t max)
{
  size_t len = 0;
  for (; text[len]; len++) {
    bool starts = (text[len] & 0xC0) != 0x80;
    if (starts && max-- == 0)
      break;
  }
  buf_add(b, text, len);
  buf_addc(b, '\n');
}

static void erase(struct progress *p, struct buf *b)
{
  if (p->drawn)
    buf_addf(b, "\x1b[%zuA\r\x1b[J", p->drawn);
  p->drawn = 0;
}

// The line on all of it.
static void add_head(const struct progress *p, struct buf *b)
{
  if (p->words)
    buf_adds(b, p->words);
  else
    buf_addf(b, "%zu of %zu done", p->done, p->total);
  if (p->done && p->done < p->total)
    buf_adds(b, ", ");
  add_time_left(p, b);
}

static void draw(struct progress *p, struct buf *b)
{
  size_t width = columns(p) - 1;
  struct buf line = BUF_INIT;
  add_head(p, &line);
  add_fitting(b, buf_str(&line), width);
  p->drawn = 1;
  for (size_t i = 0; i < p->count; i++) {
    const struct item *item = &p->items[i];
    if (!item->name)
      continue;
    buf_truncate(&line, 0);
    buf_addf(&line, "  %s: %s, %d s", item->name, item->state,
             (int)((clock_ms() - item->begun_ms) / 1000));
    add_fitting(b, buf_str(&line), width);
    p->drawn++;
  }
  p->drawn_ms = clock_ms();
  buf_release(&line);
}

// Writes what *b holds in one go, and releases it.
static void put(struct progress *p, struct buf *b)
{
  fwrite(buf_str(b), 1, b->len, p->stream);
  fflush(p->stream);
  buf_release(b);
}

static void redraw(struct progress *p)
{
  struct buf b = BUF_INIT;
  erase(p, &b);
  draw(p, &b);
  put(p, &b);
}

void progress_tick(struct progress *p)
{
  if (p->live && clock_ms() - p->drawn_ms >= REDRAW_MS)
    redraw(p);
}

size_t progress_begin(struct progress *p, const char *name)
{
  GROW(p->items, p->count, p->room);
  p->items[p->count] =
      (struct item){escaped(name), xstrdup("begins"), clock_ms()};
  progress_tick(p);
  return p->count++;
}

void progress_say(struct progress *p, size_t item, const char *state)
{
  free(p->items[item].state);
  p->items[item].state = escaped(state);
  progress_tick(p);
}

void progress_count(struct progress *p, const char *words, size_t done,
                    size_t total)
{
  free(p->words);
  p->words = escaped(words);
  p->done = done;
  p->total = total;
  progress_tick(p);
  if (p->live || (p->drawn_ms && clock_ms() - p->drawn_ms < PLAIN_MS))
    return;
  struct buf b = BUF_INIT;
  add_head(p, &b);
  buf_addc(&b, '\n');
  p->drawn_ms = clock_ms();
  put(p, &b);
}

static void forget(struct item *item)
{
  free(item->name);
  free(item->state);
  *item = (struct item){0};
}

void progress_end(struct progress *p, size_t item, const char *outcome,
                  enum progress_tone tone)
{
  static const char *const colours[] = {
      [PROGRESS_PLAIN] = "",
      [PROGRESS_GOOD] = "\x1b[32m",
      [PROGRESS_BAD] = "\x1b[31m",
  };
  struct buf b = BUF_INIT;
  bool coloured = p->coloured && tone != PROGRESS_PLAIN;
  char *words = escaped(outcome);
  p->done++;
  erase(p, &b);
  buf_addf(&b, "[%zu/%zu] %s: %s%s%s", p->done, p->total, p->items[item].name,
           coloured ? colours[tone] : "", words, coloured ? "\x1b[0m" : "");
  if (!p->live && p->done < p->total) {
    buf_adds(&b, " (");
    add_time_left(p, &b);
    buf_adds(&b, ")");
  }
  buf_addc(&b, '\n');
  free(words);
  forget(&p->items[item]);
  if (p->live)
    draw(p, &b);
  put(p, &b);
}

void progress_hide(struct progress *p)
{
  struct buf b = BUF_INIT;
  erase(p, &b);
  put(p, &b);
}

void progress_finish(struct progress *p)
{
  if (!p)
    return;
  progress_hide(p);
  for (size_t i = 0; i < p->count; i++)
    forget(&p->items[i]);
  free(p->items);
  free(p->words);
  free(p);
}
