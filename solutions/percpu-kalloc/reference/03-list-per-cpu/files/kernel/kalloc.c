// The page allocator: hands out physical memory in whole pages, for user
// memory, kernel stacks, page tables and pipes.
//
// Each CPU has a list of free pages with a lock of its own. A CPU frees onto
// its own list and allocates from it, so that in the common case no two harts
// want the same lock. A CPU whose list is empty takes a page from another's.
// The lists are threaded through the pages themselves, so keeping track of them
// costs no memory.
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

extern char end[];  // first byte after the kernel's own image (kernel.ld)

// The start of each free page.
struct freepage {
  struct freepage *next;
};

// One CPU's free pages.
struct pool {
  struct spinlock lock;
  char name[8];  // the lock's name, which must live as long as the lock

  struct freepage *freelist;  // lock must be held for this
};

struct pool kmem[NCPU];

// Whether pa is the address of a page that this allocator gives out.
static int allocatable(uint64 pa)
{
  return pa % PGSIZE == 0 && pa >= (uint64)end && pa < PHYSTOP;
}

// Takes the top page off a CPU's list; 0 when the list is empty.
static struct freepage *take_one(struct pool *from)
{
  acquire(&from->lock);
  struct freepage *page = from->freelist;
  if (page != 0)
    from->freelist = page->next;
  release(&from->lock);
  return page;
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

  push_off();
  struct pool *own = &kmem[cpuid()];
  acquire(&own->lock);
  page->next = own->freelist;
  own->freelist = page;
  release(&own->lock);
  pop_off();
}

// Returns a page that is the caller's until it calls kfree, full of junk, or 0
// when no list has one. Looks at this CPU's list first and then at the others,
// beginning with the next one so that harts do not all rob the same victim.
void *kalloc(void)
{
  struct freepage *page = 0;

  push_off();
  int me = cpuid();
  for (int step = 0; step < NCPU && page == 0; step++)
    page = take_one(&kmem[(me + step) % NCPU]);
  pop_off();

  return page != 0 ? memset(page, JUNK_NEW, PGSIZE) : 0;
}
