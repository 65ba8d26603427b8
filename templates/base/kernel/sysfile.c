// The system calls on files: they fetch and check what the user passed, and
// leave the work to file.c, fs.c, pipe.c and exec.c. All return -1 on failure.

#include "types.h"
#include "param.h"
#include "riscv.h"
#include "spinlock.h"
#include "sleeplock.h"
#include "proc.h"
#include "stat.h"
#include "fcntl.h"
#include "fs.h"
#include "file.h"
#include "defs.h"

#define FAILED ((uint64)-1)

// ---- descriptors -----------------------------------------------------------

// The open file of a descriptor, or 0.
static struct file *fdfile(int fd)
{
  return fd >= 0 && fd < NOFILE ? myproc()->ofile[fd] : 0;
}

// The open file whose descriptor is system call argument i, or 0.
static struct file *argfile(int i)
{
  int fd;

  argint(i, &fd);
  return fdfile(fd);
}

// Gives f the lowest free descriptor, which takes over the caller's reference.
// Returns the descriptor; or -1, and closes f, if none is free.
static int fdopen(struct file *f)
{
  struct file **slot = myproc()->ofile;

  for (int fd = 0; fd < NOFILE; fd++) {
    if (slot[fd] == 0) {
      slot[fd] = f;
      return fd;
    }
  }
  fileclose(f);
  return -1;
}

static void fdclose(int fd)
{
  struct file **slot = &myproc()->ofile[fd];
  struct file *f = *slot;

  *slot = 0;
  fileclose(f);
}

uint64 sys_close(void)
{
  int fd;

  argint(0, &fd);
  if (fdfile(fd) == 0)
    return FAILED;
  fdclose(fd);
  return 0;
}

uint64 sys_dup(void)
{
  struct file *f = argfile(0);
  return f ? fdopen(filedup(f)) : -1;
}

// read, write and fstat have the same arguments as far as they go: a
// descriptor, an address and a count.
static uint64 transfer(int (*move)(struct file *, uint64, int))
{
  struct file *f = argfile(0);
  uint64 addr;
  int n;

  argaddr(1, &addr);
  argint(2, &n);
  return f ? move(f, addr, n) : -1;
}

uint64 sys_read(void)
{
  return transfer(fileread);
}

uint64 sys_write(void)
{
  return transfer(filewrite);
}

uint64 sys_fstat(void)
{
  struct file *f = argfile(0);
  uint64 addr;

  argaddr(1, &addr);
  return f ? filestat(f, addr) : -1;
}

// pipe(int fd[2])
uint64 sys_pipe(void)
{
  struct file *rf, *wf;
  uint64 addr;
  int fd[2];

  argaddr(0, &addr);
  if (pipealloc(&rf, &wf) < 0)
    return FAILED;
  fd[0] = fdopen(rf);
  fd[1] = fdopen(wf);
  if (fd[0] >= 0 && fd[1] >= 0 &&
      copyout(myproc()->pagetable, addr, fd, sizeof(fd)) == 0)
    return 0;
  for (int i = 0; i < 2; i++)
    if (fd[i] >= 0)
      fdclose(fd[i]);
  return FAILED;
}

// ---- names -----------------------------------------------------------------

// Copies the path in system call argument i to path. Returns 0, or -1 if the
// address is bad or the path too long.
static int argpath(int i, char path[MAXPATH])
{
  return argstr(i, path, MAXPATH) < 0 ? -1 : 0;
}

// Does an open in this mode ask to change the file?
static int writing(int mode)
{
  return (mode & (O_WRONLY | O_RDWR)) != 0;
}

// May the inode be opened in this mode? Directories are for reading only, and
// a device needs a number that can have a driver.
static int mayopen(struct inode *ip, int mode)
{
  switch (ip->type) {
  case T_DIR:
    return !writing(mode) && !(mode & O_TRUNC);
  case T_DEVICE:
    return ip->major >= 0 && ip->major < NDEV;
  default:
    return 1;
  }
}

// open(path, mode)
uint64 sys_open(void)
{
  char path[MAXPATH];
  int mode;

  argint(1, &mode);
  if (argpath(0, path) < 0)
    return FAILED;
  struct inode *ip =
      mode & O_CREATE ? icreate(path, T_FILE, 0, 0) : namei(path);
  if (ip == 0)
    return FAILED;
  struct file *f = mayopen(ip, mode) ? filealloc() : 0;
  if (f == 0) {
    iput(ip);
    return FAILED;
  }

  // From here on the file owns the reference to the inode.
  f->ip = ip;
  f->kind = ip->type == T_DEVICE ? FD_DEVICE : FD_INODE;
  f->readable = !(mode & O_WRONLY);
  f->writable = writing(mode);
  int fd = fdopen(f);
  if (fd >= 0 && mode & O_TRUNC) {
    ilock(ip);
    itrunc(ip);
    iunlock(ip);
  }
  return fd;
}

// Fetches the path in argument 0 and makes something there.
static uint64 create(short type, short major, short minor)
{
  char path[MAXPATH];

  if (argpath(0, path) < 0)
    return FAILED;
  struct inode *ip = icreate(path, type, major, minor);
  if (ip == 0)
    return FAILED;
  iput(ip);
  return 0;
}

uint64 sys_mkdir(void)
{
  return create(T_DIR, 0, 0);
}

// mknod(path, major, minor)
uint64 sys_mknod(void)
{
  int major, minor;

  argint(1, &major);
  argint(2, &minor);
  if (major != (short)major || minor != (short)minor)
    return FAILED;
  return create(T_DEVICE, major, minor);
}

uint64 sys_chdir(void)
{
  char path[MAXPATH];
  struct inode *ip = 0;

  if (argpath(0, path) == 0)
    ip = namei(path);
  if (ip == 0)
    return FAILED;
  if (ip->type != T_DIR) {
    iput(ip);
    return FAILED;
  }
  iput(myproc()->cwd);
  myproc()->cwd = ip;
  return 0;
}

// link(old, new)
uint64 sys_link(void)
{
  char old[MAXPATH], new[MAXPATH];

  if (argpath(0, old) < 0 || argpath(1, new) < 0)
    return FAILED;
  return ilink(old, new);
}

uint64 sys_unlink(void)
{
  char path[MAXPATH];

  return argpath(0, path) < 0 ? -1 : iunlink(path);
}

// ---- exec ------------------------------------------------------------------

// Copies the user's array of strings, which ends with a null pointer, to argv,
// each string into a page of its own. Returns 0 or -1; the pages are the
// caller's to free in either case, and the first unused element is null.
static int fetchargv(uint64 addr, char *argv[MAXARG + 1])
{
  for (int i = 0; i <= MAXARG; i++) {
    uint64 string;

    argv[i] = 0;
    if (fetchaddr(addr + i * sizeof(string), &string) < 0)
      return -1;
    if (string == 0)
      return 0;
    if (i == MAXARG || (argv[i] = kalloc()) == 0)
      return -1;
    argv[i + 1] = 0;
    if (fetchstr(string, argv[i], PGSIZE) < 0)
      return -1;
  }
  return -1;
}

// exec(path, argv)
uint64 sys_exec(void)
{
  char path[MAXPATH], *argv[MAXARG + 1];
  uint64 addr;

  argaddr(1, &addr);
  if (argpath(0, path) < 0)
    return FAILED;
  int r = fetchargv(addr, argv);
  if (r == 0)
    r = kexec(path, argv);
  for (char **arg = argv; *arg; arg++)
    kfree(*arg);
  return r;
}
