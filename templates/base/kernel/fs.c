// The file system. It lives in memory and is gone when the machine stops; at
// boot it holds the files that were linked into the kernel. Data sits in a
// fixed pool of blocks, never in pages from kalloc, so that files do not
// change the number of free pages. A file is a chain of blocks: next[] leads
// from each one to the one behind it. That suits a system without lseek, where
// files are read and written from front to back. There are no holes.
//
// Locks, in the order in which they are taken:
//
//   names        (sleep) the tree: held from the first step of a path until
//                the operation on its last name is done. While it is held no
//                name appears or goes, so a walk needs no references.
//   inode.lock   (sleep) size and blocks of one inode. A process holds one
//                at a time.
//   inodes.lock  (spin) ref, nlink and type of every inode, and which of them
//                are free
//   pool.lock    (spin) the free blocks
//
// The contents of a directory change only with both names and its inode.lock
// held, so either of them is enough to read it: path walks have the first,
// read() has the second. An inode is freed when nothing refers to it and no
// directory has a name for it. Nobody can reach it then, so freeing takes none
// of the sleep locks, and iput never sleeps.

#include "types.h"
#include "param.h"
#include "riscv.h"
#include "spinlock.h"
#include "sleeplock.h"
#include "proc.h"
#include "stat.h"
#include "fs.h"
#include "defs.h"

#define MAXLINK 32767  // what the nlink of an inode can count to

static struct sleeplock names;

static struct {
  struct spinlock lock;
  struct inode all[NINODE];
} inodes;

static struct {
  struct spinlock lock;
  ushort free;          // chain of the free blocks
  ushort next[NBLOCK];  // of a block in use: guarded as its inode's blocks are
  uchar data[NBLOCK][BSIZE] __attribute__((aligned(16)));
} pool;

// Where a path leads.
struct place {
  struct inode *dir;  // directory of the last name; 0 if the path has no names
  struct inode *ip;   // what the path names, 0 if there is no such entry
  uint slot;          // offset in dir of the entry, or of where a new one goes
  char name[DIRSIZ];  // the last name; no NUL if it fills the array
};

// ---- blocks ----------------------------------------------------------------

// Takes a block from the pool, with anything in it. Returns 0 if none is left.
static ushort takeblock(void)
{
  acquire(&pool.lock);
  ushort b = pool.free;
  pool.free = pool.next[b];  // the chain ends with block 0, which leads to 0
  release(&pool.lock);
  pool.next[b] = 0;
  return b;
}

// Gives the chain of blocks from first to last back to the pool.
static void giveblocks(ushort first, ushort last)
{
  acquire(&pool.lock);
  pool.next[last] = pool.free;
  pool.free = first;
  release(&pool.lock);
}

// Makes a block the last one of a file.
static void appendblock(struct inode *ip, ushort b)
{
  if (ip->first)
    pool.next[ip->last] = b;
  else
    ip->first = b;
  ip->last = b;
}

// The block with the byte at off, which must exist. The search starts from the
// block found last time, so going through a file costs one step a block.
static ushort blockof(struct inode *ip, uint off)
{
  uint index = off / BSIZE;

  if (ip->near == 0 || index < ip->nearindex) {
    ip->near = ip->first;
    ip->nearindex = 0;
  }
  for (; ip->nearindex < index; ip->nearindex++)
    ip->near = pool.next[ip->near];
  return ip->near;
}

// ---- inodes ----------------------------------------------------------------

// Takes a free inode: no name, one reference, empty. Returns 0 if all are used.
static struct inode *newinode(short type, short major, short minor)
{
  struct inode *ip, *end = inodes.all + NINODE;

  acquire(&inodes.lock);
  for (ip = inodes.all + ROOTINO; ip < end; ip++)
    if (ip->type == 0)
      break;
  if (ip < end) {
    ip->ref = 1;
    ip->nlink = 0;
    ip->type = type;
    ip->major = major;
    ip->minor = minor;
  }
  release(&inodes.lock);
  return ip < end ? ip : 0;
}

