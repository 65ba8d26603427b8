kernel/pipe.o: kernel/pipe.c kernel/types.h kernel/riscv.h kernel/param.h \
 kernel/spinlock.h kernel/proc.h kernel/file.h kernel/defs.h
