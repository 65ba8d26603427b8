// Coroutines for x86-64 hosts. swapcontext() would do, but for two system
// calls per switch, and a search makes millions of switches a second.
//
// Deliberately without floating-point state: nothing that runs here uses any
// across a switch.
#include "graders/explore/coro.h"

#include <stdint.h>
#include <sys/mman.h>

#include "labgen/base/alloc.h"

#ifndef __x86_64__
#error "the explorer runs on x86-64 hosts; coro.c has the switch to port"
#endif

char *coro_stack_new(void)
{
  char *low = mmap(NULL, CORO_GUARD_BYTES + CORO_STACK_BYTES,
                   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (low == MAP_FAILED || mprotect(low, CORO_GUARD_BYTES, PROT_NONE) != 0)
    __builtin_trap();
  return low + CORO_GUARD_BYTES;
}

void coro_stack_free(char *stack)
{
  if (!stack)
    return;
  munmap(stack - CORO_GUARD_BYTES, CORO_GUARD_BYTES + CORO_STACK_BYTES);
}

// The registers that a function must preserve go onto the old stack, and come
// from the new one.
asm(".text\n.globl coro_switch\n.type coro_switch, @function\n"
    "coro_switch:\n"
    "  push %rbx\n  push %rbp\n  push %r12\n  push %r13\n  push %r14\n"
    "  push %r15\n"
    "  mov %rsp, (%rdi)\n"
    "  mov (%rsi), %rsp\n"
    "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbp\n  pop %rbx\n"
    "  ret\n"
    ".size coro_switch, .-coro_switch\n");

void coro_start(struct coro *ret, char *stack, void (*entry)(void))
{
  // As if coro_switch() had been called by a function whose next instruction
  // is the first one of entry(): six registers, then where to go on, then
  // entry()'s own return address, which nobody uses. It must lie 8 below a
  // multiple of 16, as after any call.
  uintptr_t *sp = (uintptr_t *)(stack + CORO_STACK_BYTES) - 8;
  for (int i = 0; i < 8; i++)
    sp[i] = 0;
  sp[6] = (uintptr_t)entry;
  ret->sp = sp;
}