// Changes the numbers of references and names by so many. What is left without
// either becomes free.
static void count(struct inode *ip, int refs, int links)
{
  acquire(&inodes.lock);
  ip->ref += refs;
  ip->nlink += links;
  int unused = ip->ref == 0 && ip->nlink == 0;
  release(&inodes.lock);
  if (!unused)
    return;

  itrunc(ip);
  acquire(&inodes.lock);
  ip->type = 0;  // only now can newinode find it
  release(&inodes.lock);
}

// One more reference to ip. Returns ip.
struct inode *idup(struct inode *ip)
{
  count(ip, 1, 0);
  return ip;
}

// Gives up a reference. The last one frees an inode that has no name.
void iput(struct inode *ip)
{
  count(ip, -1, 0);
}

// Waits for the inode's contents. The caller must have a reference.
void ilock(struct inode *ip)
{
  acquiresleep(&ip->lock);
}

void iunlock(struct inode *ip)
{
  releasesleep(&ip->lock);
}

// Empties a file. ip->lock must be held, unless nobody else can reach ip.
void itrunc(struct inode *ip)
{
  if (ip->first)
    giveblocks(ip->first, ip->last);
  ip->first = ip->last = ip->near = 0;
  ip->size = 0;
}

// Tells about the inode.
void stati(struct inode *ip, struct stat *st)
{
  memset(st, 0, sizeof(*st));
  st->dev = 1;
  st->ino = ip->inum;
  st->type = ip->type;
  ilock(ip);
  st->size = ip->size;
  iunlock(ip);
  acquire(&inodes.lock);
  st->nlink = ip->nlink;
  release(&inodes.lock);
}

// The part of a transfer of n bytes at off that lies in one block.
static uint runlength(uint off, uint n)
{
  uint room = BSIZE - off % BSIZE;
  return n < room ? n : room;
}

// What a transfer that wanted n bytes and moved done of them returns: -1 if it
// failed before the first one.
static int outcome(uint done, uint n)
{
  return done == 0 && n > 0 ? -1 : (int)done;
}

// Copies up to n bytes of the file at off to dst, a user address if user_dst
// is 1. Stops at the end of the file, and where dst ends to be writable.
// Returns the bytes copied, or -1 if there were some but none could be copied.
// ip->lock must be held.
int readi(struct inode *ip, int user_dst, uint64 dst, uint off, uint n)
{
  uint done, run;

  if (off >= ip->size)
    return 0;
  if (n > ip->size - off)
    n = ip->size - off;

  for (done = 0; done < n; done += run) {
    uint at = off + done;
    uchar *from = pool.data[blockof(ip, at)] + at % BSIZE;
    run = runlength(at, n - done);
    if (either_copyout(user_dst, dst + done, from, run) < 0)
      break;
  }
  return outcome(done, n);
}

// Copies n bytes from src, a user address if user_src is 1, into the file at
// off, and makes the file longer if need be. Stops when the blocks run out,
// and where src ends to be readable. Returns the bytes copied, or -1 if none
// could be, or if off is beyond the end. ip->lock must be held.
int writei(struct inode *ip, int user_src, uint64 src, uint off, uint n)
{
  uint done, run;

  if (off > ip->size)
    return -1;

  for (done = 0; done < n; done += run) {
    uint at = off + done;
    run = runlength(at, n - done);

    // A new block becomes part of the file only when its bytes have come.
    int isnew = at == ip->size && at % BSIZE == 0;
    ushort b = isnew ? takeblock() : blockof(ip, at);
    if (b == 0)
      break;
    if (either_copyin(pool.data[b] + at % BSIZE, user_src, src + done, run) <
        0) {
      if (isnew)
        giveblocks(b, b);
      break;
    }
    if (isnew)
      appendblock(ip, b);
    if (at + run > ip->size)
      ip->size = at + run;
  }
  return outcome(done, n);
}

