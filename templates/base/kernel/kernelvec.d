kernel/kernelvec.o: kernel/kernelvec.S kernel/memlayout.h
