// Included before a student's file (-include), so that riscv.h is the one
// beside this file in whatever order the student includes things.
#include <types.h>

#include <riscv.h>
