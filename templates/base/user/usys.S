# One stub for each system call: its number into a7, and a trap. The kernel
# finds the arguments in a0 to a5, where the caller has put them, and leaves the
# result in a0.

#include "kernel/syscall.h"

# The list gives names; the assembler counts along.
.set number, 0

#define STUB(name)           \
  .set number, number + 1;   \
  .globl name;               \
  .type name, @function;     \
  name:                      \
  li a7, number;             \
  ecall;                     \
  ret;                       \
  .size name, . - name;

# The call behind the library's sbrk has a second argument.
#define sbrk sys_sbrk

.text
SYSCALLS(STUB)
