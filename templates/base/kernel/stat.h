#ifndef STAT_H
#define STAT_H

#include "types.h"

#define T_DIR 1
#define T_FILE 2
#define T_DEVICE 3

// What fstat tells about an open file.
struct stat {
  uint64 size;  // bytes
  uint ino;     // number of the inode
  int dev;      // always 1: there is one file system
  short nlink;  // names that refer to it
  short type;   // T_DIR, T_FILE or T_DEVICE
};

// What reading a directory yields: entries of this form, unused ones with
// inum 0. A name of full length has no NUL.
#define DIRSIZ 14
struct dirent {
  ushort inum;
  char name[DIRSIZ];
};

#endif
