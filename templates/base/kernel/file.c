// Open files: what a descriptor refers to, and the way from read() and write()
// to a pipe, to a file's data or to a device.

#include "types.h"
#include "param.h"
#include "riscv.h"
#include "spinlock.h"
#include "sleeplock.h"
#include "proc.h"
#include "stat.h"
#include "fs.h"
#include "file.h"
#include "defs.h"

struct devsw devsw[NDEV];

// A slot is free if it has neither references nor a kind. The lock guards the
// counts and the choice of a slot; the rest of a file is set before a
// descriptor leads to it, and stays.
static struct {
  struct spinlock lock;
  struct file file[NFILE];
} ftable;

void fileinit(void)
{
  initlock(&ftable.lock, "ftable");
}

// Takes a free slot, as a file of no kind with one reference. Returns 0 if the
// table is full.
struct file *filealloc(void)
{
  struct file *found = 0;

  acquire(&ftable.lock);
  for (int i = 0; i < NFILE && found == 0; i++) {
    struct file *f = &ftable.file[i];
    if (f->ref == 0 && f->kind == FD_NONE) {
      *f = (struct file){.ref = 1};
      found = f;
    }
  }
  release(&ftable.lock);
  return found;
}

// Changes the number of references. Returns the new number.
static int addref(struct file *f, int change)
{
  acquire(&ftable.lock);
  int ref = f->ref += change;
  release(&ftable.lock);
  return ref;
}

// One more reference to f. Returns f.
struct file *filedup(struct file *f)
{
  addref(f, 1);
  return f;
}

// Gives up a reference; the last one closes the file.
void fileclose(struct file *f)
{
  if (addref(f, -1) > 0)
    return;
  // Nobody has the file now, and its kind keeps the slot from being taken.
  if (f->kind == FD_PIPE)
    pipeclose(f->pipe, f->writable);
  else if (f->kind != FD_NONE)
    iput(f->ip);
  acquire(&ftable.lock);
  f->kind = FD_NONE;
  release(&ftable.lock);
}

// The driver behind a device file; a number without one gives an empty entry.
static struct devsw driver(struct file *f)
{
  int major = f->ip->major;
  return major >= 0 && major < NDEV ? devsw[major] : (struct devsw){0};
}

// Moves data between a driver and user address addr, if there is a driver.
static int ask(int (*call)(int, uint64, int), uint64 addr, int n)
{
  return call ? call(1, addr, n) : -1;
}

// Moves data between a file, from its offset on, and user address addr, and
// the offset past what was moved. move is readi or writei.
static int advance(struct file *f,
                   int (*move)(struct inode *, int, uint64, uint, uint),
                   uint64 addr, int n)
{
  struct inode *ip = f->ip;

  ilock(ip);
  int done = move(ip, 1, addr, f->off, n);
  f->off += done > 0 ? done : 0;
  iunlock(ip);
  return done;
}

// Reads up to n bytes to user address addr. Returns the bytes read, 0 at the
// end, or -1.
int fileread(struct file *f, uint64 addr, int n)
{
  if (!f->readable || n < 0)
    return -1;
  switch (f->kind) {
  case FD_PIPE:
    return piperead(f->pipe, addr, n);
  case FD_DEVICE:
    return ask(driver(f).read, addr, n);
  default:
    return advance(f, readi, addr, n);
  }
}

// Writes n bytes from user address addr. Returns the bytes written, fewer than
// n only if something ran out or failed on the way, or -1.
int filewrite(struct file *f, uint64 addr, int n)
{
  if (!f->writable || n < 0)
    return -1;
  switch (f->kind) {
  case FD_PIPE:
    return pipewrite(f->pipe, addr, n);
  case FD_DEVICE:
    return ask(driver(f).write, addr, n);
  default:
    return advance(f, writei, addr, n);
  }
}

// Copies a struct stat to user address addr. Returns 0, or -1 if the file has
// no inode or the address is bad.
int filestat(struct file *f, uint64 addr)
{
  struct stat st;

  if (f->kind == FD_PIPE)
    return -1;
  stati(f->ip, &st);
  return copyout(myproc()->pagetable, addr, &st, sizeof(st));
}
