// How often harts take the allocator's locks in a program, the student's kernel
// beside the one that the lab started from.
#ifndef GRADERS_LOCKRUN_H
#define GRADERS_LOCKRUN_H

#include "graders/public.h"
#include "labgen/base/buf.h"
#include "labgen/base/error.h"

// Boots both kernels, runs kchurn in each with acquisitions counted, and appends two
// tables to *ret, for people: for each lock that kalloc.c defines and each hart,
// acquisitions, and of these the ones that had to wait; and how many were of
// another CPU's list, by the number at the end of a lock's name. The student's
// tree is only read. `on_progress` is as in struct gather_spec.
//
// LG_EBUILD when the student's file does not compile, LG_EREFUSED when a boot did
// not come to its end, LG_ENOTFOUND when nothing here can count the course's
// locks, LG_EHARNESS, LG_EIO.
int lockrun_compare(const struct public_lab *lab, const char *dir,
                    void (*on_progress)(void *arg, const char *doing),
                    void *arg, struct buf *ret, struct error *err);

#endif
