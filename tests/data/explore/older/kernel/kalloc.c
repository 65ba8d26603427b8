// A list for each hart, in the style of an older tree: interrupts off by hand,
// the number read by r_tp(). It must be called with interrupts on: a caller
// that has them off finds them on.
#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "spinlock.h"
#include "riscv.h"
#include "proc.h"
#include "defs.h"

extern char end[];

struct run {
  struct run *next;
};

struct {
  struct spinlock lock;
  struct run *list;
} heap[NCPU];

static char *names[NCPU] = {"kmem0", "kmem1", "kmem2", "kmem3",
                            "kmem4", "kmem5", "kmem6", "kmem7"};

void kinit(void)
{
  for (int i = 0; i < NCPU; i++)
    initlock(&heap[i].lock, names[i]);
  for (char *p = (char *)PGROUNDUP((uint64)end); p + PGSIZE <= (char *)PHYSTOP;
       p += PGSIZE)
    kfree(p);
  printf("%d harts\n", NCPU);
}

void kfree(void *pa)
{
  if ((uint64)pa % PGSIZE != 0 || (char *)pa < end || (uint64)pa >= PHYSTOP)
    panic("kfree");
  memset(pa, 1, PGSIZE);
  intr_off();
  int id = r_tp();
  acquire(&heap[id].lock);
  ((struct run *)pa)->next = heap[id].list;
  heap[id].list = pa;
  release(&heap[id].lock);
  intr_on();
}

void *kalloc(void)
{
  struct run *r = 0;
  intr_off();
  int id = r_tp();
  for (int i = 0; i < NCPU && !r; i++) {
    int from = (id + i) % NCPU;
    acquire(&heap[from].lock);
    r = heap[from].list;
    if (r)
      heap[from].list = r->next;
    release(&heap[from].lock);
  }
  intr_on();
  return r ? memset(r, 5, PGSIZE) : 0;
}
