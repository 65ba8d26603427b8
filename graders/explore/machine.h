// Three virtual harts in one process, and the code under test on them.
//
// Each thread of a program is a coroutine. It runs until it comes to a point
// where something else could happen (machine_point), waits, or ends; what
// happens then is the chooser's. A schedule starts from the saved state of the
// image, so that a million of them take seconds.
#ifndef LABGEN_EXPLORE_MACHINE_H
#define LABGEN_EXPLORE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "graders/explore/choose.h"
#include "graders/explore/coro.h"
#include "graders/explore/hb.h"
#include "graders/explore/image.h"
#include "graders/explore/lab.h"
#include "graders/explore/lists.h"
#include "graders/explore/locks.h"
#include "graders/explore/pages.h"
#include "graders/explore/trace.h"

enum {
  MACHINE_PAGES = 24,       // while the allocator is watched alone
  MACHINE_FRAMES = 32,      // of the call stack that are kept
  MACHINE_REPORTS = 16,     // in one schedule
  MACHINE_NOTES = 128,      // in one program
  MACHINE_SEEN = 4,         // looks that a spinning thread is known by
  MACHINE_BURST = 1000,     // accesses before a thread makes way for others
  MACHINE_ENDLESS = 20000,  // accesses of one call that never ends ...
  MACHINE_ENDLESS_AGAIN = 2000,  // ... once such a call was seen
  MACHINE_HOPELESS = 3           // loops without any access: enough is known
};

enum thread_state {
  THREAD_READY,
  THREAD_LOCK,  // waits for `word` to be 0
  THREAD_SPIN,  // has seen the same twice: waits for any change
  THREAD_TAKE,  // waits to be given a page
  THREAD_ENDED,
};

// A look at memory: the same one again, with nothing done in between, means
// that the thread waits for somebody.
struct look {
  const void *pc, *addr;
  uint64_t value;
};

struct thread {
  struct coro coro;
  char *stack;  // owned
  int slot;     // the hart that it is on: index into machine.hart
  enum thread_state state;
  unsigned *word;  // THREAD_LOCK
  void *lock;
  uint32_t seen_change;  // THREAD_SPIN

  int held[IMAGE_PAGES];  // pages, oldest first
  int held_count;
  bool nonstop;  // it gives way only when it cannot go on

  const void *at;  // where it accessed memory, or asked for a lock, last
  bool in_code;    // it is in the code under test, or in a hook of it

  // the call that is under way
  bool in_call, allocating;
  uint32_t call_step;
  const void *numbered;  // where it read a hart's number; NULL: it did not
  int number;            // the number
  bool stale;            // it has moved since
  bool remote;           // it took a lock that is not its hart's
  uint32_t accesses, burst;
  bool spins;
  struct look seen[MACHINE_SEEN];
  int seen_next;

  const void *frame[MACHINE_FRAMES];  // where each function was called from
  int depth;
  struct locks_held locks;
};

struct hart {
  int number;
  bool interrupts;
  int thread;             // that is on it
  struct hb_clock clock;  // what threads left here
};

// How calls of one kind use locks. A lock that is not in the own hart's element
// of a per-hart array is remote.
struct machine_use {
  uint64_t calls, acquisitions;
  uint64_t remote, remote_calls;  // remote acquisitions, calls with any
};

// What an oracle has to say about a schedule.
struct report {
  enum ex_kind kind;
  uint64_t key;       // equal keys of one kind are one finding
  uint64_t pc, addr;  // relative to the object; 0: none
  int64_t value;
  char text[160];
};

// A function of the allocator's, whatever it takes and returns.
typedef void *ex_call(long, long, long, long);

struct machine {
  struct image *im;  // borrowed
  const struct ex_lab *lab;
  ex_call *init, *alloc, *free;
  const struct ex_program *program;
  struct lists lists;
  struct chooser *chooser;  // borrowed
  struct hb_state hb;
  struct trace trace;
  struct pages pages;
  struct locks locks;

  struct thread thread[EX_HARTS];
  struct hart hart[EX_HARTS];
  struct coro main;
  int current;  // thread that runs, -1: none
  bool alone;   // one thread runs from start to end, without points
  void (*body)(struct thread *t);   // what threads do
  uint32_t changes;                 // of memory, by anybody
  int gift[EX_HARTS][IMAGE_PAGES];  // pages that wait for a thread; -1: none
  int gifts[EX_HARTS], gifts_taken[EX_HARTS];
  unsigned long caller_lock[EX_HARTS][32];  // the callers' own locks
  struct hb_cell caller_cell[EX_HARTS];
  struct hb_clock gift_clock[EX_HARTS];
  bool expects_panic;

