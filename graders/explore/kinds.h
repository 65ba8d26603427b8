// What the explorer can say about an allocator. One table gives the number,
// the name, whether it is a finding or a note, and the words.
#ifndef LABGEN_EXPLORE_KINDS_H
#define LABGEN_EXPLORE_KINDS_H

#include <stdbool.h>

// A finding is shown by a trace that repeats; it can cost marks. A note is a
// thing for a reader to look at; alone it never does.
//
//   number, name, finding, words
#define EX_KINDS(X)                                                            \
  X(DEADLOCK, "deadlock", 1, "harts wait for each other for ever")             \
  X(DOUBLE, "page-handed-out-twice", 1, "a page that is in use is handed out") \
  X(LOST, "page-lost", 1, "a free page can never be handed out again")         \
  X(FALSE_EMPTY, "returned-0-with-a-page-free", 1,                             \
    "allocation fails while a page stays free and untouched")                  \
  X(WILD, "wild-access", 1, "memory that is not there is accessed")            \
  X(INDEX, "index-past-array", 1, "an index is outside its array")             \
  X(INTERRUPTS, "interrupts-changed", 1,                                       \
    "a call leaves interrupts or their nesting changed")                       \
  X(PANIC, "panic", 1, "the kernel stops")                                     \
  X(ENDLESS, "endless-loop", 1, "a call never ends")                           \
  X(CRASH, "crash", 1, "the code cannot be executed further")                  \
  X(OVERWRITTEN, "page-overwritten", 1, "a page in use changes its contents")  \
  X(NOT_A_PAGE, "not-a-page", 1, "what is handed out is no page")              \
  X(BAD_FREE, "bad-free-accepted", 1, "an address that is no page is freed")   \
  X(DRIFT, "count-drift", 1, "a count no longer is the length of its list")    \
  X(WAITS, "waits-while-apart", 1,                                             \
    "a hart waits for another although each has pages of its own")             \
  X(LOCK_ORDER, "lock-order-cycle", 0,                                         \
    "locks are taken in orders that could form a circle")                      \
  X(RACE, "data-race", 0, "memory is accessed by two harts without order")     \
  X(LOOK, "unlocked-look", 0, "memory is read while another hart changes it")  \
  X(STALE, "stale-cpu-number", 0,                                              \
    "the hart's number is read or used while the thread can move")             \
  X(UNINIT, "lock-not-initialised", 0, "a lock is taken without initlock")     \
  X(NAME, "lock-badly-named", 0, "a list's lock has another name")             \
  X(JUNK, "junk-fill-missing", 0, "pages are not filled with junk")            \
  X(REMOTE, "remote-allocations", 0,                                           \
    "most allocations need another hart's list")

enum ex_kind {
#define EX_NUMBER(number, name, finding, words) EX_##number,
  EX_KINDS(EX_NUMBER)
#undef EX_NUMBER
      EX_KIND_COUNT
};

// Both borrowed, valid for ever.
const char *ex_kind_name(enum ex_kind kind);
const char *ex_kind_words(enum ex_kind kind);
bool ex_kind_is_finding(enum ex_kind kind);
// The kind of that name, or -1.
int ex_kind_find(const char *name);

#endif
