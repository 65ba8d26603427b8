// How far a long piece of work has got: on a terminal, lines that stay up to
// date; elsewhere, one plain line for each item that is done, or, for work that
// is only counted, one now and then.
#ifndef LABGEN_RUN_PROGRESS_H
#define LABGEN_RUN_PROGRESS_H

#include <stddef.h>
#include <stdio.h>

struct progress;

enum progress_tone { PROGRESS_PLAIN, PROGRESS_GOOD, PROGRESS_BAD };

// Begins to show `total` items on `stream`, which is borrowed. It is live when
// the stream is a terminal and TERM is not "dumb"; in colours unless NO_COLOR
// is set to something. The caller owns the result. All texts below are escaped
// for a terminal.
struct progress *progress_start(FILE *stream, size_t total);

// An item is being worked on. Returns its number for the calls below.
size_t progress_begin(struct progress *p, const char *name);

// What is being done about it; `state` is copied.
void progress_say(struct progress *p, size_t item, const char *state);

// The item is done: a line "[3/40] name: outcome" stays.
void progress_end(struct progress *p, size_t item, const char *outcome,
                  enum progress_tone tone);

// For work that is counted, not listed: `words` ("trees 3/9, kernels 1/5"), which
// are copied, stand in the first live line, and `done` of `total` tells how much
// time is left. Where nothing is live they are a plain line, at once and then at
// most every five seconds.
void progress_count(struct progress *p, const char *words, size_t done,
                    size_t total);

// Brings the live lines up to date, at most ten times a second; for a poll
// loop to call.
void progress_tick(struct progress *p);

// Takes the live lines away, so that something else can be written where the
// stream's terminal is; they come again with the next call.
void progress_hide(struct progress *p);

// Takes the live lines away and frees `p`. NULL is allowed.
void progress_finish(struct progress *p);

#endif
