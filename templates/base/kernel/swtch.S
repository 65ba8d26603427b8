// void swtch(struct context *save, struct context *load)
//
// Puts one kernel thread aside and goes on with another: what a C caller
// expects to survive a call goes to *save, the other thread's comes from *load,
// and the return is to where that thread once called swtch.

.macro each_preserved op, base
        .set    at, 0
        .irp    reg, ra, sp, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
        \op     \reg, at(\base)
        .set    at, at + 8
        .endr
.endm

.text
.globl swtch
swtch:
        each_preserved sd, a0
        each_preserved ld, a1
        ret
