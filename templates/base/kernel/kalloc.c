// The page allocator: hands out physical memory in whole pages, for user
// memory, kernel stacks, page tables and pipes.
//
// Free pages form one list, threaded through the pages themselves, so keeping
// track of them costs no memory. One lock guards the list.

#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "riscv.h"
#include "spinlock.h"
#include "defs.h"

// Bytes that stand in pages which nobody should be reading. A program that
// uses a page after its free, or before writing to it, reads nonsense and is
// likely to fail soon, which is the moment to notice.
enum { JUNK_FREE = 1, JUNK_NEW = 5 };

extern char end[];  // first byte after the kernel's own image (kernel.ld)

// The start of each free page.
struct freepage {
  struct freepage *next;
};

struct {
  struct spinlock lock;
  struct freepage *freelist;
} kmem;

// Whether pa is the address of a page that this allocator gives out.
static int allocatable(uint64 pa)
{
  return pa % PGSIZE == 0 && pa >= (uint64)end && pa < PHYSTOP;
}

// Makes every page between the kernel's image and the end of memory free. Runs
// once, on hart 0, before the other harts do anything.
void kinit(void)
{
  initlock(&kmem.lock, "kmem");
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

// Takes back a page that kalloc returned (or, at boot, that freerange found).
// An address that cannot be one is a bug of the caller's, and stops the kernel.
void kfree(void *pa)
{
  if (!allocatable((uint64)pa))
    panic("kfree");
  memset(pa, JUNK_FREE, PGSIZE);

  struct freepage *page = pa;
  acquire(&kmem.lock);
  page->next = kmem.freelist;
  kmem.freelist = page;
  release(&kmem.lock);
}

// Returns a page that is the caller's until it calls kfree, full of junk, or 0
// when none is left.
void *kalloc(void)
{
  acquire(&kmem.lock);
  struct freepage *page = kmem.freelist;
  if (page != 0)
    kmem.freelist = page->next;
  release(&kmem.lock);

  return page != 0 ? memset(page, JUNK_NEW, PGSIZE) : 0;
}
