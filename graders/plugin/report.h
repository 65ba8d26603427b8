// What the plugin tells, and the thread that looks for harts that stand still.
//
// Lines of ASCII, each written at once. Numbers are decimal, addresses
// hexadecimal without 0x, MS is milliseconds since the start. graders/plugin.c
// reads them:
//
//   labgen-plugin 1 api API harts N
//   work MS INSTRUCTIONS ACQUISITIONS ...       a pair for each hart, 4 a second
//   interval NUMBER MS                          what follows belongs to it
//   user HART INSTRUCTIONS
//   lock HART ADDRESS ACQUIRED CONTENDED SPINS LONGEST
//   atomic HART ADDRESS TIMES
//   foreign HART PC ADDRESS TIMES               what writer.h tells; ADDRESS is
//                                               the device's, or 0
//   sent HART BYTES                             to the console, by the driver
//   lost HART EVENTS                            a table was full
//   end NUMBER
//   deadlock MS N HART HOLDS AWAITS ...         three words for each of N harts
//   stuck MS HART LOCK HOLDER ATTEMPTS          HOLDER is a hart or -
//   bye MS                                      QEMU ended in order
//
// Only rows that changed in the interval are there. A hart's counts change
// while another's thread prints them; what is missed belongs to the next
// interval, and nothing is counted twice.
#ifndef LABGEN_PLUGIN_REPORT_H
#define LABGEN_PLUGIN_REPORT_H

#include <stdbool.h>

// Opens what the lines go to: a file, a FIFO, or a socket that listens. False
// with errno when that fails.
bool report_open(const char *path);

// Says hello and starts the watching thread. False when there is no thread.
bool report_start(int api);

// Tells the counts of the interval that ends here, and begins the next.
void report_interval(void);

// The last interval, and goodbye.
void report_end(void);

#endif
