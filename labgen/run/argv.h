// A growing list of arguments for a child process.
#ifndef LABGEN_RUN_ARGV_H
#define LABGEN_RUN_ARGV_H

#include <stddef.h>

struct argv {
  char **v;  // each owned; v[count] is NULL once something was added
  size_t count, room;
};

// Adds a copy of `arg`.
void argv_add(struct argv *a, const char *arg);
void argv_addf(struct argv *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

// Adds copies of a list that ends with NULL; NULL is an empty list.
void argv_add_all(struct argv *a, const char *const *args);

// The list in the form that struct child_spec takes; borrowed.
const char *const *argv_list(const struct argv *a);

// Safe on a zeroed struct.
void argv_release(struct argv *a);

#endif
