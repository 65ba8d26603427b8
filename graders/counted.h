// Counting lock acquisitions in one boot: by the QEMU plugin, which sees who
// waits for whom and who writes to the console as well, or where there is none
// for the installed QEMU, by counters in a kernel that has them
// (kernel_counted()).
#ifndef GRADERS_COUNTED_H
#define GRADERS_COUNTED_H

#include <stdbool.h>

#include "graders/guest.h"
#include "graders/kernel.h"
#include "graders/object.h"
#include "graders/plugin.h"
#include "graders/stock.h"
#include "labgen/base/buf.h"
#include "labgen/base/error.h"

struct counted {
  bool plugged;
  struct plugin_channel channel;
  struct buf argument;   // for struct boot_spec's `plugin`
  char *plugin;          // owned; its file, for a sandbox to show; NULL: none
  uint64_t counters_at;  // address in the kernel; 0: it has none
  struct plugin_report from_kernel;
};

// The plain kernel of a pair, or where there is no plugin, the one that counts.
// The path is the caller's.
char *counted_kernel(const struct stock *stock, const struct kernel_pair *pair);

// Prepares counting for a kernel, by the plugin in preference, its channel in
// `folder`; `devices` are addresses that a student's code must not touch, each
// "FIRST-LAST" (NULL: that is not watched). LG_EIO; where neither can count, nothing is counted, which is no
// error.
int counted_open(const char *folder, const struct binary *kernel,
                 const struct texts *devices, struct counted *ret,
                 struct error *err);

// As counted_open(), by the kernel's own counters.
void counted_open_inside(const struct binary *kernel, struct counted *ret);

// Takes what the plugin has told; to be called several times a second. Whether
// harts wait for each other in a circle that lasts.
bool counted_circle(struct counted *c);

// The intervals so far, borrowed; the last is not complete while the kernel
// runs. `guest` is the memory as it is now.
const struct plugin_interval *counted_intervals(struct counted *c,
                                                const struct guest *guest,
                                                size_t *ret_count);

// Appends the lock report of each interval that ended with a Ctrl-P. Names are
// read from guest memory as it is now.
void counted_report(struct counted *c, const struct binary *kernel,
                    const struct guest *guest, struct buf *ret);

// Appends what the student's code did to the console and to devices, when QEMU
// has ended; as writers_tell().
void counted_tampering(struct counted *c, const struct binary *kernel,
                       const char *kernel_path, const struct stock *stock,
                       uint64_t bytes, struct buf *ret);

// Safe on a zeroed struct.
void counted_close(struct counted *c);

#endif
