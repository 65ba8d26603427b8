// Processes: making and ending them, and sharing the harts among them.
//
// Locks. p->lock guards what proc.h lists under it. wait_lock guards every
// parent field, and a parent holds it from looking for a zombie until it
// sleeps, so that no child's exit falls in between; it is taken before any
// p->lock.

#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "riscv.h"
#include "spinlock.h"
#include "proc.h"
#include "defs.h"

struct cpu cpus[NCPU];
struct proc proc[NPROC];

static struct proc *initproc;  // adopts orphans, and never exits
static struct spinlock pid_lock;
static int lastpid;
struct spinlock wait_lock;

// A hart that finds nothing to run says so here before it looks a last time,
// and is then woken by whoever makes a process runnable.
static int idle[NCPU];

extern char trampoline[], userret[];  // trampoline.S

static void firstrun(void);
static void initrun(void);
static void freeproc(struct proc *p);

// ---- boot --------------------------------------------------------------------

// Gives each process slot its kernel stack, high in the kernel's page table,
// with a hole below it, so that an overflow faults.
void proc_mapstacks(pagetable_t kpgtbl)
{
  for (int slot = 0; slot < NPROC; slot++) {
    for (int i = 0; i < KSTACKPAGES; i++) {
      void *page = kalloc();
      if (page == 0)
        panic("proc_mapstacks");
      kvmmap(kpgtbl, KSTACK(slot) + i * PGSIZE, (uint64)page, PGSIZE,
             PTE_R | PTE_W);
    }
  }
}

void procinit(void)
{
  initlock(&pid_lock, "nextpid");
  initlock(&wait_lock, "wait_lock");
  for (int slot = 0; slot < NPROC; slot++) {
    initlock(&proc[slot].lock, "proc");
    proc[slot].kstack = KSTACK(slot);
  }
}

// ---- who and where -----------------------------------------------------------

// The number of the hart that runs this. With interrupts on, a timer interrupt
// may move the thread to another hart at any moment, and the number names the
// hart that it left: keep them off for as long as the number is used.
int cpuid(void)
{
  return r_tp();
}

// This hart's entry; the same warning holds.
struct cpu *mycpu(void)
{
  return &cpus[cpuid()];
}

// The process that runs here, 0 if none. The answer stays true when the thread
// moves, since the process moves with it.
struct proc *myproc(void)
{
  push_off();
  struct proc *p = mycpu()->proc;
  pop_off();
  return p;
}

// ---- a process's memory ------------------------------------------------------

// A page table for p with no user memory, only the two pages at the top. 0
// without memory.
pagetable_t proc_pagetable(struct proc *p)
{
  pagetable_t table = uvmcreate();

  if (table == 0)
    return 0;
  // Both lie in one lowest table. It is the first page that needs memory for
  // tables, and the second that cannot fail.
  if (mappages(table, TRAPFRAME, PGSIZE, (uint64)p->trapframe, PTE_R | PTE_W) ==
          0 &&
      mappages(table, TRAMPOLINE, PGSIZE, (uint64)trampoline, PTE_R | PTE_X) ==
          0)
    return table;
  proc_freepagetable(table, 0);
  return 0;
}

// Frees a process's page table and its sz bytes of memory.
void proc_freepagetable(pagetable_t pagetable, uint64 sz)
{
  uvmunmap(pagetable, TRAPFRAME, 1, 0);
  uvmunmap(pagetable, TRAMPOLINE, 1, 0);
  uvmfree(pagetable, sz);
}

// Adds n bytes to the current process's memory, or takes them away. 0; -1 if
// there is no memory, no address space, or less than that to take away.
int growproc(int n)
{
  struct proc *p = myproc();
  uint64 size = p->sz + n;

  if (n < 0) {
    if (p->sz < -(uint64)n)
      return -1;
    p->sz = uvmdealloc(p->pagetable, p->sz, size);
  } else if (n > 0) {
    if (size > TRAPFRAME)
      return -1;
    if (uvmalloc(p->pagetable, p->sz, size, PTE_W) == 0)
      return -1;
    p->sz = size;
  }
  return 0;
}

// ---- making processes --------------------------------------------------------

static int newpid(void)
{
  acquire(&pid_lock);
  int pid = ++lastpid;
  release(&pid_lock);
  return pid;
}

// An unused slot, with its lock held; 0 when all are in use.
static struct proc *findslot(void)
{
  for (int slot = 0; slot < NPROC; slot++) {
    acquire(&proc[slot].lock);
    if (proc[slot].state == UNUSED)
      return &proc[slot];
    release(&proc[slot].lock);
  }
  return 0;
}

