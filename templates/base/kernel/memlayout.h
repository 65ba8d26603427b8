// Where things are in physical and in virtual memory.
//
// Physical, QEMU's "virt" machine (its source, hw/riscv/virt.c, has the table):
//
//   0x0010_0000  test device: a write powers the machine off
//   0x0200_0000  CLINT: one software-interrupt register (MSIP) for each hart
//   0x0c00_0000  PLIC: routes device interrupts to harts
//   0x1000_0000  UART, a 16550
//   0x8000_0000  RAM; -kernel puts the first instruction here
//
// The kernel runs with all of this mapped at the same virtual addresses. At
// the top of the address space, kernel and user alike, are pages that have no
// such equal:
//
//   TRAMPOLINE     the code that changes page tables, mapped by everyone
//   TRAPFRAME      (user) saved registers of the process
//   KSTACK(i)      (kernel) stack of process slot i, a hole below each
//
#ifndef MEMLAYOUT_H
#define MEMLAYOUT_H

#define CLINT 0x02000000L
#define CLINT_MSIP(hart) (CLINT + 4 * (hart))

#define UART0 0x10000000L
#define UART0_IRQ 10

#define PLIC 0x0c000000L
#define PLIC_SIZE 0x400000L

#define KERNBASE 0x80000000L

// Bytes of RAM that the page allocator may use up to; -DPHYSMEM=... makes a
// kernel for a smaller machine.
#ifndef PHYSMEM
#define PHYSMEM (128L * 1024 * 1024)
#endif
#define PHYSTOP (KERNBASE + PHYSMEM)

#define TRAMPOLINE (MAXVA - PGSIZE)
#define TRAPFRAME (TRAMPOLINE - PGSIZE)
#define KSTACK(i) (TRAMPOLINE - ((i) + 1) * (KSTACKPAGES + 1L) * PGSIZE)

#endif
