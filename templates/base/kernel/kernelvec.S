// Traps that arrive while the kernel itself runs.

#include "memlayout.h"

// ---- supervisor mode --------------------------------------------------------
//
// The interrupted code is somewhere in C and expects nothing, so what a C
// function may destroy is kept here on its stack. The rest kerneltrap preserves
// as every C function does. tp stays as it is: kerneltrap may give up the CPU
// and the thread may go on elsewhere, where the old tp would be a lie.

.macro each_temporary op
        .set    at, 0
        .irp    reg, ra, t0, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7
        \op     \reg, at(sp)
        .set    at, at + 8
        .endr
.endm

.text
.globl kernelvec
.balign 4
kernelvec:
        addi    sp, sp, -128
        each_temporary sd
        call    kerneltrap
        each_temporary ld
        addi    sp, sp, 128
        sret

// ---- machine mode -----------------------------------------------------------
//
// Another hart has written this hart's MSIP register. Take the request back and
// hand it on as a supervisor software interrupt, which can be kept waiting.
// mscratch points to two words that are this hart's own (start.c).

.globl machinevec
.balign 4
machinevec:
        csrrw   t0, mscratch, t0
        sd      t1, 0(t0)
        sd      t2, 8(t0)

        csrr    t1, mhartid
        slli    t1, t1, 2
        li      t2, CLINT
        add     t2, t2, t1
        sw      zero, 0(t2)
        csrsi   mip, 2          // SSIP

        ld      t2, 8(t0)
        ld      t1, 0(t0)
        csrrw   t0, mscratch, t0
        mret
