// Page tables, and moving data between the kernel and user memory.
//
// A page table is a tree of three levels of pages with 512 entries each
// (Sv39). The kernel has one that maps memory at its own address and is never
// changed after boot; each process has one for user mode.

#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "riscv.h"
#include "spinlock.h"
#include "proc.h"
#include "defs.h"

// Accessed and dirty, set from the start: nobody asks for them, and a machine
// need not set them by itself.
#define PTE_SEEN (PTE_A | PTE_D)

static pagetable_t kernel_pagetable;

extern char etext[];       // kernel.ld: the end of the kernel's code
extern char trampoline[];  // trampoline.S

// A page full of zeros, or 0.
static void *zeroed(void)
{
  void *page = kalloc();
  return page != 0 ? memset(page, 0, PGSIZE) : 0;
}

// ---- the tree ----------------------------------------------------------------

// Finds the entry for va in the table of the given level. Tables on the way
// that are missing are made if alloc says so. 0 if there is none, or if memory
// has run out.
static pte_t *descend(pagetable_t table, uint64 va, int level, int alloc)
{
  for (int l = 2; l > level; l--) {
    pte_t *e = &table[PX(l, va)];
    if (*e & PTE_V) {
      table = (pagetable_t)PTE2PA(*e);
      continue;
    }
    if (!alloc || (table = zeroed()) == 0)
      return 0;
    *e = PA2PTE(table) | PTE_V;
  }
  return &table[PX(level, va)];
}

// The entry of the page that holds va, or 0 (see descend).
pte_t *walk(pagetable_t pagetable, uint64 va, int alloc)
{
  return va < MAXVA ? descend(pagetable, va, 0, alloc) : 0;
}

// Finds the first mapped page from *va on and below end. Returns its entry and
// sets *va to its address; 0 if there is none. Where a whole table is missing
// it is passed over in one step: reserved memory may be large.
static pte_t *nextmapped(pagetable_t pagetable, uint64 *va, uint64 end)
{
  while (*va < end) {
    pte_t *e = &pagetable[PX(2, *va)];
    int level = 2;
    for (; (*e & PTE_V) && level > 0; level--)
      e = &((pagetable_t)PTE2PA(*e))[PX(level - 1, *va)];
    if (*e & PTE_V)
      return e;
    uint64 span = 1UL << (PGSHIFT + 9 * level);
    *va = (*va / span + 1) * span;
  }
  return 0;
}

// Frees a tree of tables, whose leaves must have been unmapped.
static void freetables(pagetable_t table, int level)
{
  for (int i = 0; level > 0 && i < 512; i++)
    if (table[i] & PTE_V)
      freetables((pagetable_t)PTE2PA(table[i]), level - 1);
  kfree(table);
}

// Maps sz bytes from va to the memory at pa, all multiples of PGSIZE, none
// mapped yet. 0; -1 if memory for tables ran out, with part of it mapped.
int mappages(pagetable_t pagetable, uint64 va, uint64 sz, uint64 pa, int perm)
{
  if ((va | pa | sz) % PGSIZE != 0 || sz == 0)
    panic("mappages: not whole pages");

  for (uint64 done = 0; done < sz; done += PGSIZE) {
    pte_t *e = walk(pagetable, va + done, 1);
    if (e == 0)
      return -1;
    if (*e & PTE_V)
      panic("mappages: mapped already");
    *e = PA2PTE(pa + done) | perm | PTE_SEEN | PTE_V;
  }
  return 0;
}

// ---- the kernel's table ------------------------------------------------------

// Adds a mapping to the kernel's table while it is being made, with entries of
// two megabytes where they fit. There is always memory for that at boot.
void kvmmap(pagetable_t kpgtbl, uint64 va, uint64 pa, uint64 sz, int perm)
{
  for (uint64 step; sz > 0; va += step, pa += step, sz -= step) {
    int level = ((va | pa) % MEGASIZE == 0 && sz >= MEGASIZE);
    step = level ? MEGASIZE : PGSIZE;
    pte_t *e = descend(kpgtbl, va, level, 1);
    if (e == 0)
      panic("kvmmap: no memory");
    *e = PA2PTE(pa) | perm | PTE_SEEN | PTE_V;
  }
}

