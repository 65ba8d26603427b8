// What the watchers in the guest leave in memory, for a reader outside it.
//
// Shared by the kernel side (watch.c, probe.c) and the host side (evidence.c);
// both are little-endian with 64-bit addresses. The reader copies the bytes of
// the symbol `watch_report` out of guest memory, running or hung.
#ifndef GRADERS_WATCH_REPORT_H
#define GRADERS_WATCH_REPORT_H

#define WATCH_MAGIC 0x31686374617762ULL  // "bwatch1"
#define WATCH_CPUS 8                     // as NCPU of the kernel
#define WATCH_FINDINGS 48
#define WATCH_LOCKS 32
#define WATCH_NAME 24

// Whether a finding breaks a promise or is for a reader to judge.
enum watch_weight { WATCH_VIOLATION, WATCH_NOTE };

// What can be found: code, name, weight, and what a, b and c are. In the text,
// %C is a as a CPU number, %L is b as a lock, %N is c as a number, %X is a as
// an address.
// clang-format off
#define WATCH_KINDS(X)                                                         \
  X(STALE_CPU, "stale-cpu", WATCH_VIOLATION,                                   \
    "the CPU number %C was obtained, or still in use, with interrupts on when "\
    "it selected lock %L")                                                     \
  X(LOCK_NOT_INITIALISED, "lock-not-initialised", WATCH_VIOLATION,             \
    "lock %L was acquired without initlock()")                                 \
  X(LOCK_WITHOUT_NAME, "lock-without-name", WATCH_VIOLATION,                   \
    "lock %L has no name")                                                     \
  X(LOCK_NAME_SHARED, "lock-name-shared", WATCH_VIOLATION,                     \
    "lock %L has the name of another lock, at %X")                             \
  X(LOCK_NOT_STATIC, "lock-not-static", WATCH_VIOLATION,                       \
    "lock %L does not lie in static data")                                     \
  X(LOCK_NAME_NOT_STATIC, "lock-name-not-static", WATCH_VIOLATION,             \
    "the name of lock %L, at %X, does not lie in static data")                 \
  X(NOFF_NOT_RESTORED, "noff-not-restored", WATCH_VIOLATION,                   \
    "on CPU %C noff was %N levels deeper after the call than before")          \
  X(INTERRUPTS_NOT_RESTORED, "interrupts-not-restored", WATCH_VIOLATION,       \
    "on CPU %C interrupts were changed by the call (now %N; 1 is on)")         \
  X(INTERRUPTS_ON_INSIDE, "interrupts-on-inside", WATCH_VIOLATION,             \
    "on CPU %C interrupts were turned on while noff was %N")                   \
  X(LOCK_KEPT, "lock-kept", WATCH_VIOLATION,                                   \
    "the call returned on CPU %C with lock %L still held")                     \
  X(PAGE_TWICE, "page-handed-out-twice", WATCH_VIOLATION,                      \
    "kalloc() returned page %X, which somebody has already")                   \
  X(FREE_TWICE, "page-freed-twice", WATCH_VIOLATION,                           \
    "page %X was freed while it was free")                                     \
  X(PAGE_OUTSIDE, "page-outside", WATCH_VIOLATION,                             \
    "kalloc() returned %X, which is no page of the allocator's memory")        \
  X(NO_JUNK_NEW, "no-junk-on-kalloc", WATCH_VIOLATION,                         \
    "page %X came from kalloc() without the fill of byte 5")                   \
  X(NO_JUNK_FREE, "no-junk-on-kfree", WATCH_VIOLATION,                         \
    "page %X was not filled with byte 1 by kfree()")                           \
  X(PAGE_CHANGED, "page-changed-while-free", WATCH_VIOLATION,                  \
    "page %X changed between kfree() and kalloc()")                            \
  X(ZERO_WHILE_FREE, "zero-while-pages-are-free", WATCH_VIOLATION,             \
    "on a quiet machine kalloc() on CPU %C returned 0 while %N pages were "    \
    "free")                                                                    \
  X(LIST_NOT_TRIED, "list-not-tried", WATCH_VIOLATION,                         \
    "kalloc() on CPU %C returned 0 while %N pages were free, in a case that "  \
    "needs a CPU which this machine lacks and another has")                    \
  X(PAGES_LOST, "pages-lost", WATCH_VIOLATION,                                 \
    "%N pages that were given back cannot be had on any CPU")                  \
  X(PAGE_SCRIBBLED, "page-shared-in-use", WATCH_VIOLATION,                     \
    "page %X was written by somebody else while CPU %N had it")                \
  X(FOREIGN_LOCK, "foreign-lock", WATCH_VIOLATION,                             \
    "kalloc() or kfree() on CPU %C took lock %L, which is not the "            \
    "allocator's (does it print, or sleep?)")                                  \
  X(CIRCULAR_WAIT, "circular-wait", WATCH_VIOLATION,                           \
    "a circular wait was seen: CPU %C waits for ever for lock %L, held by "    \
    "CPU %N")                                                                  \
  X(LOCK_CYCLE, "lock-cycle", WATCH_NOTE,                                      \
    "lock %L is taken while others are held, and they while it is held, by "   \
    "no order and under no common lock")                                       \
  X(PANIC, "panic", WATCH_VIOLATION,                                           \
    "CPU %C called panic() from the allocator")
