// The page allocator, with a cache of pages for each CPU and a pool behind
// them that all share.
//
// A CPU allocates from its cache and frees into it. When the cache is empty it
// fetches a batch from the pool, and when it has grown full it gives a batch
// back. Only when the pool is empty as well does it look into the other CPUs'
// caches. One lock is held at a time.

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

enum {
  BATCH = 64,        // pages fetched from the pool, or given back, at once
  CACHE_MAX = 1024,  // a cache that reaches this gives a batch back
};

// Free pages and the lock that guards them.
struct store {
  struct spinlock lock;
  struct freepage *top;
  int pages;
};

struct store cache[NCPU];
struct store pool;

static char names[NCPU][8];

// Takes up to `most` pages out of a store. Returns the first, linked to the
// others, and how many there are in *ret_pages.
static struct freepage *take(struct store *s, int most, int *ret_pages)
{
  int n = 0;

  acquire(&s->lock);
  struct freepage *first = s->top;
  for (struct freepage **link = &s->top; n < most && *link != 0; n++) {
    struct freepage *page = *link;
    link = &page->next;
    s->top = page->next;
    if (n + 1 == most)
      page->next = 0;
  }
  s->pages -= n;
  release(&s->lock);
  *ret_pages = n;
  return first;
}

// Puts linked pages, the last of which points to 0, into a store, and returns
// how many it has now.
static int give(struct store *s, struct freepage *first, int pages)
{
  struct freepage *last = first;

  while (last->next != 0)
    last = last->next;
  acquire(&s->lock);
  last->next = s->top;
  s->top = first;
  s->pages += pages;
  int now = s->pages;
  release(&s->lock);
  return now;
}

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
  initlock(&pool.lock, "kmem_pool");
  for (int i = 0; i < NCPU; i++) {
    snprintf(names[i], sizeof(names[i]), "kmem%d", i);
    initlock(&cache[i].lock, names[i]);
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
  int n;

  page->next = 0;
  push_off();
  struct store *own = &cache[cpuid()];
  if (give(own, page, 1) >= CACHE_MAX) {
    page = take(own, BATCH, &n);
    if (n > 0)
      give(&pool, page, n);
  }
  pop_off();
}

void *kalloc(void)
{
  int n;

  push_off();
  int me = cpuid();
  struct freepage *page = take(&cache[me], 1, &n);
  if (n == 0)
    page = take(&pool, BATCH, &n);
  for (int i = 1; i < NCPU && n == 0; i++)
    page = take(&cache[(me + i) % NCPU], BATCH, &n);
  if (n > 1)
    give(&cache[me], page->next, n - 1);
  pop_off();

  return n == 0 ? 0 : memset(page, JUNK_NEW, PGSIZE);
}

// Prints how many free pages each CPU has, for Ctrl-P; the pool's are added to
// the first.
void kmemdump(void)
{
  printf("free pages:");
  for (int i = 0; i < NCPU; i++)
    printf(" %s %d", names[i], cache[i].pages + (i == 0 ? pool.pages : 0));
  printf("\n");
}
