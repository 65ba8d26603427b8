// What happened in a schedule, step by step, and a number that stands for it.
#ifndef LABGEN_EXPLORE_TRACE_H
#define LABGEN_EXPLORE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graders/explore/kinds.h"

// What an event is; the words for a reader are in words.c.
//
//   number, name, what `value` and `addr` are
#define EX_EVENTS(X)                                                     \
  X(CALL_ALLOC, "call-alloc")                                            \
  X(CALL_FREE, "call-free")   /* value: the page */                      \
  X(GOT, "got")               /* value: the page, -1: none */            \
  X(DONE, "done")             /* a free returns */                       \
  X(TAKES, "takes")           /* addr: lock; value: its list's length */ \
  X(WAITS, "waits")           /* addr: lock; value: hart that has it */  \
  X(GIVES_BACK, "gives-back") /* addr: lock; value: its list's length */ \
  X(READS_HART, "reads-hart") /* value: the number; interrupts are on */ \
  X(MOVES, "moves")           /* value: from hart; now on event.hart */  \
  X(READS, "reads")           /* addr; racing or ordered memory */       \
  X(WRITES, "writes")                                                    \
  X(UPDATES, "updates") /* an atomic operation */                        \
  X(INTERRUPTS_ON, "interrupts-on")                                      \
  X(INTERRUPTS_OFF, "interrupts-off")                                    \
  X(HANDS_OVER, "hands-over") /* value: the page; to thread addr */      \
  X(IS_GIVEN, "is-given")     /* value: the page */                      \
  X(SPINS, "spins")           /* sees the same again: addr */            \
  X(DRAINS, "drains")         /* all have ended; every page is taken */  \
  X(ENDS, "ends")             /* the hart has done its part */           \
  X(BREAKS, "breaks")         /* value: enum ex_kind of the finding */

enum ex_event_kind {
#define EX_EVENT_NUMBER(number, name) EV_##number,
  EX_EVENTS(EX_EVENT_NUMBER)
#undef EX_EVENT_NUMBER
      EV_COUNT
};

// What callers write into pages that they have, plus the thread's number.
#define EX_CALLER_MARK UINT64_C(0xa110ca7ed0000000)

// A value that is the address of a page is kept as this plus its number.
#define EX_PAGE_VALUE (INT64_C(1) << 62)

struct ex_event {
  uint8_t kind, thread;
  uint8_t hart;
  // Places in the student's code and variables, relative to where the object
  // was loaded (pc, caller, addr); 0: none.
  uint64_t pc, caller, addr;
  int64_t value;
};

struct trace {
  bool recording;          // off: events are only counted
  struct ex_event *event;  // owned
  size_t events, room;
  size_t steps;   // events so far, recorded or not
  uint64_t hash;  // of all recorded events (FNV-1a, 64 bits)
};

// Empties the trace; what is recorded is as before.
void trace_begin(struct trace *t);
void trace_add(struct trace *t, const struct ex_event *e);
void trace_release(struct trace *t);

// The name of an event, and the event of a name (-1: none).
const char *trace_event_name(enum ex_event_kind kind);
int trace_event_find(const char *name);

#endif
