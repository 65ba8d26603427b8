// Who wrote to the console of a boot, and to devices: what the QEMU plugin must
// watch for it, and what is said of what it saw.
#ifndef GRADERS_WRITERS_H
#define GRADERS_WRITERS_H

#include "graders/object.h"
#include "graders/plugin.h"
#include "graders/stock.h"
#include "labgen/base/buf.h"

// Appends the places of a linked kernel that the plugin must watch to know, as
// arguments of the plugin; nothing where the kernel does not say which code is
// the student's, or lacks something without which the plugin would err.
// `devices` are addresses, each "FIRST-LAST".
void writers_places(const struct binary *kernel, const struct texts *devices,
                    struct buf *ret);

// Whether the places are known.
bool writers_known(const struct binary *kernel);

// Appends a line for each thing that code of the student's did to the console
// and to devices, with the function and line that did it; nothing when all was
// the kernel's own. `kernel_path` is the kernel's file, `bytes` are those that
// came to the console. Names are of the student's file: hostile.
void writers_tell(const struct plugin_report *report,
                  const struct binary *kernel, const char *kernel_path,
                  const struct stock *stock, uint64_t bytes, struct buf *ret);

#endif