// ---- directories: names must be held, except in fsinit ---------------------

// Finds a name in a directory. Returns its inode and sets *slot to the entry's
// offset; or returns 0 and sets *slot to an offset where the name may go.
static struct inode *lookup(struct inode *dir, const char *name, uint *slot)
{
  uint off = 0;

  *slot = dir->size;
  for (ushort b = dir->first; b; b = pool.next[b]) {
    struct dirent *entry = (struct dirent *)pool.data[b];
    struct dirent *end = entry + BSIZE / sizeof(*entry);
    for (; entry < end && off < dir->size; entry++, off += sizeof(*entry)) {
      if (entry->inum == 0) {
        if (*slot == dir->size)
          *slot = off;
      } else if (strncmp(entry->name, name, DIRSIZ) == 0) {
        *slot = off;
        return &inodes.all[entry->inum];
      }
    }
  }
  return 0;
}

// Writes an entry, which is unused if inum is 0. Returns 0, or -1 if there is
// no block to make the directory longer; an existing slot never fails.
static int setentry(struct inode *dir, uint slot, uint inum, const char *name)
{
  struct dirent entry = {.inum = inum};

  strncpy(entry.name, name, DIRSIZ);
  ilock(dir);
  int n = writei(dir, 0, (uint64)&entry, slot, sizeof(entry));
  iunlock(dir);
  return n == sizeof(entry) ? 0 : -1;
}

// Does a directory hold nothing but "." and ".."? They are its first entries.
static int isempty(struct inode *dir)
{
  uint off = 0;

  for (ushort b = dir->first; b; b = pool.next[b]) {
    struct dirent *entries = (struct dirent *)pool.data[b];
    for (uint i = 0; i < BSIZE / sizeof(*entries); i++, off += sizeof(*entries))
      if (off >= 2 * sizeof(*entries) && off < dir->size && entries[i].inum)
        return 0;
  }
  return 1;
}

// Puts ip under the given name into at->dir, in which the name must not exist.
// Returns 0, or -1 if the directory was removed, or if there is no room.
static int enter(struct place *at, struct inode *ip)
{
  if (at->dir->nlink == 0 || ip->nlink == MAXLINK)
    return -1;
  if (setentry(at->dir, at->slot, ip->inum, at->name) < 0)
    return -1;
  count(ip, 0, 1);
  return 0;
}

// Makes a new inode with the name that at describes. Returns it with a
// reference, or 0; whatever was taken until then is given back.
static struct inode *make(struct place *at, short type, short major,
                          short minor)
{
  struct inode *ip = newinode(type, major, minor);

  if (ip == 0)
    return 0;
  if (type == T_DIR &&
      (setentry(ip, 0, ip->inum, ".") < 0 ||
       setentry(ip, sizeof(struct dirent), at->dir->inum, "..") < 0)) {
    iput(ip);
    return 0;
  }
  if (enter(at, ip) < 0) {
    iput(ip);
    return 0;
  }
  if (type == T_DIR)
    count(at->dir, 0, 1);  // the new directory's ".."
  return ip;
}

// ---- paths -----------------------------------------------------------------

// Takes the first name off a path, cut to DIRSIZ bytes and padded with NULs.
// Returns the rest of the path, or 0 if there is no name in it.
static const char *firstname(const char *path, char *name)
{
  int len = 0;

  while (*path == '/')
    path++;
  if (*path == 0)
    return 0;
  memset(name, 0, DIRSIZ);
  for (; *path && *path != '/'; path++)
    if (len < DIRSIZ)
      name[len++] = *path;
  return path;
}

// Follows a path to its end. All but the last name must exist and be
// directories. Returns 0, or -1 if there is no such place. names must be held.
static int resolve(const char *path, struct place *at)
{
  if (*path == 0)
    return -1;
  at->ip = *path == '/' ? &inodes.all[ROOTINO] : myproc()->cwd;
  at->dir = 0;
  while ((path = firstname(path, at->name)) != 0) {
    if (at->ip == 0 || at->ip->type != T_DIR)
      return -1;
    at->dir = at->ip;
    at->ip = lookup(at->dir, at->name, &at->slot);
  }
  return 0;
}

