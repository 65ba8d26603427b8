#ifndef FILE_H
#define FILE_H

#include "param.h"
#include "types.h"

enum filekind { FD_NONE, FD_PIPE, FD_INODE, FD_DEVICE };

// An open file. Descriptors that came from one open by dup or fork share it,
// and with it the offset.
struct file {
  int ref;  // descriptors that refer to it; ftable.lock must be held
  enum filekind kind;
  char readable;
  char writable;
  struct pipe *pipe;  // FD_PIPE
  struct inode *ip;   // FD_INODE and FD_DEVICE
  uint off;           // FD_INODE: the next byte; ip->lock must be held
};

// What the driver of a device offers. Both functions return the bytes moved,
// or -1; the address is the user's if the first argument is 1.
struct devsw {
  int (*read)(int user_dst, uint64 dst, int n);
  int (*write)(int user_src, uint64 src, int n);
};

extern struct devsw devsw[NDEV];  // by major number

#define CONSOLE 1

#endif
