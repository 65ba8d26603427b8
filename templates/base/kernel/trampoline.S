// The way between user and kernel. This page is mapped at the same address
// (TRAMPOLINE) in every page table, so that the program counter stays good
// while satp changes under it.
//
// While a process runs in user mode, sscratch holds TRAPFRAME.

#include "riscv.h"
#include "memlayout.h"

// Offsets in struct trapframe (proc.h).
.equ    TF_T6,     80
.equ    TF_SP,     256          // kernel_sp, kernel_hartid, kernel_satp,
                                // kernel_trap follow one another

// Every register of the user's but t6, which holds the frame's address.
.macro each_user_register op
        .set    at, 0
        .irp    reg, ra, sp, gp, tp, t0, t1, t2, t3, t4, t5
        \op     \reg, at(t6)
        .set    at, at + 8
        .endr
        .set    at, at + 8
        .irp    reg, a0, a1, a2, a3, a4, a5, a6, a7, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
        \op     \reg, at(t6)
        .set    at, at + 8
        .endr
.endm

.section .trampoline, "ax"
.balign 4

// stvec points here in user mode: the page table is the process's, everything
// else in the registers is the user's.
.globl uservec
uservec:
        csrrw   t6, sscratch, t6
        each_user_register sd
        csrr    t0, sscratch
        sd      t0, TF_T6(t6)

        ld      sp, TF_SP(t6)
        ld      tp, TF_SP + 8(t6)
        ld      t1, TF_SP + 16(t6)
        ld      t0, TF_SP + 24(t6)

        sfence.vma
        csrw    satp, t1
        sfence.vma
        jalr    t0              // usertrap() returns the process's satp

// a0: the satp to return with. Also entered by calling (proc.c).
.globl userret
userret:
        sfence.vma
        csrw    satp, a0
        sfence.vma

        li      t6, TRAPFRAME
        csrw    sscratch, t6
        each_user_register ld
        ld      t6, TF_T6(t6)
        sret