// Makes a process that has no memory yet and will start in firstrun. Returns
// it with its lock held; 0 when there is no slot or no memory.
struct proc *allocproc(void)
{
  struct proc *p = findslot();

  if (p == 0)
    return 0;
  p->state = USED;
  p->pid = newpid();
  p->trapframe = kalloc();
  p->pagetable = p->trapframe != 0 ? proc_pagetable(p) : 0;
  if (p->pagetable == 0) {
    freeproc(p);
    release(&p->lock);
    return 0;
  }

  memset(p->trapframe, 0, PGSIZE);
  p->context = (struct context){
      .ra = (uint64)firstrun,
      .sp = p->kstack + KSTACKPAGES * PGSIZE,
  };
  return p;
}

// Gives back all that a process has, however little, and its slot. With its
// lock held.
static void freeproc(struct proc *p)
{
  if (p->pagetable != 0)
    proc_freepagetable(p->pagetable, p->sz);
  if (p->trapframe != 0)
    kfree(p->trapframe);
  p->pagetable = 0;
  p->trapframe = 0;
  p->sz = 0;
  p->parent = 0;
  p->chan = 0;
  p->pid = p->killed = p->xstate = 0;
  p->name[0] = 0;
  p->state = UNUSED;
}

// ---- who runs where ----------------------------------------------------------

// Something has become runnable: wakes a hart that has nothing to do, if there
// is one. At most one waker gets each idle hart.
static void poke(void)
{
  __sync_synchronize();  // the new state first, then the look at who is idle
  for (int hart = 0; hart < NCPU; hart++) {
    if (__atomic_load_n(&idle[hart], __ATOMIC_RELAXED) &&
        __atomic_exchange_n(&idle[hart], 0, __ATOMIC_SEQ_CST)) {
      *(volatile uint32 *)CLINT_MSIP(hart) = 1;
      return;
    }
  }
}

// With p's lock held.
static void makerunnable(struct proc *p)
{
  __atomic_store_n(&p->state, RUNNABLE, __ATOMIC_RELAXED);
  poke();
}

// The first process that could run, looking from the given slot on and around,
// with its lock held; 0 if there is none.
static struct proc *pick(int slot)
{
  for (int i = 0; i < NPROC; i++) {
    struct proc *p = &proc[(slot + i) % NPROC];
    if (__atomic_load_n(&p->state, __ATOMIC_RELAXED) != RUNNABLE)
      continue;
    acquire(&p->lock);
    if (p->state == RUNNABLE)  // now the answer stays true
      return p;
    release(&p->lock);
  }
  return 0;
}

// Each hart's own loop, on the stack that it booted on: runs one process after
// the other, in turn, and sleeps when there is none.
//
// The sleep must not miss a process that becomes runnable after the look: the
// hart is marked idle first, so the waker sends it an interrupt, and that ends
// wfi even while interrupts are off.
void scheduler(void)
{
  struct cpu *c = mycpu();
  int self = cpuid();
  int next = 0;

  c->proc = 0;
  for (;;) {
    // Whatever is pending gets in here, and nowhere else in this loop.
    intr_on();
    intr_off();

    __atomic_store_n(&idle[self], 1, __ATOMIC_SEQ_CST);
    __sync_synchronize();
    struct proc *p = pick(next);
    if (p == 0) {
      asm volatile("wfi");
      continue;
    }
    __atomic_store_n(&idle[self], 0, __ATOMIC_RELAXED);

    // The process gives its lock back itself, and takes it again before it
    // returns here.
    next = p - proc + 1;
    p->state = RUNNING;
    c->proc = p;
    swtch(&c->context, &p->context);
    c->proc = 0;
    release(&p->lock);
  }
}

// Gives the hart back to its scheduler. The caller holds its own p->lock and no
// other spinlock, and has changed p->state. intena belongs to the thread and not
// to the hart, so it is carried along.
void sched(void)
{
  struct cpu *here = mycpu();
  struct proc *p = here->proc;
  char *wrong = intr_get()            ? "sched: interrupts are on"
                : !holding(&p->lock)  ? "sched: p->lock is not held"
                : here->noff > 1      ? "sched: another lock is held"
                : p->state == RUNNING ? "sched: the state is still RUNNING"
                                      : 0;

  if (wrong)
    panic(wrong);
  int intena = here->intena;
  swtch(&p->context, &here->context);
  mycpu()->intena = intena;  // maybe another hart than before
}

