// What the plugin counted, with the locks' names: the lock report, and the
// traffic on lists that belong to CPUs.
#ifndef GRADERS_LOCKS_H
#define GRADERS_LOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "graders/guest.h"
#include "graders/object.h"
#include "graders/plugin.h"
#include "labgen/base/buf.h"

#define LOCK_NAME_BYTES 32

struct lock_name {
  uint64_t lock;
  // The name that initlock() was given, when it is short and printable ASCII,
  // with _ for a blank.
  // Otherwise a name that no lock can have, in brackets: "[kmem+0x30]" for a
  // place in a variable of the kernel, or "[0x87f5a000]".
  char name[LOCK_NAME_BYTES];
};

// Sorted by address.
struct lock_names {
  struct lock_name *names;  // owned
  size_t count, room;
};

// Looks up the names of all locks of an interval in guest memory, as it is now:
// the lock of a pipe that has gone since has none. `guest` may be NULL. *ret is
// the caller's (lock_names_release()).
void lock_names_read(const struct plugin_interval *interval,
                     const struct binary *kernel, const struct guest *guest,
                     struct lock_names *ret);

// Safe on a zeroed struct.
void lock_names_release(struct lock_names *n);

// The name of a lock of the interval; borrowed.
const char *lock_names_find(const struct lock_names *n, uint64_t lock);

// Appends the lock report, as a counter in the kernel would print it: a line
// for each name, locks of the same name added up, then one for each hart and
// name; the most acquired first.
//   LS kmem0 acq 530711 contended 0 spins 0 maxspins 0
//   LSH hart 2 kmem2 acq 264176 contended 0 spins 0
void locks_print(const struct plugin_interval *interval,
                 const struct lock_names *n, struct buf *ret);

// Acquisitions of the locks that have `prefix` and a number as their name, such
// as kmem3: the list of the CPU with that number. `shared` are those of locks
// with the prefix and no number.
struct lock_traffic {
  uint64_t acquired;  // all of them
  uint64_t remote;    // by another hart than the number's
  uint64_t shared;
  uint64_t contended, spins;
};

void locks_traffic(const struct plugin_interval *interval,
                   const struct lock_names *n, const char *prefix,
                   struct lock_traffic *ret);

#endif
