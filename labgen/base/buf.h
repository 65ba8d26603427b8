// A growable run of bytes, always followed by a NUL that is not counted.
#ifndef LABGEN_BASE_BUF_H
#define LABGEN_BASE_BUF_H

#include <stddef.h>

struct buf {
  char *data;  // owned; never NULL after buf_init() or any buf_ call
  size_t len;  // bytes, without the NUL
  size_t room;
};

// clang-format off
#define BUF_INIT {0}
// clang-format on

// Frees the bytes; the struct is empty again and may be used again. Safe on a
// zeroed struct.
void buf_release(struct buf *b);

// The text, "" for an empty or zeroed buffer; borrowed, valid until the next
// change.
const char *buf_str(const struct buf *b);

// Hands the text to the caller, who owns it (free()), and empties the buffer.
// Never NULL.
char *buf_detach(struct buf *b);

void buf_add(struct buf *b, const void *bytes, size_t len);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

// Cuts the buffer down to `len` bytes; no effect when it is shorter.
void buf_truncate(struct buf *b, size_t len);

// Replaces bytes [pos, pos + len) by `n` bytes; the range must lie inside.
void buf_splice(struct buf *b, size_t pos, size_t len, const void *bytes,
                size_t n);

// The escaping writers: the only way by which bytes that a student controls
// reach a terminal or a report. Invalid UTF-8 becomes U+FFFD. C0 and C1
// control characters (newline and tab too: what one call writes stays within
// its line), and for a terminal also bidirectional controls, become \xNN or
// \u{NNNN}.
void buf_add_terminal(struct buf *b, const char *s, size_t len);
void buf_add_html(struct buf *b, const char *s, size_t len);  // also for XML
void buf_add_markdown(struct buf *b, const char *s, size_t len);
// One CSV field (RFC 4180), quoted where it must be; a field that a
// spreadsheet would take for a formula (=, +, -, @, tab, CR first) gets a
// leading apostrophe.
void buf_add_csv(struct buf *b, const char *s, size_t len);

#endif
