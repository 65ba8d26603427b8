kernel/sleeplock.o: kernel/sleeplock.c kernel/types.h kernel/riscv.h \
 kernel/param.h kernel/spinlock.h kernel/sleeplock.h kernel/proc.h \
 kernel/defs.h
