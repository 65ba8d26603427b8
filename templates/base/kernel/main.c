// The order in which the kernel comes to life.

#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "riscv.h"
#include "spinlock.h"
#include "defs.h"

// Set by hart 0 when all that the harts share is ready.
static volatile int started;

// What is done once, by hart 0 alone. Paging is still off.
static void (*const once[])(void) = {
    consoleinit, printfinit, kinit,    kvminit, procinit,
    trapinit,    plicinit,   fileinit, fsinit,  userinit,
};

// What each hart does for itself.
static void (*const each[])(void) = {
    kvminithart,
    trapinithart,
    plicinithart,
};

// Every hart arrives here from start(), in supervisor mode, with interrupts
// off and its number in tp.
void main(void)
{
  int id = cpuid();

  if (id == 0) {
    for (uint i = 0; i < NELEM(once); i++)
      once[i]();
    printf("\nkernel: %ld KiB of memory, at most %d harts\n", PHYSMEM / 1024,
           NCPU);
    __sync_synchronize();
    started = 1;
  } else {
    while (!started)
      ;
    __sync_synchronize();
  }

  for (uint i = 0; i < NELEM(each); i++)
    each[i]();
  scheduler();
}
