kernel/fs.o: kernel/fs.c kernel/types.h kernel/riscv.h kernel/param.h \
 kernel/spinlock.h kernel/sleeplock.h kernel/proc.h kernel/stat.h \
 kernel/fs.h kernel/defs.h
