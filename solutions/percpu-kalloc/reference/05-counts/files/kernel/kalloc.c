// The page allocator: hands out physical memory in whole pages, for user
// memory, kernel stacks, page tables and pipes.
//
// Each CPU has a list of free pages with a lock of its own. A CPU frees onto
// its own list and allocates from it, so that in the common case no two harts
// want the same lock. A CPU whose list is empty takes a batch of pages from
// another's. The lists are threaded through the pages themselves, so keeping
// track of them costs no memory.
//
// Two rules keep this sound:
//   - A CPU number is good for as long as interrupts are off. With them on, the
//     timer may move the thread to another hart between any two instructions.
//   - No hart holds the locks of two lists at once, so no hart ever waits for
//     a list while it keeps another waiting.

#include "defs.h"
#include "memlayout.h"
#include "param.h"
#include "riscv.h"
#include "spinlock.h"
#include "types.h"

// Bytes that stand in pages which nobody should be reading. A program that
// uses a page after its free, or before writing to it, reads nonsense and is
// likely to fail soon, which is the moment to notice.
enum { JUNK_FREE = 1, JUNK_NEW = 5 };

// Most pages that change CPUs in one theft. More would make the next theft
// later, and the victim's lock held longer.
enum { BATCH = 64 };

extern char end[];  // first byte after the kernel's own image (kernel.ld)

// The start of each free page.
struct freepage {
  struct freepage *next;
};

// One CPU's free pages.
struct pool {
  struct spinlock lock;
  char name[8];  // the lock's name, which must live as long as the lock

  // lock must be held for these
  struct freepage *freelist;
  int nfree;  // pages on the list
};

struct pool kmem[NCPU];

// Pages on no list, which belong to whoever holds the chain.
struct chain {
  struct freepage *first;
  struct freepage *last;
  int len;  // 0: no page, and first is 0
};

// Whether pa is the address of a page that this allocator gives out.
static int allocatable(uint64 pa)
{
  return pa % PGSIZE == 0 && pa >= (uint64)end && pa < PHYSTOP;
}

// Cuts up to `want` pages off the top of a list. The caller holds its lock.
static struct chain detach(struct pool *from, int want)
{
  struct chain cut = {.first = from->freelist};

  for (struct freepage *p = cut.first; p != 0 && cut.len < want; p = p->next) {
    cut.last = p;
    cut.len++;
  }
  if (cut.len > 0) {
    from->freelist = cut.last->next;
    from->nfree -= cut.len;
  }
  return cut;
}

// Puts a chain of at least one page on top of a list. The caller holds its
// lock.
static void attach(struct pool *to, struct chain pages)
{
  pages.last->next = to->freelist;
  to->freelist = pages.first;
  to->nfree += pages.len;
}

// Makes every page between the kernel's image and the end of memory free. Runs
// once, on hart 0, before the other harts do anything, so all pages start on
// hart 0's list.
void kinit(void)
{
  for (int cpu = 0; cpu < NCPU; cpu++) {
    snprintf(kmem[cpu].name, sizeof(kmem[cpu].name), "kmem%d", cpu);
    initlock(&kmem[cpu].lock, kmem[cpu].name);
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

// Takes back a page that kalloc returned (or, at boot, that freerange found)
// and puts it on the list of the CPU that this runs on. An address that cannot
// be a page is a bug of the caller's, and stops the kernel.
void kfree(void *pa)
{
  if (!allocatable((uint64)pa))
    panic("kfree");
  memset(pa, JUNK_FREE, PGSIZE);

  struct freepage *page = pa;
  struct chain one = {page, page, 1};

  push_off();
  int me = cpuid();
  acquire(&kmem[me].lock);
  attach(&kmem[me], one);
  release(&kmem[me].lock);
  pop_off();
}

// Takes pages from the first other CPU that has any, beginning with the next
// one so that harts do not all rob the same victim. Keeps one page for the
// caller and puts the rest on the list of CPU `me`. Returns 0 when every list
// was empty as it was looked at. The caller holds no list's lock and has
// interrupts off, so that `me` stays true.
static struct freepage *steal(int me)
{
  struct chain loot = {0};

  for (int step = 1; step < NCPU && loot.len == 0; step++) {
    struct pool *victim = &kmem[(me + step) % NCPU];
    acquire(&victim->lock);
    loot = detach(victim, BATCH);
    release(&victim->lock);
  }

  // For this moment the batch is on no list: a hart that is searching now can
  // miss it. That is the price of never holding two locks.
  if (loot.len > 1) {
    struct chain rest = {loot.first->next, loot.last, loot.len - 1};
    acquire(&kmem[me].lock);
    attach(&kmem[me], rest);
    release(&kmem[me].lock);
  }
  return loot.first;
}

// Returns a page that is the caller's until it calls kfree, full of junk, or 0
// when no list has one.
void *kalloc(void)
{
  push_off();
  int me = cpuid();
  acquire(&kmem[me].lock);
  struct freepage *page = detach(&kmem[me], 1).first;
  release(&kmem[me].lock);
  if (page == 0)
    page = steal(me);
  pop_off();

  return page != 0 ? memset(page, JUNK_NEW, PGSIZE) : 0;
}

// Prints how many free pages each list holds, for Ctrl-P. Takes no list's
// lock, so that it works while harts are stuck on one; on a machine that is
// busy the numbers are those of slightly different moments.
void kmemdump(void)
{
  printf("free pages:");
  for (int cpu = 0; cpu < NCPU; cpu++)
    printf(" %s %d", kmem[cpu].name, kmem[cpu].nfree);
  printf("\n");
}
