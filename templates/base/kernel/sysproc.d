kernel/sysproc.o: kernel/sysproc.c kernel/types.h kernel/param.h \
 kernel/memlayout.h kernel/spinlock.h kernel/riscv.h kernel/proc.h \
 kernel/syscall.h kernel/defs.h
