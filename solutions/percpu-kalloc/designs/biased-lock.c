// The page allocator, with a list for each CPU that its owner uses without a
// lock until another hart wants in.
//
// Owner and thief each set a flag of their own and then look at the other's,
// with a fence in between, so that at least one of them sees the other. The
// owner steps back when it sees a thief, and the thief waits while it sees the
// owner inside, which is for a few instructions with interrupts off. An owner
// that is outside has nothing to answer, so an idle CPU's list can be taken.

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

enum { BATCH = 64 };

struct shelf {
  struct spinlock lock;  // thieves, and the owner while a thief is there
  char name[8];

  // volatile, so that each is read and written where the code says so
  volatile int inside;  // the owner uses the list without the lock
  volatile int wanted;  // a thief is there, and holds the lock

  // for the owner when it is inside and nobody wants in, or for whoever holds
  // the lock and has seen the owner outside
  struct freepage *freelist;
  int pages;
} kmem[NCPU];

// The owner's way in, with interrupts off. Returns whether it had to take the
// lock, which owner_out wants to know.
static int owner_in(struct shelf *own)
{
  own->inside = 1;
  __sync_synchronize();
  if (!own->wanted) {
    __sync_synchronize();
    return 0;
  }
  own->inside = 0;
  acquire(&own->lock);
  return 1;
}

static void owner_out(struct shelf *own, int locked)
{
  if (locked) {
    release(&own->lock);
  } else {
    __sync_synchronize();
    own->inside = 0;
  }
}

// A thief's way in and out.
static void thief_in(struct shelf *victim)
{
  acquire(&victim->lock);
  victim->wanted = 1;
  __sync_synchronize();
  while (victim->inside)
    ;
  __sync_synchronize();
}

static void thief_out(struct shelf *victim)
{
  __sync_synchronize();
  victim->wanted = 0;
  release(&victim->lock);
}

// Takes the top page; 0 when there is none.
static struct freepage *pop(struct shelf *s)
{
  struct freepage *page = s->freelist;

  if (page != 0) {
    s->freelist = page->next;
    s->pages--;
  }
  return page;
}

static void push(struct shelf *s, struct freepage *page)
{
  page->next = s->freelist;
  s->freelist = page;
  s->pages++;
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
  for (int i = 0; i < NCPU; i++) {
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
  struct shelf *own = &kmem[cpuid()];
  int locked = owner_in(own);
  push(own, page);
  owner_out(own, locked);
  pop_off();
}

// Takes up to a batch from the first other list that has any, keeps one page
// and puts the rest on the own list.
static struct freepage *rob(int me)
{
  struct freepage *loot[BATCH];
  int n = 0;

  for (int i = 1; i < NCPU && n == 0; i++) {
    struct shelf *victim = &kmem[(me + i) % NCPU];
    thief_in(victim);
    while (n < BATCH && victim->freelist != 0)
      loot[n++] = pop(victim);
    thief_out(victim);
  }
  if (n == 0)
    return 0;

  int locked = owner_in(&kmem[me]);
  while (n > 1)
    push(&kmem[me], loot[--n]);
  owner_out(&kmem[me], locked);
  return loot[0];
}

void *kalloc(void)
{
  push_off();
  int me = cpuid();
  int locked = owner_in(&kmem[me]);
  struct freepage *page = pop(&kmem[me]);
  owner_out(&kmem[me], locked);
  if (page == 0)
    page = rob(me);
  pop_off();

  if (page != 0)
    memset(page, JUNK_NEW, PGSIZE);
  return page;
}

// Prints how many free pages each list holds, for Ctrl-P.
void kmemdump(void)
{
  printf("free pages:");
  for (int i = 0; i < NCPU; i++)
    printf(" %s %d", kmem[i].name, kmem[i].pages);
  printf("\n");
}
