kernel/console.o: kernel/console.c kernel/types.h kernel/param.h \
 kernel/memlayout.h kernel/spinlock.h kernel/sleeplock.h kernel/riscv.h \
 kernel/fs.h kernel/file.h kernel/proc.h kernel/defs.h
