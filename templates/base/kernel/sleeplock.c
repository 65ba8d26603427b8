// Locks for work that takes long: who must wait gives up the hart and sleeps,
// interrupts stay on, and the holder may itself sleep. So only a process can
// wait for one, and never while it holds a spinlock. At boot, when there is no
// process and no rival, they may be taken all the same.

#include "types.h"
#include "param.h"
#include "riscv.h"
#include "spinlock.h"
#include "sleeplock.h"
#include "proc.h"
#include "defs.h"

// The pid to write into a lock; 0 while the kernel boots.
static int mypid(void)
{
  struct proc *p = myproc();
  return p ? p->pid : 0;
}

void initsleeplock(struct sleeplock *lk, char *name)
{
  *lk = (struct sleeplock){.name = name};
  initlock(&lk->lk, "sleep lock");
}

void acquiresleep(struct sleeplock *lk)
{
  struct spinlock *guard = &lk->lk;
  int pid = mypid();

  // A wakeup is a hint: another process may have been quicker.
  for (acquire(guard); lk->locked; sleep(lk, guard))
    ;
  lk->pid = pid;
  lk->locked = 1;
  release(guard);
}

void releasesleep(struct sleeplock *lk)
{
  int pid = mypid();

  acquire(&lk->lk);
  if (!lk->locked || lk->pid != pid)
    panic("releasesleep: not the holder");
  lk->pid = lk->locked = 0;
  release(&lk->lk);
  // Who waits has either seen locked 0, or sleeps by now.
  wakeup(lk);
}
