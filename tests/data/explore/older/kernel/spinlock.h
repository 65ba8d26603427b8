struct spinlock {
  uint locked;
  char *name;
  struct cpu *cpu;
  int waits;  // one of the lab's own
};
