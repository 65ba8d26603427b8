// exec: a new memory image for the calling process, from an ELF file. The old
// image is given up only when the new one is complete, so a failure leaves the
// process as it was. The file may say anything; nothing in it is believed
// before it was checked against the file's size and the address space.

#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "riscv.h"
#include "spinlock.h"
#include "sleeplock.h"
#include "proc.h"
#include "stat.h"
#include "fs.h"
#include "elf.h"
#include "defs.h"

// Pages of the stack, and one below it that no user access may touch.
#define STACKROOM ((USERSTACK + 1L) * PGSIZE)

// The highest address that a segment may end at: the stack comes behind it.
#define MAXSEGMENT (TRAPFRAME - STACKROOM)

// An image in the making.
struct image {
  pagetable_t pagetable;
  uint64 size;   // bytes, from address 0
  uint64 entry;  // first instruction
  uint64 sp;     // address of argv
};

// Reads exactly n bytes of the file at off into kernel memory. Returns 0 or -1.
static int fetch(struct inode *ip, uint64 off, void *dst, uint64 n)
{
  if (off > ip->size || n > ip->size - off)
    return -1;
  return readi(ip, 0, (uint64)dst, off, n) == (int)n ? 0 : -1;
}

// Grows the image up to the address end with pages of zeros that the user can
// read, and perm besides. Returns 0 or -1.
static int grow(struct image *im, uint64 end, int perm)
{
  uint64 start = PGROUNDUP(im->size);

  if (end > start && uvmalloc(im->pagetable, start, end, perm) == 0)
    return -1;
  if (end > im->size)
    im->size = end;
  return 0;
}

// Puts a segment into the image. Segments start on page boundaries and come in
// ascending order; pages between two of them can only be read. Returns 0 or -1.
static int addsegment(struct image *im, struct inode *ip,
                      struct elfsegment *seg)
{
  uint64 va = seg->p_vaddr;
  int perm =
      (seg->p_flags & PF_W ? PTE_W : 0) | (seg->p_flags & PF_X ? PTE_X : 0);

  if (va % PGSIZE || va < PGROUNDUP(im->size) || va > MAXSEGMENT ||
      seg->p_memsz > MAXSEGMENT - va || seg->p_filesz > seg->p_memsz)
    return -1;
  if (grow(im, va, 0) < 0 || grow(im, va + seg->p_memsz, perm) < 0)
    return -1;

  // By physical address, since the user may have no right to write there.
  for (uint64 done = 0; done < seg->p_filesz; done += PGSIZE) {
    uint64 n = seg->p_filesz - done;
    if (fetch(ip, seg->p_offset + done,
              (void *)walkaddr(im->pagetable, va + done),
              n < PGSIZE ? n : PGSIZE) < 0)
      return -1;
  }
  return 0;
}

// Loads the program in a file. Returns 0 or -1.
static int load(struct image *im, struct inode *ip)
{
  struct elfheader head;
  struct elfsegment seg;

  if (ip->type != T_FILE || fetch(ip, 0, &head, sizeof(head)) < 0 ||
      memcmp(head.e_ident, ELF_IDENT, ELF_IDENT_LEN) != 0 ||
      head.e_type != ET_EXEC || head.e_machine != EM_RISCV ||
      head.e_phentsize != sizeof(seg) || head.e_phoff > ip->size)
    return -1;

  for (int i = 0; i < head.e_phnum; i++) {
    if (fetch(ip, head.e_phoff + i * sizeof(seg), &seg, sizeof(seg)) < 0)
      return -1;
    if (seg.p_type == PT_LOAD && seg.p_memsz > 0 &&
        addsegment(im, ip, &seg) < 0)
      return -1;
  }
  im->entry = head.e_entry;
  return 0;
}

// Adds the stack, and at its top the arguments: first the array of pointers
// with a null one at its end, then the strings. Returns the number of
// arguments, or -1 if there are too many or they do not fit.
static int addstack(struct image *im, char **argv)
{
  uint64 guard = PGROUNDUP(im->size), top = guard + STACKROOM;
  uint64 bytes = 0;
  int argc = 0;

  if (grow(im, top, PTE_W) < 0)
    return -1;
  uvmclear(im->pagetable, guard);

  for (; argv[argc]; argc++) {
    if (argc == MAXARG)
      return -1;
    bytes += strlen(argv[argc]) + 1;
  }
  uint64 strings = (argc + 1) * sizeof(uint64);
  if (strings + bytes + 15 > USERSTACK * PGSIZE)
    return -1;
  im->sp = (top - strings - bytes) & ~15UL;  // the ABI's alignment

  uint64 string = im->sp + strings;
  for (int i = 0; i <= argc; i++) {
    uint64 pointer = i < argc ? string : 0;
    if (copyout(im->pagetable, im->sp + i * sizeof(pointer), &pointer,
                sizeof(pointer)) < 0)
      return -1;
    if (i < argc) {
      uint64 len = strlen(argv[i]) + 1;
      if (copyout(im->pagetable, string, argv[i], len) < 0)
        return -1;
      string += len;
    }
  }
  return argc;
}

// Makes an image of the program in the file and the arguments. Returns the
// number of arguments, or -1 with nothing taken.
static int build(struct image *im, struct inode *ip, char **argv)
{
  int argc = -1;

  *im = (struct image){.pagetable = proc_pagetable(myproc())};
  if (im->pagetable == 0)
    return -1;
  ilock(ip);
  int loaded = load(im, ip);
  iunlock(ip);
  if (loaded == 0)
    argc = addstack(im, argv);
  if (argc < 0)
    proc_freepagetable(im->pagetable, im->size);
  return argc;
}

// Replaces the calling process's program by the one at path. argv is an array
// of kernel strings that ends with a null pointer. Returns the number of
// arguments, which the system call hands to main, or -1 with the process as it
// was.
int kexec(char *path, char **argv)
{
  struct proc *p = myproc();
  struct image im;
  const char *name = path;

  struct inode *ip = namei(path);
  if (ip == 0)
    return -1;
  int argc = build(&im, ip, argv);
  iput(ip);
  if (argc < 0)
    return -1;

  for (const char *c = path; *c; c++)
    if (c[0] == '/' && c[1] != 0)
      name = c + 1;
  safestrcpy(p->name, name, sizeof(p->name));

  pagetable_t oldtable = p->pagetable;
  uint64 oldsize = p->sz;
  p->pagetable = im.pagetable;
  p->sz = im.size;
  p->trapframe->epc = im.entry;
  p->trapframe->sp = im.sp;
  p->trapframe->a1 = im.sp;
  proc_freepagetable(oldtable, oldsize);
  return argc;
}
