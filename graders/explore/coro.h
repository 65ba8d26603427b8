// Coroutines: stacks that take turns on one thread of the host.
#ifndef LABGEN_EXPLORE_CORO_H
#define LABGEN_EXPLORE_CORO_H

#include <stddef.h>

enum { CORO_STACK_BYTES = 64 * 1024, CORO_GUARD_BYTES = 4096 };

// Where a coroutine goes on. Zeroed: nowhere yet.
struct coro {
  void *sp;
};

// A stack of CORO_STACK_BYTES with CORO_GUARD_BYTES below it that may not be touched, so
// that endless recursion is a fault. Returns the lowest usable byte; the
// caller gives it back with coro_stack_free(). Aborts when there is no memory.
char *coro_stack_new(void);
void coro_stack_free(char *stack);

// Prepares *ret to run entry() on the stack when it is first switched to.
// entry() never returns. What was on the stack before is forgotten, so a
// coroutine can be dropped in the middle and started anew.
void coro_start(struct coro *ret, char *stack, void (*entry)(void));

// Saves where the caller is in *from and goes on in *to. Returns when
// somebody switches to *from.
void coro_switch(struct coro *from, const struct coro *to);

#endif
