kernel/printf.o: kernel/printf.c kernel/types.h kernel/riscv.h \
 kernel/spinlock.h kernel/defs.h
