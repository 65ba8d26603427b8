// A guest's console: a stream of bytes, cut into lines with the time at which
// each came.
#ifndef GRADERS_CONSOLE_H
#define GRADERS_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labgen/base/buf.h"

// Longer lines lose their end.
#define CONSOLE_LINE_BYTES 4096

struct console_line {
  size_t offset, len;  // in the console's text; without the newline
  int64_t time_ms;     // when it was complete, as console_feed() was told
  bool cut;            // it was longer than CONSOLE_LINE_BYTES
};

// A zeroed struct is an empty console.
struct console {
  // All lines, each with its newline, then the line that is not complete yet.
  // Carriage returns and NULs are left out; other bytes are as the guest sent
  // them: hostile, so only for an escaping writer.
  struct buf text;
  struct console_line *lines;
  size_t count, room;
  size_t line_start;  // of the incomplete line, in `text`
  bool cut;           // the incomplete line has lost bytes
  uint64_t bytes;     // that were fed, all of them
};

// Adds bytes that came at `time_ms` (of any clock).
void console_feed(struct console *c, const char *bytes, size_t len,
                  int64_t time_ms);

// The text of a line, not NUL-terminated; borrowed until the next feed.
const char *console_line_text(const struct console *c,
                              const struct console_line *line);

// Whether the `len` bytes at `text` occur in the line.
bool console_line_has(const struct console *c, const struct console_line *line,
                      const char *text, size_t len);

// Finds `len` bytes in the text at or after `from`, over line ends too, or only
// where a line starts. Returns the offset just behind them, or 0.
size_t console_find(const struct console *c, size_t from, const char *text,
                    size_t len, bool at_line_start);

// Safe on a zeroed struct.
void console_release(struct console *c);

#endif
