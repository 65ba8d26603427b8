// Work shared among processes: each item is done by a process of its own, forked
// from this one, so that what kills it kills nothing else.
#ifndef LABGEN_RUN_WORKERS_H
#define LABGEN_RUN_WORKERS_H

#include <stddef.h>
#include <stdint.h>

#include "labgen/base/error.h"

// For the process that does an item: tells the others what it is doing. One
// line of at most 200 bytes; line breaks become blanks.
struct worker;
void worker_say(struct worker *w, const char *words);

// How an item's process ended.
struct worker_end {
  int status;        // what work() returned, from 0 to 255; -1: it was killed
  int signal;        // by this; 0 unless it was killed
  const char *said;  // its last words, "" for none; borrowed
};

struct workers_spec {
  size_t count;  // items
  int jobs;      // processes at once, at least 1
  // Done in the item's process; what it returns is the process's status.
  int (*work)(void *arg, size_t item, struct worker *w);
  // Called in this process; each may be NULL.
  void (*on_begin)(void *arg, size_t item);
  void (*on_say)(void *arg, size_t item, const char *words);
  void (*on_tick)(void *arg);  // at least 10 times a second
  // The item's process has ended. A negative result ends everything.
  int (*on_end)(void *arg, size_t item, const struct worker_end *end,
                struct error *err);
  void *arg;
};

// Does all items. A process is killed when this one dies. On SIGINT, SIGTERM or
// SIGHUP all processes are ended, and so when on_end() fails. LG_EHARNESS, or
// what on_end() returned.
int workers_run(const struct workers_spec *spec, struct error *err);

// Raises the signal that ended workers_run(), if one did.
void workers_raise_signal(void);

#endif
