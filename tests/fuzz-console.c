// Fuzz target: bytes as a guest's console. The first byte says in what pieces
// they come, and each piece must leave a text whose lines add up.
#include <stdint.h>
#include <stdlib.h>

#include "graders/console.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct console c = {0};
  size_t piece = size > 0 ? data[0] % 61 + 1u : 1;
  for (size_t at = 1; at < size; at += piece) {
    size_t len = size - at < piece ? size - at : piece;
    console_feed(&c, (const char *)data + at, len, (int64_t)at);
  }
  size_t behind = 0;
  for (size_t i = 0; i < c.count; i++) {
    const struct console_line *line = &c.lines[i];
    if (line->offset != behind || line->len > CONSOLE_LINE_BYTES)
      abort();
    behind = line->offset + line->len + 1;
    console_line_has(&c, line, "panic: ", 7);
  }
  if (behind != c.line_start || c.line_start > c.text.len)
    abort();
  size_t found = console_find(&c, 0, "$ ", 2, true);
  if (found > c.text.len)
    abort();
  console_release(&c);
  return 0;
}
