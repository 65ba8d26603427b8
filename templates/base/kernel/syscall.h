// The system calls, in one list. Both sides of the trap are made from it: the
// kernel's dispatch table (syscall.c) and the user stubs (user/usys.S).
//
// SYSCALLS(X) calls X(name) once for each; the position in the list is the
// number, so add new calls at the end.
#ifndef SYSCALL_H
#define SYSCALL_H

#define SYSCALLS(X)                                                      \
  X(getpid) X(fork) X(exec) X(exit) X(wait) X(kill)                      \
  X(sbrk) X(pause) X(uptime)                                             \
  X(open) X(close) X(read) X(write) X(dup) X(pipe) X(fstat)              \
  X(mkdir) X(mknod) X(chdir) X(link) X(unlink)

#ifndef __ASSEMBLER__
enum {
  SYS_none,
#define NUMBER(name) SYS_##name,
  SYSCALLS(NUMBER)
#undef NUMBER
  SYS_count,
};

// Second argument of the sbrk system call.
#define SBRK_EAGER 1  // take the pages now
#define SBRK_LAZY 2   // only reserve; the first touch of a page takes it
#endif

#endif
