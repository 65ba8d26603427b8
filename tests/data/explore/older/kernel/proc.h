struct context {
  uint64 ra, sp, s[12];
};

struct cpu {
  struct proc *proc;
  struct context context;
  int noff;
  int intena;
};

extern struct cpu cpus[NCPU];