// Puts the current process into a state other than RUNNING until its next turn.
// The lock `outer`, if any, is not held meanwhile. It is given back only when
// the new state can be seen, so that who takes it next sees it.
static void stop(enum procstate state, void *chan, struct spinlock *outer)
{
  struct proc *p = myproc();

  acquire(&p->lock);
  p->chan = chan;
  p->state = state == SLEEPING && p->killed ? RUNNABLE : state;
  if (outer)
    release(outer);
  sched();
  p->chan = 0;
  release(&p->lock);
  if (outer)
    acquire(outer);
}

// Lets others have the hart for a while.
void yield(void)
{
  stop(RUNNABLE, 0, 0);
}

// Waits for wakeup(chan). lk guards the condition that is waited for; it is
// given back during the sleep and held again afterwards.
//
// A killed process only lets others run: its kill may have come when nobody
// could see yet that it was about to sleep. Who waits for something that must
// come will ask again; who need not wait looks at killed() first.
void sleep(void *chan, struct spinlock *lk)
{
  stop(SLEEPING, chan, lk);
}

// Makes every process runnable that sleeps on chan. The lock that these gave to
// sleep must be held, or have been held since what they wait for came true:
// that makes the look without p->lock a safe one.
void wakeup(void *chan)
{
  for (int slot = 0; slot < NPROC; slot++) {
    struct proc *p = &proc[slot];
    if (__atomic_load_n(&p->chan, __ATOMIC_RELAXED) != chan)
      continue;
    acquire(&p->lock);
    if (p->chan == chan && p->state == SLEEPING)
      makerunnable(p);
    release(&p->lock);
  }
}

// ---- the life of a process ---------------------------------------------------

// To user mode, with what stands in the trapframe.
static void __attribute__((noreturn)) touser(void)
{
  uint64 at = TRAMPOLINE + (uint64)(userret - trampoline);

  prepare_return();
  ((void (*)(uint64))at)(MAKE_SATP(myproc()->pagetable));
  __builtin_unreachable();
}

// Where a new process starts, coming from the scheduler with its lock held.
static void firstrun(void)
{
  release(&myproc()->lock);
  touser();
}

// The same for the very first process, which has no memory to return to yet:
// it is a kernel thread until it has loaded a program.
static void initrun(void)
{
  struct proc *p = myproc();
  char *argv[] = {"/init", 0};

  release(&p->lock);
  intr_on();
  p->cwd = namei("/");
  int argc = kexec(argv[0], argv);
  if (argc < 0)
    panic("cannot run /init");
  p->trapframe->a0 = argc;
  touser();
}

// Makes the first process.
void userinit(void)
{
  struct proc *p = allocproc();

  if (p == 0)
    panic("userinit");
  initproc = p;
  p->context.ra = (uint64)initrun;
  safestrcpy(p->name, "init", sizeof(p->name));
  makerunnable(p);
  release(&p->lock);
}

// What a child shares with its parent: open files and folder.
static void inherit(struct proc *child, struct proc *parent)
{
  for (int fd = 0; fd < NOFILE; fd++)
    if (parent->ofile[fd] != 0)
      child->ofile[fd] = filedup(parent->ofile[fd]);
  child->cwd = idup(parent->cwd);
  safestrcpy(child->name, parent->name, sizeof(child->name));
}

// Makes a copy of the current process. Returns the child's pid, -1 without a
// slot or memory; the child itself will see 0.
int kfork(void)
{
  struct proc *p = myproc();
  struct proc *child = allocproc();

  if (child == 0)
    return -1;
  if (uvmcopy(p->pagetable, child->pagetable, p->sz) < 0) {
    freeproc(child);
    release(&child->lock);
    return -1;
  }
  child->sz = p->sz;
  *child->trapframe = *p->trapframe;
  child->trapframe->a0 = 0;
  inherit(child, p);
  int pid = child->pid;

  // wait_lock comes before a p->lock. The child is USED: nobody runs it and
  // nobody else takes the slot.
  release(&child->lock);
  acquire(&wait_lock);
  child->parent = p;
  release(&wait_lock);

  acquire(&child->lock);
  makerunnable(child);
  release(&child->lock);
  return pid;
}

// Hands p's children to init. With wait_lock held.
static void abandon(struct proc *p)
{
  int any = 0;

  for (int slot = 0; slot < NPROC; slot++) {
    if (proc[slot].parent == p) {
      proc[slot].parent = initproc;
      any = 1;
    }
  }
  if (any)
    wakeup(initproc);
}

