// Stands before the kernel's own riscv.h when a student's file is compiled: the
// functions that tell or change interrupts and the CPU number become calls, so
// that the watchers see them. The kernel's inline versions keep other names.
#ifndef GRADERS_WATCH_RISCV_H
#define GRADERS_WATCH_RISCV_H

#define r_tp inline_r_tp
#define intr_on inline_intr_on
#define intr_off inline_intr_off
#define intr_get inline_intr_get
#include_next <riscv.h>
#undef r_tp
#undef intr_on
#undef intr_off
#undef intr_get

uint64 r_tp(void);
void intr_on(void);
void intr_off(void);
int intr_get(void);

#endif
