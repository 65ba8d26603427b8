// The first instruction. QEMU puts every hart here in machine mode, all at the
// same time, with nothing set up but memory.

#include "param.h"

.section .text.entry, "ax"
.globl _entry
_entry:
        # Harts beyond those that the tables have room for never take part.
        csrr    t0, mhartid
        li      t1, NCPU
        bgeu    t0, t1, park

        # A stack for each hart in start.c's bootstack, growing down from the
        # end of the hart's slice.
        addi    t0, t0, 1
        slli    t0, t0, 12
        la      sp, bootstack
        add     sp, sp, t0
        tail    start

park:   wfi
        j       park