  struct report report[MACHINE_REPORTS];  // of the schedule
  int reports;
  struct report note[MACHINE_NOTES];  // since machine_boot()
  int notes;

  uint8_t *point;   // for each byte of code: a plain access there is a point
  bool new_points;  // since machine_boot()

  struct machine_use allocs, frees;  // of a program that measures

  uint32_t endless;  // MACHINE_ENDLESS or MACHINE_ENDLESS_AGAIN
  int dead_loops;    // loops without any access that were seen

  // page that a call of alloc could have had, if none of the threads in the
  // mask is about to return it; -1: none
  int doubtful_page;
  unsigned doubtful_threads;

  struct thread thread_saved[EX_HARTS];
  struct hart hart_saved[EX_HARTS];
  struct pages pages_saved;
};

// The machine that runs: the hooks get no argument that says which.
extern struct machine *the_machine;

// Starts the machine for an image (with room for MACHINE_PAGES pages at
// least) and a lab, both borrowed, and watches the
// allocator alone for a moment to learn about its lists. Reports are in
// m->report: when there are any, nothing else will work. LG_EBUILD when the
// object lacks one of the lab's functions.
int machine_open(struct machine *m, struct image *im, const struct ex_lab *lab,
                 struct error *err);
void machine_close(struct machine *m);

// Initialises the allocator, runs the program's `before` part on these harts,
// and saves the state. Forgets notes and points. What went wrong is in
// m->report; returns false when nothing can be run after that.
bool machine_boot(struct machine *m, const struct ex_program *program,
                  const int *harts);

// Runs one schedule from the saved state; its choices are the chooser's.
void machine_run(struct machine *m, struct chooser *c);

// ---- for the parts of the machine -------------------------------------------

static inline struct thread *machine_thread(struct machine *m)
{
  return &m->thread[m->current];
}

static inline int machine_id(const struct machine *m, const struct thread *t)
{
  return (int)(t - m->thread);
}

// An address in the object as the trace has it.
static inline uint64_t machine_relative(const struct machine *m,
                                        const void *addr)
{
  uintptr_t a = (uintptr_t)addr;
  return a >= m->im->low && a < m->im->high ? a - m->im->base : 0;
}

// Adds an event of the running thread.
void machine_event(struct machine *m, enum ex_event_kind kind, const void *pc,
                   const void *addr, int64_t value);

// Reports something. A finding that is fatal ends the schedule: then this does
// not return.
void machine_report(struct machine *m, enum ex_kind kind, uint64_t key,
                    const void *pc, const void *addr, bool fatal,
                    const char *fmt, ...) __attribute__((format(printf, 7, 8)));

// Ends the schedule here and now; called by a thread.
void machine_stop(struct machine *m) __attribute__((noreturn));

// A place where something else may happen before the thread goes on.
void machine_point(struct machine *m, struct thread *t);
// A place where the thread may move to another hart, if interrupts are on.
void machine_move_point(struct machine *m, struct thread *t);
// The thread cannot go on, for the reason in its state; returns when it can.
void machine_wait(struct machine *m, struct thread *t);
// The thread makes way for others, if any can run.
void machine_yield(struct machine *m, struct thread *t);
// Runs `body` on thread `id` alone, until it ends or a report is fatal.
void machine_alone(struct machine *m, int id, void (*body)(struct thread *t));

// The functions that the object calls (hooks.c).
extern const struct ex_host machine_hooks;

// An access by the callers, not by the allocator.
void machine_caller_writes(struct machine *m, int page);

// What threads do (caller.c), and what is checked after a schedule
// (oracle.c).
void caller_boot(struct thread *t);
void caller_before(struct thread *t);
void caller_run(struct thread *t);
void caller_learn(struct thread *t);
void caller_drain(struct thread *t);
void oracle_after_boot(struct machine *m);
void oracle_after_call(struct machine *m, struct thread *t, bool had_interrupts,
                       int had_noff, const void *pc);
void oracle_none_left(struct machine *m, struct thread *t);
void oracle_returned(struct machine *m, struct thread *t, int page);
void oracle_at_end(struct machine *m);

// A signal came while the code under test ran.
void machine_signal(struct machine *m, int signo, const void *addr);

#endif