// Makes the kernel's table. Code can be executed and not written, everything
// else the other way round.
void kvminit(void)
{
  const struct {
    uint64 va, pa, sz;
    int perm;
  } map[] = {
      {CLINT, CLINT, PGSIZE, PTE_R | PTE_W},
      {PLIC, PLIC, PLIC_SIZE, PTE_R | PTE_W},
      {UART0, UART0, PGSIZE, PTE_R | PTE_W},
      {KERNBASE, KERNBASE, (uint64)etext - KERNBASE, PTE_R | PTE_X},
      {(uint64)etext, (uint64)etext, PHYSTOP - (uint64)etext, PTE_R | PTE_W},
      {TRAMPOLINE, (uint64)trampoline, PGSIZE, PTE_R | PTE_X},
  };

  pagetable_t table = zeroed();
  if (table == 0)
    panic("kvminit");
  for (uint i = 0; i < NELEM(map); i++)
    kvmmap(table, map[i].va, map[i].pa, map[i].sz, map[i].perm);
  proc_mapstacks(table);
  kernel_pagetable = table;
}

// Turns paging on for this hart.
void kvminithart(void)
{
  sfence_vma();
  w_satp(MAKE_SATP(kernel_pagetable));
  sfence_vma();
}

// ---- user memory -------------------------------------------------------------

// An empty page table, or 0.
pagetable_t uvmcreate(void)
{
  return zeroed();
}

// Removes the mappings of npages pages from va on, and with do_free the pages
// too. Pages that were never touched (sbrklazy) have none, which is fine.
void uvmunmap(pagetable_t pagetable, uint64 va, uint64 npages, int do_free)
{
  uint64 end = va + npages * PGSIZE;

  if (va % PGSIZE != 0)
    panic("uvmunmap: not a page");
  for (pte_t *e; (e = nextmapped(pagetable, &va, end)) != 0; va += PGSIZE) {
    if (do_free)
      kfree((void *)PTE2PA(*e));
    *e = 0;
  }
}

// Gives the process a zeroed page at va. 0, or -1 without memory; nothing is
// kept then.
static int addpage(pagetable_t pagetable, uint64 va, int perm)
{
  void *page = zeroed();

  if (page == 0)
    return -1;
  if (mappages(pagetable, va, PGSIZE, (uint64)page, perm) == 0)
    return 0;
  kfree(page);
  return -1;
}

// Grows user memory from oldsz to newsz bytes, with pages that are readable
// and whatever xperm adds. Returns newsz; 0 when memory ran out, and then
// everything is as before.
uint64 uvmalloc(pagetable_t pagetable, uint64 oldsz, uint64 newsz, int xperm)
{
  uint64 first = PGROUNDUP(oldsz);

  for (uint64 va = first; va < newsz; va += PGSIZE) {
    if (addpage(pagetable, va, PTE_R | PTE_U | xperm) < 0) {
      uvmunmap(pagetable, first, (va - first) / PGSIZE, 1);
      return 0;
    }
  }
  return newsz > oldsz ? newsz : oldsz;
}

// Shrinks user memory to newsz bytes, which may be more than there is: then
// nothing happens. Returns the size afterwards.
uint64 uvmdealloc(pagetable_t pagetable, uint64 oldsz, uint64 newsz)
{
  if (newsz >= oldsz)
    return oldsz;

  uint64 keep = PGROUNDUP(newsz);
  uint64 top = PGROUNDUP(oldsz);
  uvmunmap(pagetable, keep, (top - keep) / PGSIZE, 1);
  return newsz;
}

// Frees sz bytes of user memory from 0 on, and the page table itself, which
// must map nothing else any more.
void uvmfree(pagetable_t pagetable, uint64 sz)
{
  uvmunmap(pagetable, 0, PGROUNDUP(sz) / PGSIZE, 1);
  freetables(pagetable, 2);
}

// Copies the page that entry e of one table maps at va into another table. 0,
// or -1 without memory.
static int copypage(pte_t e, pagetable_t new, uint64 va)
{
  void *page = kalloc();

  if (page == 0)
    return -1;
  memmove(page, (void *)PTE2PA(e), PGSIZE);
  if (mappages(new, va, PGSIZE, (uint64)page, PTE_FLAGS(e)) == 0)
    return 0;
  kfree(page);
  return -1;
}

