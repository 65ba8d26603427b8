// System calls about processes, memory and time.

#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "riscv.h"
#include "spinlock.h"
#include "proc.h"
#include "syscall.h"
#include "defs.h"

static int intarg(int i)
{
  int value;
  argint(i, &value);
  return value;
}

uint64 sys_getpid(void)
{
  return myproc()->pid;
}

uint64 sys_fork(void)
{
  return kfork();
}

uint64 sys_exit(void)
{
  kexit(intarg(0));
}

uint64 sys_wait(void)
{
  uint64 status;
  argaddr(0, &status);
  return kwait(status);
}

uint64 sys_kill(void)
{
  return kkill(intarg(0));
}

// sbrk(n, mode): moves the end of the process's memory by n bytes and returns
// where it was, or -1. In SBRK_LAZY mode growing takes no page; vmfault does
// when one is touched.
uint64 sys_sbrk(void)
{
  struct proc *p = myproc();
  uint64 before = p->sz;
  int n = intarg(0);

  switch (intarg(1)) {
  case SBRK_LAZY:
    if (n >= 0) {
      if (n > (long)(TRAPFRAME - before))
        return -1;
      p->sz += n;
      return before;
    }
    // shrinking is the same in both modes
    // fall through
  case SBRK_EAGER:
    return growproc(n) < 0 ? (uint64)-1 : before;
  default:
    return -1;
  }
}

// pause(n): sleeps for n clock ticks, 0 for none. -1 if killed meanwhile.
uint64 sys_pause(void)
{
  int n = intarg(0), gone = 0;

  acquire(&tickslock);
  for (uint from = ticks; n > gone && !killed(myproc()); gone = ticks - from)
    sleep(&ticks, &tickslock);
  release(&tickslock);
  return n > gone ? -1 : 0;
}

// uptime(): clock ticks since the machine started.
uint64 sys_uptime(void)
{
  return __atomic_load_n(&ticks, __ATOMIC_RELAXED);
}
