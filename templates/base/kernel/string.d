kernel/string.o: kernel/string.c kernel/types.h kernel/riscv.h \
 kernel/defs.h
