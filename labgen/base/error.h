// Errors: a code for the program, and a message for a person.
#ifndef LABGEN_BASE_ERROR_H
#define LABGEN_BASE_ERROR_H

#include <stddef.h>

// Functions that can fail return 0 or one of these, always negative. One table
// gives the code, its exit status and its name.
//
//   code, exit status, meaning
#define LG_ERRORS(X)                                                    \
  X(LG_EUSAGE, 2, "usage")           /* the command line is wrong */    \
  X(LG_EINPUT, 2, "bad input")       /* a lab file, roster, ... is */   \
  X(LG_EREFUSED, 1, "refused")       /* input that must not be used */  \
  X(LG_ENOTFOUND, 2, "not found")    /* a file or name is missing */    \
  X(LG_EBUILD, 1, "build failed")    /* a compiler said no */           \
  X(LG_EIO, 3, "input/output")       /* disk full, permissions, ... */  \
  X(LG_EHARNESS, 3, "harness fault") /* a tool is missing or crashed */ \
  X(LG_ELIMIT, 3, "limit reached")   /* time, memory, output */

enum {
  LG_OK = 0,
#define LG_ORDINAL(code, status, name) code##_ORDINAL,
  LG_ORDINAL_START,
  LG_ERRORS(LG_ORDINAL)
#undef LG_ORDINAL
#define LG_CODE(code, status, name) code = -code##_ORDINAL,
      LG_ERRORS(LG_CODE)
#undef LG_CODE
};

// What went wrong, as text that says what, where and what to do. A zeroed
// struct is "no error". `message` is owned; error_release() frees it.
struct error {
  int code;       // LG_E*, or 0
  char *message;  // several lines when there were several errors, or NULL
};

// Sets *err to `code` and the formatted message, and returns `code`, so that a
// function can end with `return error_set(err, LG_EIO, ...)`. An error that
// *err already holds is kept above the new one, on a line of its own, and its
// code stays. `err` may be NULL.
int error_set(struct error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// As error_set(), for a place in a file: "path:line:column: message". Line and
// column start at 1; 0 leaves that part out.
int error_at(struct error *err, int code, const char *path, size_t line,
             size_t column, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

// As error_set(), with ": " and the text of errno appended.
int error_errno(struct error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// The exit status (1, 2 or 3) that a code stands for; 0 for 0.
int error_exit_status(int code);

// The name of a code, such as "bad input"; borrowed, never NULL.
const char *error_name(int code);

// Frees the message and makes *err "no error" again. Safe on a zeroed struct.
void error_release(struct error *err);

#endif