// What a path names, with a reference for the caller, not locked. Returns 0 if
// there is no such thing.
struct inode *namei(char *path)
{
  struct place at;
  struct inode *ip = 0;

  acquiresleep(&names);
  if (resolve(path, &at) == 0 && at.ip)
    ip = idup(at.ip);
  releasesleep(&names);
  return ip;
}

// Makes a file, a directory or a device. Returns its inode with a reference
// for the caller, not locked, or 0. The name must be new, except that asking
// for a T_FILE also finds a file or a device that exists.
struct inode *icreate(char *path, short type, short major, short minor)
{
  struct place at;
  struct inode *ip = 0;

  acquiresleep(&names);
  if (resolve(path, &at) == 0) {
    if (at.ip == 0)
      ip = make(&at, type, major, minor);
    else if (type == T_FILE && at.ip->type != T_DIR)
      ip = idup(at.ip);
  }
  releasesleep(&names);
  return ip;
}

// Gives what old names the further name new. Returns 0, or -1: a directory
// cannot have a second name.
int ilink(char *old, char *new)
{
  struct place from, to;
  int r = -1;

  acquiresleep(&names);
  if (resolve(old, &from) == 0 && from.ip && from.ip->type != T_DIR &&
      resolve(new, &to) == 0 && to.ip == 0)
    r = enter(&to, from.ip);
  releasesleep(&names);
  return r;
}

// May the entry that at describes be removed?
static int removable(struct place *at)
{
  if (at->dir == 0 || at->ip == 0)
    return 0;
  if (strncmp(at->name, ".", DIRSIZ) == 0 ||
      strncmp(at->name, "..", DIRSIZ) == 0)
    return 0;
  return at->ip->type != T_DIR || isempty(at->ip);
}

// Removes a name. Returns 0, or -1: "/", ".", ".." and a directory that is not
// empty stay. What is open, or somebody's cwd, lives on without a name; such a
// directory has no entries any more, not even ".", and takes no new ones.
int iunlink(char *path)
{
  struct place at;
  int r = -1;

  acquiresleep(&names);
  if (resolve(path, &at) == 0 && removable(&at)) {
    setentry(at.dir, at.slot, 0, "");
    if (at.ip->type == T_DIR) {
      ilock(at.ip);
      itrunc(at.ip);
      iunlock(at.ip);
      count(at.dir, 0, -1);  // the ".." that is gone
    }
    count(at.ip, 0, -1);
    r = 0;
  }
  releasesleep(&names);
  return r;
}

// ---- boot ------------------------------------------------------------------

// Sets up the pools, the root directory and the files from the kernel's image.
// To be called once, before any process runs.
void fsinit(void)
{
  initsleeplock(&names, "names");
  initlock(&inodes.lock, "inodes");
  initlock(&pool.lock, "pool");
  for (int i = 0; i < NINODE; i++) {
    inodes.all[i].inum = i;
    initsleeplock(&inodes.all[i].lock, "inode");
  }
  for (int b = 1; b < NBLOCK - 1; b++)
    pool.next[b] = b + 1;
  pool.free = 1;

  struct inode *root = newinode(T_DIR, 0, 0);
  setentry(root, 0, ROOTINO, ".");
  setentry(root, sizeof(struct dirent), ROOTINO, "..");
  count(root, 0, 1);

  for (struct imagefile *f = imagefiles; f->name; f++) {
    struct place at = {.dir = root};
    strncpy(at.name, f->name, DIRSIZ);
    lookup(root, at.name, &at.slot);
    struct inode *ip = make(&at, T_FILE, 0, 0);
    int size = f->end - f->start;
    if (ip == 0 || writei(ip, 0, (uint64)f->start, 0, size) != size)
      panic("fsinit: no room for the image");
    iput(ip);
  }
}
