// A guest's memory, seen from outside while it runs and after it has hung: QEMU
// keeps it in a file that is mapped here as well. Nothing in the guest can tell,
// and nothing is asked of it.
#ifndef GRADERS_GUEST_H
#define GRADERS_GUEST_H

#include <stddef.h>
#include <stdint.h>

#include "labgen/base/error.h"

// Where QEMU's "virt" machine has its RAM.
#define GUEST_RAM 0x80000000UL

struct guest {
  char *path;  // owned; of the file, in memory (/dev/shm) where there is room
  const unsigned char *bytes;
  size_t len;
  char *machine, *object;  // owned; values of QEMU's options
  const char *args[5];     // for struct boot_spec's `extra`
};

// Makes a folder for the files of one boot, in memory where there is room for
// the guest's, and removes those that killed processes left. The caller owns
// *ret and removes the folder. LG_EIO.
int guest_folder(unsigned memory_mib, char **ret, struct error *err);

// Makes the memory of a machine, in a folder (NULL: a place in memory).
// LG_EHARNESS.
int guest_open(unsigned memory_mib, const char *folder, struct guest *ret,
               struct error *err);

// Removes the file; after the boot is released. Safe on a zeroed struct.
void guest_close(struct guest *g);

// Copies `len` bytes at a physical address, and so at the same address of the
// kernel, into `ret`. Returns 0, or -1 where the guest has no such memory.
int guest_copy(const struct guest *g, uint64_t address, size_t len, void *ret);

#endif