// clang-format on

enum watch_kind {
#define WATCH_ENUM(code, name, weight, text) WATCH_##code,
  WATCH_KINDS(WATCH_ENUM)
#undef WATCH_ENUM
      WATCH_KIND_COUNT
};

// One kind of finding at one lock or CPU; `count` says how often it came.
struct watch_finding {
  unsigned kind, count;
  unsigned phase;  // enum watch_phase when it first came
  unsigned hart;
  unsigned long long pc;  // of the call from the student's object, 0: none
  unsigned long long a, b, c;
};

// How far the kernel came; the reader tells a hang in the probe by it.
enum watch_phase {
  WATCH_BOOTING,    // kinit and all that allocates before the scheduler
  WATCH_DRAIN,      // probe: take every page
  WATCH_PAIRS,      // probe: pages freed on one CPU, taken on another
  WATCH_TRAFFIC,    // probe: what a steal costs
  WATCH_CALLERS,    // probe: calls with interrupts on, off, and a lock held
  WATCH_STORM,      // probe: all harts at once, hardly any pages
  WATCH_GIVE_BACK,  // probe: everything free again
  WATCH_RUNNING,    // scheduler, programs
  WATCH_ABANDONED,  // as RUNNING; the probe stopped at a fault
};

struct watch_lock {
  unsigned long long at, name_at;
  char name[WATCH_NAME];  // first bytes, NUL-terminated
  unsigned initialised;   // calls of initlock()
  unsigned home;          // bit k: taken first by a call on CPU k
  unsigned acquired[WATCH_CPUS];
};

// Costs of one step of the probe, all on one hart, nobody else running. Whose
// list a lock guards is told by the digits that end its name.
struct watch_traffic {
  unsigned calls;     // of kalloc and kfree
  unsigned away;      // calls that took another CPU's lock
  unsigned acquired;  // locks of the student's
  unsigned remote;    // those of another CPU
  unsigned shared;    // those that are no CPU's: the name has no digits
  unsigned unknown;   // those whose names tell nothing
};

struct watch_report {
  unsigned long long magic;
  unsigned size_bytes;
  unsigned phase;
  unsigned long long memory_pages;  // of the allocator
  long long free_pages;  // given by kinit and kfree, less those taken
  unsigned long long kalloc_calls, kalloc_zeros, kfree_calls;
  unsigned long long storm_rounds;
  // Taken from the allocator at the last Ctrl-P, and given back: what there
  // really was. -1: nothing was counted, since something else ran.
  long long obtainable_pages;
  long long free_pages_then;  // free_pages when those were counted
  struct watch_traffic own;     // each CPU frees 32 pages and takes them again
  struct watch_traffic steal;   // 256 pages freed on CPU 1, taken on CPU 0
  struct watch_traffic robbed;  // CPU 1 takes one after CPU 0 stole one
  unsigned finding_count, lock_count;
  struct watch_finding findings[WATCH_FINDINGS];
  struct watch_lock locks[WATCH_LOCKS];
  // order[i] bit j: lock j was acquired while i was held; order_gates[i][j]:
  // locks held each time besides, so that a gate lock shows.
  unsigned order[WATCH_LOCKS];
  unsigned order_gates[WATCH_LOCKS][WATCH_LOCKS];
};

// What a kernel that counts (count.c) leaves in memory, the symbol
// `count_report`. A row is one lock as one hart used it in one interval; an
// interval ends at each Ctrl-P.
#define COUNT_ROWS 2048  // a power of two

struct count_row {
  unsigned long long lock;  // 0: not in use
  unsigned interval;        // from 0
  unsigned reserved;
  unsigned long long acquired, contended, spins, longest;
};

struct count_hart {
  unsigned long long spins;  // of the acquisition that goes on
  unsigned long long lost;   // acquisitions that found the table full
  struct count_row rows[COUNT_ROWS];
};

struct count_report {
  unsigned interval;  // that goes on
  unsigned reserved;
  struct count_hart harts[WATCH_CPUS];
};

#endif
