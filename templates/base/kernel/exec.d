kernel/exec.o: kernel/exec.c kernel/types.h kernel/riscv.h kernel/param.h \
 kernel/memlayout.h kernel/spinlock.h kernel/sleeplock.h kernel/proc.h \
 kernel/stat.h kernel/fs.h kernel/elf.h kernel/defs.h
