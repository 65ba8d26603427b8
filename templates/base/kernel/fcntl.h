#ifndef FCNTL_H
#define FCNTL_H

// How open is to open a file: one of the first three, and what else applies.
#define O_RDONLY 0
#define O_WRONLY 1
#define O_RDWR 2
#define O_TRUNC 0x400   // empty it
#define O_CREATE 0x200  // make it if it is not there

#endif
