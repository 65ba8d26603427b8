// Building error messages. It does not print them: only commands do.
#include "labgen/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/buf.h"

static const struct {
  int status;
  const char *name;
} kinds[] = {[0] = {0, "no error"},
#define ROW(code, status, name) [-(code)] = {status, name},
             LG_ERRORS(ROW)
#undef ROW
};

// Index of a code in kinds[]; a number that is no code is a harness fault.
static size_t kind_of(int code)
{
  int i = -code;
  if (i < 0 || (size_t)i >= sizeof kinds / sizeof kinds[0])
    i = -LG_EHARNESS;
  return (size_t)i;
}

int error_exit_status(int code)
{
  return kinds[kind_of(code)].status;
}

const char *error_name(int code)
{
  return kinds[kind_of(code)].name;
}

// Puts the text of `line` (released here) below what *err holds.
static int add_line(struct error *err, int code, struct buf *line)
{
  if (!err) {
    buf_release(line);
    return code;
  }
  if (err->message) {
    buf_splice(line, 0, 0, "\n", 1);
    buf_splice(line, 0, 0, err->message, strlen(err->message));
    free(err->message);
  }
  if (!err->code)
    err->code = code;
  err->message = buf_detach(line);
  return code;
}

// Appends a formatted text; va_list has no writer of its own in buf.h.
static void add_format(struct buf *line, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));
static void add_format(struct buf *line, const char *fmt, va_list args)
{
  char *text = NULL;
  if (vasprintf(&text, fmt, args) < 0)
    abort();
  buf_adds(line, text);
  free(text);
}

int error_set(struct error *err, int code, const char *fmt, ...)
{
  struct buf line = BUF_INIT;
  va_list args;
  va_start(args, fmt);
  add_format(&line, fmt, args);
  va_end(args);
  return add_line(err, code, &line);
}

int error_at(struct error *err, int code, const char *path, size_t line,
             size_t column, const char *fmt, ...)
{
  struct buf text = BUF_INIT;
  buf_adds(&text, path);
  if (line)
    buf_addf(&text, ":%zu", line);
  if (line && column)
    buf_addf(&text, ":%zu", column);
  buf_adds(&text, ": ");
  va_list args;
  va_start(args, fmt);
  add_format(&text, fmt, args);
  va_end(args);
  return add_line(err, code, &text);
}

int error_errno(struct error *err, int code, const char *fmt, ...)
{
  int saved = errno;
  struct buf line = BUF_INIT;
  va_list args;
  va_start(args, fmt);
  add_format(&line, fmt, args);
  va_end(args);
  buf_addf(&line, ": %s", strerror(saved));
  errno = saved;
  return add_line(err, code, &line);
}

void error_release(struct error *err)
{
  free(err->message);
  *err = (struct error){0};
}
