// Files, directories and devices in memory. See fs.c for what guards what.
#ifndef FS_H
#define FS_H

#include "sleeplock.h"
#include "types.h"

#define BSIZE 1024   // bytes in a block
#define NBLOCK 4096  // blocks there are; the first one is never used
#define ROOTINO 1    // inode number of "/"; 0 in a directory entry means unused

struct inode {
  uint inum;  // number of the inode, for ever

  // inodes.lock must be held for these; but nlink changes only with names held
  // as well, and type, major and minor only while nobody refers to the inode
  int ref;      // references from open files, cwd and running system calls
  short nlink;  // names in directories
  short type;   // T_DIR, T_FILE, T_DEVICE, or 0: the inode is free
  short major;  // T_DEVICE: which device
  short minor;

  struct sleeplock lock;

  // lock must be held for these (what a directory adds: see fs.c)
  uint size;       // bytes of data
  ushort first;    // chain of the blocks with the data, 0 if there are none
  ushort last;     // its end
  ushort near;     // a block of the chain, where a search can begin, or 0
  uint nearindex;  // and its place in the chain
};

// A file to put into the root directory at boot. The linker brings them; the
// list ends with a name of 0.
struct imagefile {
  char *name;
  uchar *start;
  uchar *end;
};

extern struct imagefile imagefiles[];

#endif
