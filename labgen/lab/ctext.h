// C source as text: what can be rewritten without understanding it.
#ifndef LABGEN_LAB_CTEXT_H
#define LABGEN_LAB_CTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "labgen/base/buf.h"
#include "labgen/base/error.h"

// Appends `text` without its comments: lines that held nothing else vanish,
// blank lines do not pile up, and no line ends in blanks.
void ctext_strip(const char *text, struct buf *ret);

// Appends `text` with blanks in the place of comments: every other character
// keeps its line and column.
void ctext_blank(const char *text, struct buf *ret);

// Appends `text` with identifiers replaced: new_name() gets each identifier
// outside of strings, character constants, comments and #include lines, and
// returns its new name, or NULL to keep it.
void ctext_rename(const char *text,
                  const char *(*new_name)(void *arg, const char *name,
                                          size_t len),
                  void *arg, struct buf *ret);

// A piece at file scope: a directive, a declaration or a function.
struct ctext_item {
  char *text;      // owned; without blanks around it
  char *function;  // owned; its name when this defines one, or NULL
  bool is_static;
  bool is_prototype;  // it declares a function
  bool after_blank;   // a blank line stood before it
};

struct ctext_items {
  struct ctext_item *items;  // owned
  size_t count, room;
};

// Splits text without comments into its items. LG_EINPUT when braces or quotes
// do not match. *ret is untouched on failure.
int ctext_split(const char *text, struct ctext_items *ret, struct error *err);

void ctext_items_release(struct ctext_items *items);

// The text of a prototype for an item that defines a function, without the
// semicolon's line end. Caller owns it.
char *ctext_prototype(const struct ctext_item *item);

// The number of the line (from 1) that holds byte `pos` of `text`.
size_t ctext_line(const char *text, size_t pos);

#endif
