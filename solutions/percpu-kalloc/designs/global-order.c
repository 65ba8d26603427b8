// The page allocator, with a list for each CPU and an order for its locks.
//
// A hart may hold the locks of two lists, and then the one with the lower
// number was taken first. All harts keep that order, so they cannot wait for
// one another in a circle, and a batch goes from one list to the other without
// ever being on none.

#include "defs.h"
#include "memlayout.h"
#include "param.h"
#include "riscv.h"
#include "spinlock.h"
#include "types.h"

enum { JUNK_FREE = 1, JUNK_NEW = 5 };

extern char end[];  // first byte after the kernel's own image (kernel.ld)

// The start of each free page.
struct freepage {
  struct freepage *next;
};

enum { BATCH = 32 };

struct {
  struct spinlock lock;
  char name[8];
  struct freepage *freelist;
  int pages;
} kmem[NCPU];

// Fills a page that comes back, or stops the kernel if it cannot be one.
static struct freepage *check_and_fill(void *pa)
{
  uint64 a = (uint64)pa;

  if (a % PGSIZE != 0 || a < (uint64)end || a >= PHYSTOP)
    panic("kfree");
  return memset(pa, JUNK_FREE, PGSIZE);
}

void kinit(void)
{
  for (int i = NCPU - 1; i >= 0; i--) {
    snprintf(kmem[i].name, sizeof(kmem[i].name), "kmem%d", i);
    initlock(&kmem[i].lock, kmem[i].name);
  }
  freerange(end, (void *)PHYSTOP);
}

// Frees each page that lies wholly between the two addresses.
void freerange(void *pa_start, void *pa_end)
{
  uint64 page = PGROUNDUP((uint64)pa_start);
  uint64 left = ((uint64)pa_end - page) / PGSIZE;

  for (; left > 0; left--, page += PGSIZE)
    kfree((void *)page);
}

void kfree(void *pa)
{
  struct freepage *page = check_and_fill(pa);

  push_off();
  int i = cpuid();
  acquire(&kmem[i].lock);
  page->next = kmem[i].freelist;
  kmem[i].freelist = page;
  kmem[i].pages++;
  release(&kmem[i].lock);
  pop_off();
}

// Moves up to a batch of pages from list `from` to list `to`. Both locks are
// held.
static void move_pages(int from, int to)
{
  for (int n = 0; n < BATCH && kmem[from].freelist != 0; n++) {
    struct freepage *page = kmem[from].freelist;
    kmem[from].freelist = page->next;
    kmem[from].pages--;
    page->next = kmem[to].freelist;
    kmem[to].freelist = page;
    kmem[to].pages++;
  }
}

// Fills list `me`, which is empty and whose lock is held, from the others. The
// lock is held again on return, but may have been given up in between.
static void refill(int me)
{
  for (int victim = me + 1; victim < NCPU && kmem[me].freelist == 0; victim++) {
    acquire(&kmem[victim].lock);
    move_pages(victim, me);
    release(&kmem[victim].lock);
  }
  for (int victim = 0; victim < me && kmem[me].freelist == 0; victim++) {
    release(&kmem[me].lock);
    acquire(&kmem[victim].lock);
    acquire(&kmem[me].lock);
    move_pages(victim, me);
    release(&kmem[victim].lock);
  }
}

void *kalloc(void)
{
  push_off();
  int me = cpuid();
  acquire(&kmem[me].lock);
  if (kmem[me].freelist == 0)
    refill(me);
  struct freepage *page = kmem[me].freelist;
  if (page != 0) {
    kmem[me].freelist = page->next;
    kmem[me].pages--;
  }
  release(&kmem[me].lock);
  pop_off();

  if (page == 0)
    return 0;
  return memset(page, JUNK_NEW, PGSIZE);
}

// Prints how many free pages each list holds, for Ctrl-P.
void kmemdump(void)
{
  printf("free pages:");
  for (int i = 0; i < NCPU; i++)
    printf(" %s %d", kmem[i].name, kmem[i].pages);
  printf("\n");
}