// Copies a process's sz bytes of memory into an empty page table, for fork.
// 0; -1 without memory, and then the new table maps nothing.
int uvmcopy(pagetable_t old, pagetable_t new, uint64 sz)
{
  uint64 va = 0;

  // What is reserved and not touched stays so in the child.
  for (pte_t *e; (e = nextmapped(old, &va, sz)) != 0; va += PGSIZE) {
    if (copypage(*e, new, va) < 0) {
      uvmunmap(new, 0, va / PGSIZE, 1);
      return -1;
    }
  }
  return 0;
}

// Takes a page away from user mode without unmapping it: the guard below the
// stack.
void uvmclear(pagetable_t pagetable, uint64 va)
{
  pte_t *e = walk(pagetable, va, 0);

  if (e == 0)
    panic("uvmclear");
  *e &= ~PTE_U;
}

// ---- user addresses ----------------------------------------------------------

// The physical address of the page at va if user mode may use it with all of
// the rights in perm, or 0.
static uint64 userpage(pagetable_t pagetable, uint64 va, int perm)
{
  pte_t *e = walk(pagetable, va, 0);
  pte_t need = PTE_V | PTE_U | perm;

  return e != 0 && (*e & need) == need ? PTE2PA(*e) : 0;
}

// As userpage, for reading.
uint64 walkaddr(pagetable_t pagetable, uint64 va)
{
  return userpage(pagetable, va, PTE_R);
}

// The current process has touched va, which has no mapping. If it lies in
// memory that sbrklazy reserved, gives it a page and returns its physical
// address; otherwise, and without memory, 0. Reading and writing are served
// alike, with a page that can be written.
uint64 vmfault(pagetable_t pagetable, uint64 va, int read)
{
  struct proc *p = myproc();
  uint64 page = PGROUNDDOWN(va);
  (void)read;

  if (pagetable != p->pagetable || va >= p->sz)
    return 0;
  pte_t *e = walk(pagetable, page, 0);
  if (e != 0 && (*e & PTE_V))
    return 0;  // the touch was forbidden, not early
  if (addpage(pagetable, page, PTE_R | PTE_W | PTE_U) < 0)
    return 0;
  return walkaddr(pagetable, page);
}

// Where the kernel finds the user's byte at va, or 0. *room becomes how many
// bytes, at most len, follow from there in the same page.
static char *reach(pagetable_t pagetable, uint64 va, int perm, uint64 len,
                   uint64 *room)
{
  uint64 pa = userpage(pagetable, va, perm);

  if (pa == 0 && va < MAXVA)
    pa = vmfault(pagetable, va, perm == PTE_R);
  if (pa == 0)
    return 0;
  uint64 rest = PGSIZE - va % PGSIZE;
  *room = rest < len ? rest : len;
  return (char *)pa + va % PGSIZE;
}

// Copies len bytes to user address dstva. 0; -1 when part of it is not memory
// that the process may write, and then the bytes before that are written.
int copyout(pagetable_t pagetable, uint64 dstva, const void *src, uint64 len)
{
  const char *from = src;

  for (uint64 n; len > 0; len -= n, dstva += n, from += n) {
    char *to = reach(pagetable, dstva, PTE_W, len, &n);
    if (to == 0)
      return -1;
    memmove(to, from, n);
  }
  return 0;
}

// Copies len bytes from user address srcva. 0; -1 when part of it is not
// memory that the process may read.
int copyin(pagetable_t pagetable, void *dst, uint64 srcva, uint64 len)
{
  char *to = dst;

  for (uint64 n; len > 0; len -= n, srcva += n, to += n) {
    char *from = reach(pagetable, srcva, PTE_R, len, &n);
    if (from == 0)
      return -1;
    memmove(to, from, n);
  }
  return 0;
}

// Copies a string from user address srcva, with its NUL, into max bytes. 0; -1
// when it does not end within them, or is not readable.
int copyinstr(pagetable_t pagetable, char *dst, uint64 srcva, uint64 max)
{
  for (uint64 n; max > 0; max -= n, srcva += n) {
    char *from = reach(pagetable, srcva, PTE_R, max, &n);
    if (from == 0)
      return -1;
    for (uint64 i = 0; i < n; i++)
      if ((*dst++ = from[i]) == 0)
        return 0;
  }
  return -1;
}
