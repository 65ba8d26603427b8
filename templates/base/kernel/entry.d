kernel/entry.o: kernel/entry.S kernel/param.h