// Ends the current process. It stays a zombie until its parent waits for it.
void kexit(int status)
{
  struct proc *p = myproc();

  if (p == initproc)
    panic("init has exited");
  for (int fd = 0; fd < NOFILE; fd++) {
    if (p->ofile[fd] != 0)
      fileclose(p->ofile[fd]);
    p->ofile[fd] = 0;
  }
  iput(p->cwd);
  p->cwd = 0;

  acquire(&wait_lock);
  abandon(p);
  wakeup(p->parent);
  acquire(&p->lock);
  p->xstate = status;
  p->state = ZOMBIE;
  release(&wait_lock);  // the parent can look now; p->lock still stops it
  sched();
  panic("a zombie ran");
}

// Ends the life of a zombie child: its status goes to the user address (if not
// 0), its slot becomes free. With wait_lock held. Returns its pid, or -1 if the
// address is bad; then it stays a zombie.
static int reap(struct proc *child, uint64 addr)
{
  int pid = child->pid;

  acquire(&child->lock);
  if (addr != 0 && copyout(myproc()->pagetable, addr, &child->xstate,
                           sizeof(child->xstate)) < 0)
    pid = -1;
  else
    freeproc(child);
  release(&child->lock);
  return pid;
}

// Looks through p's children. Returns a zombie, or 0 with *any telling whether
// there are children at all. With wait_lock held.
static struct proc *findzombie(struct proc *p, int *any)
{
  *any = 0;
  for (int slot = 0; slot < NPROC; slot++) {
    if (proc[slot].parent != p)
      continue;
    *any = 1;
    acquire(&proc[slot].lock);  // it may not have left its stack yet
    int zombie = proc[slot].state == ZOMBIE;
    release(&proc[slot].lock);
    if (zombie)
      return &proc[slot];
  }
  return 0;
}

// Waits for a child to exit. Returns its pid, with its status at the user
// address if that is not 0; -1 without children, if killed, or if the address
// is bad.
int kwait(uint64 addr)
{
  struct proc *p = myproc();
  int any, result = -1;

  acquire(&wait_lock);
  for (;;) {
    struct proc *child = findzombie(p, &any);
    if (child != 0) {
      result = reap(child, addr);
      break;
    }
    if (!any || killed(p))
      break;
    sleep(p, &wait_lock);
  }
  release(&wait_lock);
  return result;
}

// Asks the process with that pid to exit, which it does when it next leaves the
// kernel; a sleep ends at once. 0, or -1 if there is no such process.
int kkill(int pid)
{
  for (struct proc *p = proc; pid > 0 && p < proc + NPROC; p++) {
    acquire(&p->lock);
    int found = p->pid == pid;
    if (found) {
      p->killed = 1;
      if (p->state == SLEEPING)
        makerunnable(p);
    }
    release(&p->lock);
    if (found)
      return 0;
  }
  return -1;
}

// The same for the current process, which will find out at once.
void setkilled(struct proc *p)
{
  __atomic_store_n(&p->killed, 1, __ATOMIC_RELAXED);
}

// Must p, the current process, exit?
int killed(struct proc *p)
{
  return __atomic_load_n(&p->killed, __ATOMIC_RELAXED);
}

// ---- for others --------------------------------------------------------------

// copyout or a plain copy, as user_dst says.
int either_copyout(int user_dst, uint64 dst, void *src, uint64 len)
{
  if (!user_dst) {
    memmove((void *)dst, src, len);
    return 0;
  }
  return copyout(myproc()->pagetable, dst, src, len);
}

// copyin or a plain copy, as user_src says.
int either_copyin(void *dst, int user_src, uint64 src, uint64 len)
{
  if (!user_src) {
    memmove(dst, (void *)src, len);
    return 0;
  }
  return copyin(myproc()->pagetable, dst, src, len);
}

// Prints the processes, for Ctrl-P. Takes no lock, so that it works when the
// kernel is stuck; what it prints may be a moment old.
void procdump(void)
{
#define WORD(name, word) [name] = word,
  static const char *const words[] = {PROCSTATES(WORD)};

  printf("\n");
  for (int slot = 0; slot < NPROC; slot++) {
    struct proc *p = &proc[slot];
    uint state = p->state;
    if (state != UNUSED)
      printf("%d %s %s\n", p->pid, state < NELEM(words) ? words[state] : "?",
             p->name);
  }
}
