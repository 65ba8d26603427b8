// From machine mode to supervisor mode. Every hart passes through here once.
//
// Machine mode keeps one job: passing on a hart-to-hart interrupt, which
// arrives as a machine software interrupt (machinevec in kernelvec.S).

#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "riscv.h"

#define MENVCFG_STCE (1UL << 63)  // the Sstc extension: stimecmp works
#define MCOUNTEREN_TIME (1L << 1)
#define PMP_TOR_RWX 0x0f

void main(void);
void machinevec(void);

// Where each hart begins to run C, and where its scheduler stays (entry.S
// computes the same addresses).
__attribute__((aligned(16))) char bootstack[NCPU][PGSIZE];

// Two words for machinevec to put registers into.
static uint64 scratch[NCPU][2];

void start(void)
{
  uint64 hart = r_mhartid();

  // The kernel finds out where it runs by reading tp.
  w_tp(hart);

  // Supervisor mode may touch all of memory ...
  w_pmpaddr0(~0UL >> 10);
  w_pmpcfg0(PMP_TOR_RWX);

  // ... handles its own exceptions and interrupts ...
  w_medeleg(0xffff);
  w_mideleg(IRQ_SSOFT | IRQ_STIMER | IRQ_SEXT);
  w_sie(IRQ_SSOFT | IRQ_STIMER | IRQ_SEXT);

  // ... and has a clock: it reads the time, and an interrupt is pending
  // whenever the time is at or past stimecmp.
  w_menvcfg(r_menvcfg() | MENVCFG_STCE);
  w_mcounteren(r_mcounteren() | MCOUNTEREN_TIME);
  w_stimecmp(r_time() + TICK_CYCLES);

  w_mscratch((uint64)scratch[hart]);
  w_mtvec((uint64)machinevec);
  w_mie(r_mie() | IRQ_MSOFT);

  // Return to where no call came from: main, in supervisor mode, paging off.
  w_satp(0);
  w_mstatus((r_mstatus() & ~MSTATUS_MPP_MASK) | MSTATUS_MPP_S);
  w_mepc((uint64)main);
  asm volatile("mret");
  __builtin_unreachable();
}
