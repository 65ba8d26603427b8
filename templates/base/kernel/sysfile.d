kernel/sysfile.o: kernel/sysfile.c kernel/types.h kernel/riscv.h \
 kernel/param.h kernel/spinlock.h kernel/sleeplock.h kernel/proc.h \
 kernel/stat.h kernel/fcntl.h kernel/fs.h kernel/file.h kernel/defs.h
