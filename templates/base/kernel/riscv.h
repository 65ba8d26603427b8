// The machine's registers and page tables (RISC-V privileged specification).
#ifndef RISCV_H
#define RISCV_H

// ---- page tables: Sv39 (section 4.4 of the specification) ------------------

#define PGSIZE 4096
#define PGSHIFT 12
#define MEGASIZE (512L * PGSIZE)  // what one entry of a middle table maps

#define PGROUNDUP(a) (((a) + PGSIZE - 1) & ~(PGSIZE - 1))
#define PGROUNDDOWN(a) ((a) & ~(PGSIZE - 1))

#define PTE_V 0x01L  // the entry means something
#define PTE_R 0x02L  // what may be done: read,
#define PTE_W 0x04L  // write,
#define PTE_X 0x08L  // execute,
#define PTE_U 0x10L  // and that in user mode
#define PTE_A 0x40L  // has been accessed
#define PTE_D 0x80L  // has been written

#define PTE_FLAGS(pte) ((pte) & 0x3ff)
#define PTE_LEAF(pte) (((pte) & (PTE_R | PTE_W | PTE_X)) != 0)
#define PA2PTE(pa) (((uint64)(pa) >> PGSHIFT) << 10)
#define PTE2PA(pte) (((uint64)(pte) >> 10) << PGSHIFT)

// Index into the table of the given level (2 is the root) for an address.
#define PX(level, va) (((uint64)(va) >> (PGSHIFT + 9 * (level))) & 0x1ff)

// Sv39 has 39 bits and sign-extends the top one. Staying below half of the
// space means never meeting an address with that bit set.
#define MAXVA (1L << 38)

#define SATP_SV39 (8L << 60)
#define MAKE_SATP(pagetable) (SATP_SV39 | ((uint64)(pagetable) >> PGSHIFT))

#ifndef __ASSEMBLER__

#include "types.h"

typedef uint64 pte_t;
typedef uint64 *pagetable_t;  // 512 entries, one page

// ---- control and status registers ------------------------------------------

// REGISTER(n, code) defines r_n() and w_n() for the register with that number.
// Numbers and not names, so that an assembler older than an extension will do.
#define READER(name, code)                              \
  static inline uint64 r_##name(void) {                 \
    uint64 value;                                       \
    asm volatile("csrr %0, " #code : "=r"(value));      \
    return value;                                       \
  }
#define WRITER(name, code)                                        \
  static inline void w_##name(uint64 value) {                     \
    asm volatile("csrw " #code ", %0" : : "r"(value) : "memory"); \
  }
#define REGISTER(name, code) READER(name, code) WRITER(name, code)

// machine mode, used by start() alone
READER(mhartid, 0xf14)
REGISTER(mstatus, 0x300)
REGISTER(medeleg, 0x302)
REGISTER(mideleg, 0x303)
REGISTER(mie, 0x304)
REGISTER(mtvec, 0x305)
REGISTER(mcounteren, 0x306)
REGISTER(menvcfg, 0x30a)
REGISTER(mscratch, 0x340)
REGISTER(mepc, 0x341)
REGISTER(pmpcfg0, 0x3a0)
REGISTER(pmpaddr0, 0x3b0)

// supervisor mode
REGISTER(sstatus, 0x100)
REGISTER(sie, 0x104)
REGISTER(stvec, 0x105)
REGISTER(sscratch, 0x140)
REGISTER(sepc, 0x141)
READER(scause, 0x142)
READER(stval, 0x143)
REGISTER(sip, 0x144)
REGISTER(stimecmp, 0x14d)
REGISTER(satp, 0x180)
READER(time, 0xc01)

#define MSTATUS_MPP_MASK (3L << 11)
#define MSTATUS_MPP_S (1L << 11)

#define SSTATUS_SIE (1L << 1)   // interrupts on in supervisor mode
#define SSTATUS_SPIE (1L << 5)  // SIE as sret will set it
#define SSTATUS_SPP (1L << 8)   // mode that sret returns to: 1 supervisor

// Bits of mie, mip, sie, sip and mideleg.
#define IRQ_SSOFT (1L << 1)
#define IRQ_MSOFT (1L << 3)
#define IRQ_STIMER (1L << 5)
#define IRQ_SEXT (1L << 9)

// ---- interrupts, and which hart this is -------------------------------------

// Lets this hart take interrupts.
static inline void intr_on(void) {
  asm volatile("csrsi sstatus, 2" : : : "memory");
}

// Keeps this hart from taking interrupts.
static inline void intr_off(void) {
  asm volatile("csrci sstatus, 2" : : : "memory");
}

// 1 if this hart takes interrupts, 0 if not.
static inline int intr_get(void) {
  return (r_sstatus() & SSTATUS_SIE) != 0;
}

// The tp register, in which the kernel keeps the hart's number.
static inline uint64 r_tp(void) {
  uint64 value;
  asm volatile("mv %0, tp" : "=r"(value));
  return value;
}

static inline void w_tp(uint64 value) {
  asm volatile("mv tp, %0" : : "r"(value));
}

// The stack pointer.
static inline uint64 r_sp(void) {
  uint64 value;
  asm volatile("mv %0, sp" : "=r"(value));
  return value;
}

// Makes this hart forget every translation that it has cached.
static inline void sfence_vma(void) {
  asm volatile("sfence.vma" : : : "memory");
}

#endif  // __ASSEMBLER__

#endif
