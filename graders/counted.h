// The QEMU plugin in one boot: who waits for whom while it runs, and the lock
// report of each interval at the end. Where there is no plugin for the installed
// QEMU, it counts nothing, and nothing is missing but the report.
#ifndef GRADERS_COUNTED_H
#define GRADERS_COUNTED_H

#include <stdbool.h>

#include "graders/guest.h"
#include "graders/object.h"
#include "graders/plugin.h"
#include "labgen/base/buf.h"
#include "labgen/base/error.h"

struct counted {
  bool on;
  struct plugin_channel channel;
  struct buf argument;  // for struct boot_spec's `plugin`
  char *plugin;         // owned; its file, for a sandbox to show; NULL: none
};

// Prepares the plugin for a kernel, its channel in `folder`. LG_EIO; a plugin
// that is not there, or that does not know this kernel, is no error.
int counted_open(const char *folder, const struct binary *kernel,
                 struct counted *ret, struct error *err);

// Takes what the plugin has told; to be called several times a second. Whether
// harts wait for each other in a circle that lasts.
bool counted_circle(struct counted *c);

// Appends the lock report of each interval that ended with a Ctrl-P. Names are
// read from guest memory as it is now.
void counted_report(struct counted *c, const struct binary *kernel,
                    const struct guest *guest, struct buf *ret);

// Safe on a zeroed struct.
void counted_close(struct counted *c);

#endif
