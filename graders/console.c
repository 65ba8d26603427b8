// The parser of a guest's console. It gives no meaning to lines, and knows
// neither prompts nor escape sequences. How much there can be in all is bounded
// by whoever reads from the guest.
#include "graders/console.h"

#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"

static void end_line(struct console *c, int64_t time_ms)
{
  GROW(c->lines, c->count, c->room);
  c->lines[c->count++] = (struct console_line){
      .offset = c->line_start,
      .len = c->text.len - c->line_start,
      .time_ms = time_ms,
      .cut = c->cut,
  };
  buf_addc(&c->text, '\n');
  c->line_start = c->text.len;
  c->cut = false;
}

void console_feed(struct console *c, const char *bytes, size_t len,
                  int64_t time_ms)
{
  c->bytes += len;
  for (size_t i = 0; i < len; i++) {
    if (bytes[i] == '\n')
      end_line(c, time_ms);
    else if (bytes[i] == '\r' || bytes[i] == '\0')
      continue;
    else if (c->text.len - c->line_start < CONSOLE_LINE_BYTES)
      buf_addc(&c->text, bytes[i]);
    else
      c->cut = true;
  }
}

const char *console_line_text(const struct console *c,
                              const struct console_line *line)
{
  return buf_str(&c->text) + line->offset;
}

bool console_line_has(const struct console *c, const struct console_line *line,
                      const char *text, size_t len)
{
  return memmem(console_line_text(c, line), line->len, text, len) != NULL;
}

size_t console_find(const struct console *c, size_t from, const char *text,
                    size_t len, bool at_line_start)
{
  const char *all = buf_str(&c->text);
  while (from <= c->text.len) {
    const char *hit = memmem(all + from, c->text.len - from, text, len);
    if (!hit)
      return 0;
    if (!at_line_start || hit == all || hit[-1] == '\n')
      return (size_t)(hit - all) + len;
    from = (size_t)(hit - all) + 1;
  }
  return 0;
}

void console_release(struct console *c)
{
  buf_release(&c->text);
  free(c->lines);
  *c = (struct console){0};
}
