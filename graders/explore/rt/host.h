// What the code under test and the engine know of each other.
//
// The student's kalloc.c is compiled for the host and linked with glue.c into
// a shared object. glue.c offers what the kernel offers (acquire, push_off,
// memset, ...) and what gcc's instrumentation calls (__tsan_*), and passes
// both on through the table below, which the engine fills in. The table is the
// only thing that either side knows of the other.
#ifndef LABGEN_EXPLORE_HOST_H
#define LABGEN_EXPLORE_HOST_H

#include <stdarg.h>

// Kinds of an access; bits.
enum {
  EX_READ = 0,
  EX_WRITE = 1,
  EX_SYNC = 2,    // volatile or atomic: ordered, and no data race
  EX_ATOMIC = 8,  // atomic_done() follows
  EX_CHECK = 4,   // by the kernel on the student's behalf: may it be accessed?
};

// How a hart's number was asked for.
// EX_BY_KERNEL: by the kernel, for itself.
enum { EX_BY_CPUID, EX_BY_MYCPU, EX_BY_TP, EX_BY_KERNEL };

// `pc` is always the return address in the student's code.
struct ex_host {
  // Called before every access of memory.
  void (*access)(const void *addr, unsigned long bytes, int kind, void *pc);
  // Called after an atomic operation; `changed` says whether memory differs.
  void (*atomic_done)(const void *addr, int changed);
  void (*enter)(void *caller_pc);  // a function of the student's begins
  void (*leave)(void);

  // Waits until *word is 0 and sets it; the caller has seen to interrupts.
  void (*lock)(void *lock, unsigned *word, void *pc);
  void (*unlock)(void *lock, unsigned *word, void *pc);
  void (*lock_init)(void *lock, char *name, void *pc);

  int (*hart)(int how, void *pc);  // number of the hart that runs this
  int (*interrupts)(void);         // 1 on, 0 off
  void (*set_interrupts)(int on, void *pc);

  void (*panic)(const char *why, void *pc) __attribute__((noreturn));
  void (*fill)(void *dst, int byte, unsigned long bytes, void *pc);
  void (*copy)(void *dst, const void *src, unsigned long bytes, void *pc);
  int (*text)(char *dst, unsigned long room, const char *fmt, va_list args);
  // An index that is outside its array, as gcc's bounds check saw it.
  void (*index)(const char *file, unsigned line, long index, const char *type,
                void *pc);
};

// What the shared object offers to the engine, found by name "ex_guest".
struct ex_guest {
  int ncpu;
  unsigned long page_bytes;
  unsigned long phystop;
  unsigned long lock_bytes;
  char *cpus;  // the kernel's array of per-hart data
  unsigned long cpu_bytes;
  int *(*noff)(int hart);    // depth of push_off
  int *(*intena)(int hart);  // interrupts before the first push_off
  char *(*name_of)(void *lock);
  void (*attach)(const struct ex_host *host);
  // The kernel's functions, for the programs that play its callers.
  void (*push_off)(void);
  void (*pop_off)(void);
  void (*acquire)(void *lock);
  void (*release)(void *lock);
};

// `end`, the first byte after the kernel's image, is linked to this address,
// which no host program uses; the engine moves it to where its pages are.
#define EX_END_MAGIC 0x600000000000UL

#endif
