// Pipes: a ring of bytes in one page from kalloc, which both ends share and
// the second one to close gives back.
//
// Bytes are copied between the ring and user memory with the pipe's spinlock
// held, so that a count and its bytes always change together. That is allowed
// because copyin and copyout never sleep: a page that they find missing costs
// them a kalloc at most, and the lock of kalloc is always taken last.

#include "types.h"
#include "param.h"
#include "riscv.h"
#include "spinlock.h"
#include "proc.h"
#include "file.h"
#include "defs.h"

#define PIPESIZE 2048

enum { READER, WRITER };  // the ends

struct pipe {
  struct spinlock lock;

  // lock must be held for these
  int open[2];  // is that end still open?
  uint start;   // place of the oldest byte in the ring
  uint count;   // bytes in the ring
  char ring[PIPESIZE];
};

_Static_assert(sizeof(struct pipe) <= PGSIZE, "a pipe must fit into a page");

// Makes a pipe and a file for each of its ends. Returns 0, or -1 with nothing
// taken.
int pipealloc(struct file **rf, struct file **wf)
{
  struct file *end[2] = {filealloc(), filealloc()};
  struct pipe *pi = end[READER] && end[WRITER] ? kalloc() : 0;

  if (pi == 0) {
    for (int i = 0; i < 2; i++)
      if (end[i])
        fileclose(end[i]);
    return -1;
  }

  initlock(&pi->lock, "pipe");
  pi->start = pi->count = 0;
  for (int i = 0; i < 2; i++) {
    pi->open[i] = 1;
    end[i]->pipe = pi;
    end[i]->readable = i == READER;
    end[i]->writable = i == WRITER;
    end[i]->kind = FD_PIPE;
  }
  *rf = end[READER];
  *wf = end[WRITER];
  return 0;
}

// Closes one end. Who sleeps at the other one wakes up to see it.
void pipeclose(struct pipe *pi, int writable)
{
  int end = writable ? WRITER : READER;

  acquire(&pi->lock);
  pi->open[end] = 0;
  wakeup(&pi->open[!end]);
  int unused = !pi->open[READER] && !pi->open[WRITER];
  release(&pi->lock);
  if (unused)
    kfree(pi);
}

// Sleeps at one end of the pipe until the other end does something. Returns 0,
// or -1 if the process was killed. The lock must be held, and is held after.
static int waitat(struct pipe *pi, int end)
{
  if (killed(myproc()))
    return -1;
  sleep(&pi->open[end], &pi->lock);
  return 0;
}

// Moves as many of n bytes as it can without waiting, from the ring to user
// address addr (at the READER's end) or the other way (WRITER's), each time as
// long a run as neither leaves the array nor passes the other end. Returns the
// bytes moved, or -1 if the first of them met a bad address. The lock must be
// held.
static int transfer(struct pipe *pi, int end, uint64 addr, int n)
{
  pagetable_t pagetable = myproc()->pagetable;
  int moved = 0;

  while (moved < n) {
    uint at = (pi->start + (end == WRITER ? pi->count : 0)) % PIPESIZE;
    uint run = end == WRITER ? PIPESIZE - pi->count : pi->count;
    if (run > PIPESIZE - at)
      run = PIPESIZE - at;
    if (run > (uint)(n - moved))
      run = n - moved;
    if (run == 0)
      break;

    int r = end == WRITER
                ? copyin(pagetable, pi->ring + at, addr + moved, run)
                : copyout(pagetable, addr + moved, pi->ring + at, run);
    if (r < 0)
      return moved ? moved : -1;
    if (end == READER)
      pi->start = (pi->start + run) % PIPESIZE;
    pi->count += end == WRITER ? run : -run;
    moved += run;
  }
  if (moved)
    wakeup(&pi->open[!end]);
  return moved;
}

// Waits for at least one byte, and reads up to n to user address addr. Returns
// the bytes read, 0 if there will be no more, or -1 if the process was killed
// or the address is bad.
int piperead(struct pipe *pi, uint64 addr, int n)
{
  int r = 0;

  acquire(&pi->lock);
  while (n > 0 && r == 0 && pi->count == 0 && pi->open[WRITER])
    r = waitat(pi, READER);
  if (r == 0)
    r = transfer(pi, READER, addr, n);
  release(&pi->lock);
  return r;
}

// Writes n bytes from user address addr, and waits for room as often as
// needed. Returns n; or what was written until a bad address; or -1 if there
// is no reader, the process was killed, or the first address was bad.
int pipewrite(struct pipe *pi, uint64 addr, int n)
{
  int done = 0, r = 0;

  acquire(&pi->lock);
  while (done < n && r >= 0) {
    if (!pi->open[READER]) {
      r = -1;
    } else if (pi->count == PIPESIZE) {
      r = waitat(pi, WRITER);
    } else {
      int moved = transfer(pi, WRITER, addr + done, n - done);
      if (moved < 0)
        break;  // a bad address; what came before it stays written
      done += moved;
    }
  }
  release(&pi->lock);
  return r < 0 || (done == 0 && n > 0) ? -1 : done;
}
