// What a lab tells the explorer: the allocator's functions, the small programs
// that call them, and what must hold. Read from a YAML file; see
// graders/percpu-kalloc-explore.yaml for one with every key.
#ifndef LABGEN_EXPLORE_LAB_H
#define LABGEN_EXPLORE_LAB_H

#include <stdbool.h>
#include <stddef.h>

#include "graders/explore/kinds.h"
#include "labgen/base/error.h"

enum { EX_HARTS = 3, EX_OPS = 24, EX_HART_SETS = 4, EX_ARGS = 3 };

// What a program can do; word in the file, whether a number follows.
//
//   number, word, argument
#define EX_OPERATIONS(X)                                                       \
  X(ALLOC, "alloc", 1)         /* allocates that many pages, or until none */  \
  X(ALLOC_ALL, "alloc-all", 0) /* until there is none */                       \
  X(FREE, "free", 1) /* frees that many of its pages, oldest first */          \
  X(FREE_LAST, "free-last", 0) /* frees the page it got last */                \
  X(FREE_ALL, "free-all", 0)                                                   \
  X(GIVE, "give", 1)          /* hands its oldest page to that thread */       \
  X(TAKE, "take", 0)          /* waits for a page that is handed over */       \
  X(NONSTOP, "nonstop", 0)    /* from here on, no preemption of it is tried */ \
  X(OFF, "interrupts-off", 0) /* push_off, as a caller does */                 \
  X(ON, "interrupts-on", 0)   /* pop_off */                                    \
  X(LOCK, "lock", 1)          /* takes the caller's lock of that number */     \
  X(UNLOCK, "unlock", 1)                                                       \
  X(FREE_BAD, "free-bad", 1) /* 0 unaligned, 1 below the pages, 2 above */

enum ex_op_kind {
#define EX_OP_NUMBER(number, word, argument) OP_##number,
  EX_OPERATIONS(EX_OP_NUMBER)
#undef EX_OP_NUMBER
      OP_COUNT
};

struct ex_op {
  enum ex_op_kind kind;
  int number;
};

struct ex_ops {
  struct ex_op op[EX_OPS];
  int count;
};

struct ex_program {
  char *name;    // owned
  char *about;   // owned; a sentence for people
  int pages;     // in the pool
  bool measure;  // count acquisitions per allocation
  bool apart;    // harts use pages of their own: none has to wait for another
  int bound;     // most preemptions that are tried; from the file or 255
  struct ex_ops before[EX_HARTS];  // one hart after the other, in order
  struct ex_ops thread[EX_HARTS];  // at the same time
};

// A function of the allocator's, called with the page (for `free`) and then
// the numbers.
struct ex_function {
  char *name;  // owned
  long arg[EX_ARGS];
  int args;
};

struct ex_lab {
  char *file;  // owned; in the tree, such as kernel/kalloc.c
  struct ex_function init, alloc, free;
  int junk_alloc, junk_free;  // bytes that pages are filled with; -1: no rule
  char *lock_name;            // owned; of a hart's lock, with %d; or NULL
  int remote_percent;  // more allocations than that at another hart: a note
  // Findings that count; any other is shown as a note. A lab that names none
  // judges all.
  bool judged[EX_KIND_COUNT];
  int hart_set[EX_HART_SETS][EX_HARTS];
  int hart_sets;
  struct ex_program *program;  // owned
  size_t programs;
  int max_pages;  // of any program
};

// Reads a file. The caller owns *ret and ends it with ex_lab_release().
// LG_EINPUT with file, line and column; LG_ENOTFOUND, LG_EIO.
int ex_lab_read(const char *path, struct ex_lab *ret, struct error *err);
void ex_lab_release(struct ex_lab *lab);

// Reads operations such as "alloc 2"; LG_EINPUT names what is wrong.
int ex_ops_parse(const char *text, struct ex_op *ret, struct error *err);
// The word of an operation, borrowed, and whether a number follows it.
const char *ex_op_word(enum ex_op_kind kind);
bool ex_op_has_number(enum ex_op_kind kind);

#endif
