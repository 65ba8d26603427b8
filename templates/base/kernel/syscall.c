// System calls: which function serves which number, and how these functions
// get at their arguments.

#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "riscv.h"
#include "spinlock.h"
#include "proc.h"
#include "syscall.h"
#include "defs.h"

#define DECLARE(name) uint64 sys_##name(void);
SYSCALLS(DECLARE)

#define ENTRY(name) [SYS_##name] = sys_##name,
static uint64 (*const calls[SYS_count])(void) = {SYSCALLS(ENTRY)};

// Serves the call that the current process has just made: number in a7,
// arguments from a0 on, result back in a0.
void syscall(void)
{
  struct proc *p = myproc();
  uint64 number = p->trapframe->a7;
  uint64 result = -1;

  if (number < SYS_count && calls[number] != 0)
    result = calls[number]();
  else
    printf("pid %d (%s): no system call has number %ld\n", p->pid, p->name,
           number);
  p->trapframe->a0 = result;
}

// Argument i (0 to 5) as the register has it.
static uint64 argument(int i)
{
  return (&myproc()->trapframe->a0)[i];
}

void argint(int i, int *ip)
{
  *ip = argument(i);
}

// An address is taken as it is; copyin and copyout will find out.
void argaddr(int i, uint64 *ap)
{
  *ap = argument(i);
}

// Copies the string that argument i points to, with its NUL, to buf of max
// bytes. Returns its length without the NUL, or -1: bad address, too long.
int argstr(int i, char *buf, int max)
{
  return fetchstr(argument(i), buf, max);
}

// Reads the 8 bytes at a user address. 0, or -1 when they are not all the
// process's.
int fetchaddr(uint64 addr, uint64 *ip)
{
  struct proc *p = myproc();

  if (p->sz < sizeof(*ip) || addr > p->sz - sizeof(*ip))
    return -1;
  return copyin(p->pagetable, ip, addr, sizeof(*ip));
}

// As argstr, for an address.
int fetchstr(uint64 addr, char *buf, int max)
{
  if (copyinstr(myproc()->pagetable, buf, addr, max) < 0)
    return -1;
  return strlen(buf);
}
