#ifndef PROC_H
#define PROC_H

#include "param.h"
#include "riscv.h"
#include "spinlock.h"

// What swtch saves and restores: the registers that a C function must find
// unchanged after a call. tp is not among them, since it belongs to the hart
// and not to the thread.
struct context {
  uint64 ra;
  uint64 sp;
  uint64 s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11;
};

// A hart's own data. Only the hart itself touches its entry, with interrupts
// off, so there is no lock.
struct cpu {
  struct proc *proc;       // the process that runs here, or 0
  struct context context;  // where the hart's scheduler goes on
  int noff;                // depth of push_off
  int intena;              // were interrupts on before the first push_off?
};

extern struct cpu cpus[NCPU];

// A process's registers while it is in the kernel, and what the trampoline
// needs to enter the kernel. It has a page of its own, mapped at TRAPFRAME in
// the process's page table. trampoline.S knows the offsets.
struct trapframe {
  uint64 ra, sp, gp, tp;                                          //   0
  uint64 t0, t1, t2, t3, t4, t5, t6;                              //  32
  uint64 a0, a1, a2, a3, a4, a5, a6, a7;                          //  88
  uint64 s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11;        // 152
  uint64 epc;                                                     // 248 user pc
  uint64 kernel_sp;                                               // 256
  uint64 kernel_hartid;                                           // 264
  uint64 kernel_satp;                                             // 272
  uint64 kernel_trap;                                             // 280 usertrap()
};

// The states of a process slot, and the word for each in procdump.
#define PROCSTATES(X)                                            \
  X(UNUSED, "unused")                                            \
  X(USED, "used")         /* being made */                       \
  X(SLEEPING, "sleep")    /* waits for wakeup(chan) */           \
  X(RUNNABLE, "runnable") /* waits for a hart */                 \
  X(RUNNING, "run")                                              \
  X(ZOMBIE, "zombie")     /* has exited, nobody has waited yet */

enum procstate {
#define STATE(name, word) name,
  PROCSTATES(STATE)
#undef STATE
};

struct proc {
  struct spinlock lock;

  // lock must be held to change these
  int pid;
  enum procstate state;
  int killed;  // it must exit when it next leaves the kernel
  int xstate;  // ZOMBIE: the status for its parent's wait
  void *chan;  // SLEEPING: what it waits for

  // wait_lock must be held for this
  struct proc *parent;

  // of the process itself, while it runs: no lock
  char name[16];  // for people
  struct inode *cwd;
  struct file *ofile[NOFILE];
  uint64 sz;  // bytes of user memory
  pagetable_t pagetable;
  uint64 kstack;  // lowest address of its kernel stack
  struct context context;  // where the process goes on
  struct trapframe *trapframe;
};

extern struct proc proc[NPROC];

#endif
