// Traps: system calls, faults and interrupts, from user mode and from the
// kernel itself.
//
// System calls run with interrupts on. Everything else runs with interrupts
// off, page faults too.

#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "riscv.h"
#include "spinlock.h"
#include "proc.h"
#include "defs.h"

// scause, from the table of causes in the privileged specification.
#define INTERRUPT (1UL << 63)
#define SOFTWARE_INTERRUPT (INTERRUPT | 1)
#define TIMER_INTERRUPT (INTERRUPT | 5)
#define EXTERNAL_INTERRUPT (INTERRUPT | 9)
#define ECALL_FROM_USER 8
#define LOAD_PAGE_FAULT 13
#define STORE_PAGE_FAULT 15

// What devintr found.
enum { NOT_OURS, SERVED, TIME_IS_UP };

uint ticks;  // clock ticks since boot; tickslock must be held
struct spinlock tickslock;

extern char trampoline[], uservec[];  // trampoline.S
void kernelvec(void);                 // kernelvec.S

void trapinit(void)
{
  initlock(&tickslock, "time");
}

// Lets this hart take traps, in the kernel for now.
void trapinithart(void)
{
  w_stvec((uint64)kernelvec);
}

// The hart's clock has rung. Hart 0 keeps the time of day.
static void clockintr(void)
{
  if (cpuid() == 0) {
    acquire(&tickslock);
    ticks++;
    wakeup(&ticks);
    release(&tickslock);
  }
  w_stimecmp(r_time() + TICK_CYCLES);  // also ends the interrupt
}

static void externalintr(void)
{
  int irq = plic_claim();

  if (irq == UART0_IRQ)
    uartintr();
  else if (irq != 0)
    printf("devintr: no driver for device interrupt %d\n", irq);
  if (irq != 0)
    plic_complete(irq);
}

// Serves the interrupt that scause tells of, if it tells of one.
int devintr(void)
{
  switch (r_scause()) {
  case TIMER_INTERRUPT:
    clockintr();
    return TIME_IS_UP;
  case EXTERNAL_INTERRUPT:
    externalintr();
    return SERVED;
  case SOFTWARE_INTERRUPT:
    // Another hart has made a process runnable. Having been woken is all.
    w_sip(r_sip() & ~IRQ_SSOFT);
    return SERVED;
  default:
    return NOT_OURS;
  }
}

// What the hart tells about a trap. Another trap overwrites its registers.
struct trapinfo {
  uint64 cause, value, pc, status;
};

static struct trapinfo gettrap(void)
{
  return (struct trapinfo){
      .cause = r_scause(),
      .value = r_stval(),
      .pc = r_sepc(),
      .status = r_sstatus(),
  };
}

// A page fault is served if it is the first touch of reserved memory. 0 or -1.
static int pagefault(struct trapinfo *t)
{
  if (t->cause != LOAD_PAGE_FAULT && t->cause != STORE_PAGE_FAULT)
    return -1;
  return vmfault(myproc()->pagetable, t->value, t->cause == LOAD_PAGE_FAULT)
             ? 0
             : -1;
}

static void systemcall(struct proc *p)
{
  if (killed(p))
    kexit(-1);
  p->trapframe->epc += 4;  // go on behind the ecall
  intr_on();               // the trap's registers are no longer needed
  syscall();
}

// uservec comes here, on the process's kernel stack. Returns the satp that
// userret is to load.
uint64 usertrap(void)
{
  struct trapinfo t = gettrap();
  struct proc *p = myproc();
  int served = SERVED;

  w_stvec((uint64)kernelvec);
  p->trapframe->epc = t.pc;
  if (t.status & SSTATUS_SPP)
    panic("usertrap: the trap came from the kernel");

  if (t.cause == ECALL_FROM_USER) {
    systemcall(p);
  } else if ((served = devintr()) == NOT_OURS && pagefault(&t) < 0) {
    printf("usertrap(): unexpected scause 0x%lx pid=%d\n", t.cause, p->pid);
    printf("            sepc=0x%lx stval=0x%lx\n", t.pc, t.value);
    setkilled(p);
  }

  if (killed(p))
    kexit(-1);
  if (served == TIME_IS_UP)
    yield();
  prepare_return();
  return MAKE_SATP(p->pagetable);
}

// Sets this hart up to go to user mode, and the trapframe for the way back.
// Interrupts are off from here on.
void prepare_return(void)
{
  struct proc *p = myproc();
  struct trapframe *tf = p->trapframe;

  intr_off();  // or a trap in the kernel would go to uservec
  w_stvec(TRAMPOLINE + (uint64)(uservec - trampoline));
  w_sstatus((r_sstatus() & ~SSTATUS_SPP) | SSTATUS_SPIE);
  w_sepc(tf->epc);

  tf->kernel_hartid = cpuid();
  tf->kernel_sp = p->kstack + KSTACKPAGES * PGSIZE;
  tf->kernel_trap = (uint64)usertrap;
  tf->kernel_satp = r_satp();
}

// kernelvec comes here: the kernel was interrupted, or has done something
// wrong.
void kerneltrap(void)
{
  struct trapinfo t = gettrap();

  if (intr_get() || (t.status & SSTATUS_SPP) == 0)
    panic("kerneltrap: in a state that cannot be");
  int served = devintr();
  if (served == NOT_OURS) {
    printf("kerneltrap(): scause 0x%lx sepc=0x%lx stval=0x%lx hart %d\n",
           t.cause, t.pc, t.value, cpuid());
    panic("kerneltrap: the kernel has faulted");
  }
  if (served == TIME_IS_UP && myproc() != 0) {
    yield();
    // Other threads have taken traps here in the meantime.
    w_sstatus(t.status);
    w_sepc(t.pc);
  }
}
