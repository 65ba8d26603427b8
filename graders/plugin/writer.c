// Follows calls into the code under watch. It does not know where such code or
// the driver is (plugin.c), nor what bytes were sent: registers and memory are
// not to be had in this version of QEMU's interface.
#include "graders/plugin/writer.h"

#include <pthread.h>

#include "graders/plugin/hart.h"

enum { DEVICES_MAX = 16, BROKEN_OFF_MAX = 256 };

// Written and read by the hart's own thread alone.
static struct {
  bool inside;     // in a call into the code under watch
  bool asked;      // by Ctrl-P
  bool panicking;  // what follows is the panic's text
  uint64_t call;   // the last call or jump that led out of, or into, the code
} writers[HARTS_MAX];

// Calls that interrupts have broken off. Hardly ever more than one, since an
// allocator runs with interrupts off.
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct {
  uint64_t stack;  // 0: not in use
  uint64_t call;
} broken_off[BROKEN_OFF_MAX];

static uint64_t uart;
static struct {
  uint64_t first, last;
} devices[DEVICES_MAX];
static unsigned device_count;
static uint64_t lowest = UINT64_MAX, highest;  // of all devices

void writer_set_uart(uint64_t address)
{
  uart = address;
}

bool writer_add_device(uint64_t first, uint64_t last)
{
  if (device_count == DEVICES_MAX)
    return false;
  devices[device_count].first = first;
  devices[device_count++].last = last;
  lowest = first < lowest ? first : lowest;
  highest = last > highest ? last : highest;
  return true;
}

void writer_enters(unsigned id, uint64_t pc)
{
  writers[id].inside = true;
  writers[id].call = pc;
}

void writer_leaves(unsigned id)
{
  writers[id].inside = false;
}

// Code under watch that calls the console's interrupt handler itself does not
// answer Ctrl-P.
void writer_is_asked(unsigned id)
{
  writers[id].asked = !writers[id].inside;
}

void writer_has_answered(unsigned id)
{
  writers[id].asked = false;
}

void writer_panics(unsigned id)
{
  writers[id].panicking = true;
}

void writer_calls(unsigned id, uint64_t pc)
{
  writers[id].call = pc;
}

void writer_stores(unsigned id, uint64_t pc, uint64_t address)
{
  if (address < lowest || address > highest)
    return;
  for (unsigned i = 0; i < device_count; i++)
    if (address >= devices[i].first && address <= devices[i].last)
      hart_foreign(id, pc, address);
}

void writer_is_interrupted(unsigned id, uint64_t stack)
{
  bool kept = !writers[id].inside;

  pthread_mutex_lock(&guard);
  for (unsigned i = 0; i < BROKEN_OFF_MAX; i++)
    if (broken_off[i].stack == stack)
      broken_off[i].stack = 0;
  for (unsigned i = 0; i < BROKEN_OFF_MAX && !kept; i++) {
    if (broken_off[i].stack != 0)
      continue;
    broken_off[i].stack = stack;
    broken_off[i].call = writers[id].call;
    kept = true;
  }
  pthread_mutex_unlock(&guard);
  writers[id].inside = false;
}

void writer_goes_on(unsigned id, uint64_t stack)
{
  writers[id].inside = false;
  pthread_mutex_lock(&guard);
  for (unsigned i = 0; i < BROKEN_OFF_MAX; i++) {
    if (broken_off[i].stack != stack)
      continue;
    broken_off[i].stack = 0;
    writers[id].inside = true;
    writers[id].call = broken_off[i].call;
  }
  pthread_mutex_unlock(&guard);
}

void writer_sends(unsigned id, uint64_t address)
{
  if (address != uart)
    return;
  add(&harts[id].sent, 1);
  if (writers[id].inside && !writers[id].asked && !writers[id].panicking)
    hart_foreign(id, writers[id].call, 0);
}
