// Kernels made of the course's tree and a student's parts: a submission compiles
// its own kalloc.c (and proc.c where the Ctrl-P line changes it) and links.
//
// The student's object is compiled once and is the same, byte by byte, in both
// kernels: the plain one, and the watched one with the trusted files of
// graders/watch/ linked round it.
#ifndef GRADERS_KERNEL_H
#define GRADERS_KERNEL_H

#include "graders/stock.h"
#include "labgen/base/error.h"
#include "labgen/lab/tree.h"

// Paths of one submission's files, in the cache; all owned.
struct kernel_pair {
  char *key;
  char *dir;
  char *object;        // the student's kalloc.o
  char *plain;         // the kernel as the student would build it
  char *watched;       // with the watchers
  char *disassembly;   // objdump -d of the object
  char *preprocessed;  // the student's file, for the explorer
  char *shared;        // proc.o, NULL where the course's was linked
  char *shared_disassembly;
};

// Compiles and links the kernels of a spliced tree (the course's tree with the
// student's parts), or finds them in the cache. LG_EBUILD with the compiler's
// words: it is the submission that does not compile or link.
int kernel_pair_build(const struct stock *c, const struct tree *spliced,
                      struct kernel_pair *ret, struct error *err);

// Links the plain kernel once more with counters of lock acquisitions in it
// (graders/watch/count.c), for a QEMU that takes no plugin. *ret is the path,
// the caller's. LG_EBUILD where the course's tree has no such locks, LG_EIO.
int kernel_counted(const struct stock *c, const struct kernel_pair *k,
                   char **ret, struct error *err);

// Safe on a zeroed struct.
void kernel_pair_release(struct kernel_pair *k);

#endif
