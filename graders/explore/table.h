// A finding's events as a table that a person reads: time goes down, each hart
// has a column, and a cell says in plain words what the hart did before another
// one went on.
#ifndef LABGEN_EXPLORE_TABLE_H
#define LABGEN_EXPLORE_TABLE_H

#include <stddef.h>

#include "graders/explore/story.h"
#include "labgen/base/buf.h"

struct table_row {
  int column;                 // of the hart that acts
  struct buf cell[EX_HARTS];  // by column: phrases, separated by "; "
  // for the picture
  char *waits_for;  // owned; a lock, or NULL
  int holder;       // column of the hart that has it, -1: unknown
  bool breaks;      // the finding happens here
};

struct table {
  int hart[EX_HARTS];  // number of each column's hart
  int columns;
  struct table_row *row;  // owned
  size_t rows;
};

// What the lab calls its functions, for the words; borrowed.
struct table_words {
  const char *alloc, *free;
};

// Makes the table. Texts of the student's are in it as they are: whoever
// prints it escapes them.
void table_make(const struct story *s, const struct table_words *words,
                struct table *ret);
void table_release(struct table *t);

#endif
