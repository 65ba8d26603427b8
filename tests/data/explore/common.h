// What the allocators below have in common. Each is an allocator that a test
// needs, as short as it can be: a list for each hart, and one thing about it.
#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "spinlock.h"
#include "riscv.h"
#include "defs.h"

extern char end[];

struct run {
  struct run *next;
};

static inline void free_all(void)
{
  for (char *p = (char *)PGROUNDUP((uint64)end); p + PGSIZE <= (char *)PHYSTOP;
       p += PGSIZE)
    kfree(p);
}

static inline void check(void *pa)
{
  uint64 a = (uint64)pa;
  if (a % PGSIZE || a < (uint64)end || a >= PHYSTOP)
    panic("kfree");
}
