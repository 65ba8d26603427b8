// A filter of system calls, seccomp(2). A list of what is forbidden, and not of
// what is allowed: the C library's needs change, and what is not named here is
// bounded by the sandbox and by limits.
#include "graders/explore/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

// x86-64 has a second set of numbers, for programs with short pointers.
#define OTHER_NUMBERS 0x40000000

#define LOAD(field) \
  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define END(what) BPF_STMT(BPF_RET | BPF_K, what)
// Fails with EPERM if the call has this number.
#define FORBID(number)                                     \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##number, 0, 1), \
      END(SECCOMP_RET_ERRNO | EPERM)

int confine(struct error *err)
{
  struct sock_filter rules[] = {
      LOAD(arch),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
      END(SECCOMP_RET_KILL_PROCESS),
      LOAD(nr),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_NUMBERS, 0, 1),
      END(SECCOMP_RET_KILL_PROCESS),
      FORBID(fork),
      FORBID(vfork),
      FORBID(clone),
      FORBID(clone3),
      FORBID(execve),
      FORBID(execveat),
      FORBID(ptrace),
      FORBID(socket),
      FORBID(socketpair),
      FORBID(unshare),
      FORBID(setns),
      FORBID(io_uring_setup),
      END(SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};

  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return error_errno(err, LG_EHARNESS,
                       "this machine cannot forbid system calls");
  return 0;
}
