// The terminal, a line at a time: echo, editing, and the keys that ask the
// kernel something.
//
//   Backspace, Ctrl-H   takes back a character
//   Ctrl-U              takes back the line
//   Ctrl-D              end of input
//   Ctrl-P              prints the processes (procdump)

#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "riscv.h"
#include "spinlock.h"
#include "sleeplock.h"
#include "proc.h"
#include "fs.h"
#include "file.h"
#include "defs.h"

#define CTRL(letter) ((letter) - '@')
#define DELETE 0x7f

enum { LINEROOM = 256, CHUNK = 64 };

// Input, as a ring. The three counts only grow; a position in the ring is a
// count modulo its size. Up to `taken` programs have read, up to `ready` they
// may read, and from there to `typed` is the line that can still be edited.
static struct {
  struct spinlock lock;
  char ring[LINEROOM];
  uint taken, ready, typed;
} cons;

// Sends one character, for printf and echo. No lock: see uartputc. After a
// panic on another hart, this one stops as well.
void consputc(int c)
{
  if (panicked)
    panic("after a panic");
  uartputc(c);
}

static void rubout(void)
{
  static const char erase[] = "\b \b";

  cons.typed--;
  for (int i = 0; erase[i] != 0; i++)
    consputc(erase[i]);
}

// Adds a typed character to the line; a full ring only has room for the
// character that ends it.
static void typed(int c)
{
  int ends = (c == '\n' || c == CTRL('D'));
  uint used = cons.typed - cons.taken;

  if (used >= LINEROOM || (used == LINEROOM - 1 && !ends))
    return;
  if (c != CTRL('D'))
    consputc(c);
  cons.ring[cons.typed++ % LINEROOM] = c;
  if (ends) {
    cons.ready = cons.typed;
    wakeup(&cons.ready);
  }
}

// A character has arrived at the UART. Runs in an interrupt.
void consoleintr(int c)
{
  acquire(&cons.lock);
  switch (c) {
  case CTRL('P'):
    procdump();
    break;
  case CTRL('U'):
    while (cons.typed != cons.ready)
      rubout();
    break;
  case CTRL('H'):
  case DELETE:
    if (cons.typed != cons.ready)
      rubout();
    break;
  case 0:
    break;
  default:
    typed(c == '\r' ? '\n' : c);
    break;
  }
  release(&cons.lock);
}

// Waits until there is a line, or part of one that an earlier read left. With
// cons.lock held. -1 if the process was killed meanwhile.
static int await_input(void)
{
  while (cons.taken == cons.ready) {
    if (killed(myproc()))
      return -1;
    sleep(&cons.ready, &cons.lock);
  }
  return 0;
}

// Reads up to n bytes to dst, at most to the end of the line. Returns how many,
// 0 at the end of input, -1 if dst is bad or the process was killed.
static int consoleread(int user_dst, uint64 dst, int n)
{
  int count = 0;

  acquire(&cons.lock);
  if (await_input() < 0) {
    release(&cons.lock);
    return -1;
  }
  while (count < n && cons.taken != cons.ready) {
    char c = cons.ring[cons.taken % LINEROOM];
    if (c == CTRL('D')) {
      // After other bytes it ends them; the next read finds it again, alone.
      cons.taken += count == 0;
      break;
    }
    if (either_copyout(user_dst, dst + count, &c, 1) < 0) {
      count = count > 0 ? count : -1;
      break;
    }
    cons.taken++;
    count++;
    if (c == '\n')
      break;
  }
  release(&cons.lock);
  return count;
}

// Writes n bytes from src. They go out in runs of CHUNK that do not mix with
// those of another process. Returns how many; -1 if the first run is bad.
static int consolewrite(int user_src, uint64 src, int n)
{
  char run[CHUNK];
  int done = 0;

  while (done < n) {
    int len = n - done < CHUNK ? n - done : CHUNK;
    if (either_copyin(run, user_src, src + done, len) < 0)
      return done > 0 ? done : -1;
    acquire(&cons.lock);
    for (int i = 0; i < len; i++)
      consputc(run[i]);
    release(&cons.lock);
    done += len;
  }
  return done;
}

void consoleinit(void)
{
  initlock(&cons.lock, "cons");
  uartinit();
  devsw[CONSOLE].read = consoleread;
  devsw[CONSOLE].write = consolewrite;
}
