// The QEMU plugin (graders/plugin/) from the outside: telling it what to watch
// in a kernel, and reading what it tells.
#ifndef GRADERS_PLUGIN_H
#define GRADERS_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graders/object.h"
#include "labgen/base/buf.h"
#include "labgen/base/error.h"

#define PLUGIN_HARTS_MAX 16

// ---- telling it what to watch -----------------------------------------------

// Finds the plugin: $LABGEN_PLUGIN ("none": none), or plugin.so in the data folder or in its
// build/. *ret_path is the caller's. LG_ENOTFOUND when the build made none,
// since the installed QEMU takes no plugin of a version that we know.
int plugin_find(char **ret_path, struct error *err);

// The version of QEMU's plugin interface that a plugin was built for; 0 when
// the file cannot be loaded.
int plugin_api(const char *path);

struct plugin_spec {
  const char *plugin;           // path of plugin.so
  const struct binary *kernel;  // with symbols acquire, release and procdump
  const struct binary
      *object;  // count the atomic instructions of the functions
                // that this object file gave it; NULL: of none
  // Addresses of devices, each "FIRST-LAST": whether the student's code writes
  // to them, and to the console (graders/writers.h). NULL: is not watched.
  const struct texts *devices;
  const char *quiet;  // variable; locks inside it count as no work; or NULL
  const char *out;    // where it writes: a file, a FIFO, a listening socket
};

// Appends the value of QEMU's -plugin argument. LG_EINPUT when the kernel lacks
// a symbol or its spinlocks have an unknown form.
int plugin_argument(const struct plugin_spec *spec, struct buf *ret,
                    struct error *err);

// ---- reading what it tells --------------------------------------------------

// What one hart did with one lock during an interval.
struct lock_use {
  uint64_t lock;  // address
  unsigned hart;
  uint64_t acquired;
  uint64_t contended;  // acquisitions that failed at least once before
  uint64_t spins;      // attempts that failed
  uint64_t longest;    // most spins of one acquisition
};

// How often one hart ran atomic instructions of the watched object on one
// address.
struct atomic_use {
  uint64_t address;
  unsigned hart;
  uint64_t times;
};

// What an instruction of the student's code did to the device at an address, or,
// where that is 0, how many bytes it made the kernel's driver send.
struct foreign_use {
  uint64_t pc, address, times;
};

// From the start, or the Ctrl-P before, to a Ctrl-P or the end.
struct plugin_interval {
  uint64_t number;  // from 1
  int64_t end_ms;   // since QEMU's start
  bool complete;    // its last line has come
  uint64_t user_instructions[PLUGIN_HARTS_MAX];
  struct lock_use *locks;
  size_t lock_count, lock_room;
  struct atomic_use *atomics;
  size_t atomic_count, atomic_room;
  uint64_t lost;  // events that found a table full
};

// A hart of a circle of waits: it holds a lock and waits for another.
struct plugin_wait {
  unsigned hart;
  uint64_t holds, awaits;
};

// A wait of more than a second.
struct plugin_stuck {
  int64_t ms;
  unsigned hart;
  uint64_t lock;
  int holder;         // hart, or -1
  uint64_t attempts;  // so far
};

// Work since the start, which does not depend on the speed of the host.
struct plugin_work {
  int64_t ms;  // since QEMU's start; 0: nothing has come yet
  uint64_t user_instructions[PLUGIN_HARTS_MAX];
  uint64_t acquisitions[PLUGIN_HARTS_MAX];  // without quiet locks
};

// A zeroed struct is "has told nothing".
struct plugin_report {
  int api;  // version of the interface; 0 until it said hello
  unsigned harts;
  struct plugin_interval *intervals;
  size_t interval_count, interval_room;
  struct plugin_wait circle[PLUGIN_HARTS_MAX];  // a deadlock
  size_t circle_len;                            // 0: none was seen
  int64_t circle_ms;
  struct plugin_stuck *stuck;
  size_t stuck_count, stuck_room;
  struct foreign_use *foreign;  // in all
  size_t foreign_count, foreign_room;
  uint64_t sent;  // bytes that the kernel's driver sent to the console, in all
  struct plugin_work work;
  bool ended;  // QEMU ended in order, and the last interval is here
  struct buf partial;
};

// Takes bytes as they come from the plugin. LG_EHARNESS when they are not what
// it writes.
int plugin_report_feed(struct plugin_report *r, const char *bytes, size_t len,
                       struct error *err);

// Safe on a zeroed struct.
void plugin_report_release(struct plugin_report *r);

// A FIFO for the plugin to write to, and the report that grows from it.
struct plugin_channel {
  char *path;  // owned; for plugin_spec.out
  int fd;
  struct plugin_report report;
};

// Makes the FIFO `name` in a folder. LG_EIO.
int plugin_channel_open(const char *folder, const char *name,
                        struct plugin_channel *ret, struct error *err);

// Reads what is there, without waiting. To be called several times a second
// while QEMU runs (the plugin waits when the FIFO is full), and once when it
// has ended. LG_EHARNESS, LG_EIO.
int plugin_channel_read(struct plugin_channel *c, struct error *err);

// Removes the FIFO and frees the report.
void plugin_channel_close(struct plugin_channel *c);

#endif
