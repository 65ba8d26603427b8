// What the host has given to a process so far.
#ifndef GRADERS_HOST_TIME_H
#define GRADERS_HOST_TIME_H

#include <sys/types.h>

struct host_time {
  double cpu_s;     // CPU time
  double waited_s;  // that its threads could have run, and the host had no CPU
                    // for them; 0 where the host does not say
};

// Adds up a process, its threads and its living descendants (QEMU may stand in
// a sandbox). *ret is what was read before, and never goes back: what is gone
// keeps what it had. Source: proc(5), stat
// and children, and schedstat: its second number is nanoseconds of waiting.
void host_time_read(pid_t pid, struct host_time *ret);

#endif
