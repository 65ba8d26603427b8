// Tests of processes: fork, exit, wait, kill, and who gets the orphans; sleeping
// and being woken; sharing the harts by force. Many of them are races that are
// run again and again.

#include "user/usertests.h"

static void nothing(long arg)
{
  (void)arg;
}
static void exit_with(long status)
{
  exit(status);
}
static void sleep_long(long arg)
{
  pause(arg);
}

static void spin(long arg)
{
  (void)arg;
  for (;;)
    asm volatile("");
}

// Waits on a pipe that nobody will write to, or that nobody will read from.
static void read_for_ever(long arg)
{
  int ends[2];

  (void)arg;
  IS(pipe(ends), 0);
  read(ends[0], buffer, 1);
  exit(1);
}

static void write_for_ever(long arg)
{
  int ends[2];

  (void)arg;
  IS(pipe(ends), 0);
  for (;;)
    if (write(ends[1], buffer, sizeof buffer) < 0)
      exit(1);
}

static void wait_for_ever(long arg)
{
  spawn(sleep_long, 2);
  (void)arg;
  wait(0);
  wait(0);
  pause(100000);
}

// ---- exit and wait ---------------------------------------------------------------

// The status arrives as it was given, with the pid of the one that gave it.
static void exit_status(void)
{
  const int statuses[] = {0, 1, 2, 127, 255, 256, 65536, -2, -1000, 2147483647};

  for (int i = 0; i < COUNT(statuses); i++) {
    int got;
    int pid = spawn(exit_with, statuses[i]);
    IS(wait(&got), pid);
    IS(got, statuses[i]);
  }
  spawn(exit_with, 3);
  CHECK(wait(0) > 0);
  IS(wait(0), -1);  // nobody left
}

// Every child is waited for exactly once, in whatever order they end.
static void wait_each(void)
{
  enum { CHILDREN = 12 };
  int pids[CHILDREN];

  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < CHILDREN; i++)
      pids[i] = spawn(exit_with, i);
    for (int n = 0; n < CHILDREN; n++) {
      int status;
      int pid = wait(&status);
      CHECK(status >= 0 && status < CHILDREN);
      IS(pid, pids[status]);
      pids[status] = 0;
    }
    IS(wait(0), -1);
  }
}

// Two children that end at the same moment as the parent begins to wait: the
// wake-up of one must not be lost in between.
static void two_children(void)
{
  for (int round = 0; round < 200; round++) {
    spawn(nothing, 0);
    spawn(nothing, 0);
    expect_all_ok(2);
  }
}

// No two processes have the same pid, and each knows its own.
static void pids(void)
{
  int last = getpid();

  for (int round = 0; round < 100; round++) {
    int own, ends[2];
    IS(pipe(ends), 0);
    int pid = fork();
    if (pid == 0) {
      own = getpid();
      IS(write(ends[1], &own, sizeof own), sizeof own);
      exit(0);
    }
    CHECK(pid > last);
    IS(read(ends[0], &own, sizeof own), sizeof own);
    IS(own, pid);
    expect_end(pid, 0);
    close(ends[0]);
    close(ends[1]);
    last = pid;
  }
}

// The process table has room for so many and no more. Then fork says so, and
// works again as soon as somebody has gone.
static void fork_full(void)
{
  int ends[2];
  char byte;

  IS(pipe(ends), 0);
  for (int round = 0; round < 3; round++) {
    int children = 0;
    for (int pid; (pid = fork()) >= 0; children++) {
      if (pid == 0) {
        close(ends[1]);
        read(ends[0], &byte, 1);
        exit(0);
      }
      CHECK(children < NPROC);
    }
    CHECK(children > NPROC / 2);
    for (int i = 0; i < children; i++)
      IS(write(ends[1], "x", 1), 1);
    expect_all_ok(children);
  }
}

// A family: each process makes two more, some generations down, and each
// waits for its own.
static void family(long generations)
{
  if (generations == 0)
    return;
  for (int i = 0; i < 2; i++)
    spawn(family, generations - 1);
  expect_all_ok(2);
}

static void fork_tree(void)
{
  for (int round = 0; round < 5; round++)
    IS(fate(family, 4), 0);
}

// Processes on all harts fork and wait at the same time, with memory of
// different sizes, so that page tables are made and freed all at once.
static void fork_in_turn(long pages)
{
  grown(pages * PGSIZE);
  for (int round = 0; round < 40; round++)
    expect_end(spawn(exit_with, round), round);
}

static void fork_parallel(void)
{
  for (int i = 0; i < 4; i++)
    spawn(fork_in_turn, 1 + 20 * i);
  expect_all_ok(4);
}

// ---- orphans ---------------------------------------------------------------------

static void leave_orphan(long delay)
{
  spawn(delay ? sleep_long : nothing, delay);
}

// Whoever loses its parent gets init, which waits for it, so that its slot and
// its pages come back: orphans that live on, and orphans that are dead already.
// Their number is far above that of the slots.
static void orphans(void)
{
  for (int round = 0; round < 2 * NPROC; round++)
    IS(fate(leave_orphan, round % 16 == 0), 0);
  for (int round = 0; round < 20; round++) {
    int pid = spawn(leave_orphan, 0);
    spawn(leave_orphan, 0);
    CHECK(pid > 0);
    expect_all_ok(2);
  }
}

// An orphan that is dead when it becomes one: nobody but the parent that ends
// can tell init of it, and if that is forgotten it stays for ever.
static void leave_zombie(long arg)
{
  (void)arg;
  spawn(nothing, 0);
  pause(1);
}

static void zombie_orphan(void)
{
  IS(fate(leave_zombie, 0), 0);
}

// Parent and children end at the same time: each child must end up with the
// parent that waits for it, be it the old or the new one.
static void exit_beside(long arg)
{
  (void)arg;
  for (int i = 0; i < 3; i++)
    spawn(nothing, 0);
  if (getpid() % 2)
    wait(0);
}

static void exit_races(void)
{
  for (int round = 0; round < 60; round++) {
    spawn(exit_beside, 0);
    spawn(exit_beside, 0);
    expect_all_ok(2);
  }
}

// An orphan whose new parent would miss it would be a zombie for ever: kill and
// exit of a middle generation.
static void middle(long ready)
{
  spawn(sleep_long, 1);
  IS(write(ready, "x", 1), 1);
  spin(0);
}

static void orphans_by_kill(void)
{
  int ends[2];
  char byte;

  IS(pipe(ends), 0);
  for (int round = 0; round < 20; round++) {
    int pid = spawn(middle, ends[1]);
    IS(read(ends[0], &byte, 1), 1);
    IS(kill(pid), 0);
    expect_end(pid, -1);
  }
}

// ---- kill ------------------------------------------------------------------------

// A killed process ends wherever it is, soon, and with the status that says so.
static void kill_anywhere(void)
{
  void (*const deeds[])(long) = {spin, sleep_long, read_for_ever,
                                 write_for_ever, wait_for_ever};

  for (int i = 0; i < COUNT(deeds); i++) {
    for (int round = 0; round < 3; round++) {
      int pid = spawn(deeds[i], 100000);
      if (round > 0)
        pause(round - 1);  // at once, in its first moments, and asleep
      concerning("which deed", i);
      IS(kill(pid), 0);
      expect_end(pid, -1);
    }
  }
}

// Killing oneself, a child that is a zombie, and nobody.
static void kill_odd(void)
{
  int pid = fork();

  if (pid == 0) {
    kill(getpid());
    exit(0);  // not reached: it dies on the way back from the call
  }
  expect_end(pid, -1);
  IS(kill(pid), -1);  // it is gone

  const int nobody[] = {0, -1, -pid, 2147483647};
  for (int i = 0; i < COUNT(nobody); i++)
    IS(kill(nobody[i]), -1);

  // A zombie has its status already.
  int ends[2];
  char byte;
  IS(pipe(ends), 0);
  pid = fork();
  if (pid == 0)
    exit(4);
  close(ends[1]);
  IS(read(ends[0], &byte, 1), 0);  // the child has closed its end: it is ending
  kill(pid);
  int status;
  IS(wait(&status), pid);
  CHECK(status == 4 || status == -1);
}

static void fork_on_and_on(long arg)
{
  (void)arg;
  for (;;) {
    int pid = fork();
    if (pid == 0)
      exit(0);
    if (pid > 0)
      wait(0);
  }
}

static void grow_on_and_on(long arg)
{
  (void)arg;
  for (;;) {
    sbrk(50 * PGSIZE);
    sbrk(-50 * PGSIZE);
  }
}

static void exec_on_and_on(long arg)
{
  char *argv[] = {"kill", 0};

  (void)arg;
  close(1);
  close(2);
  for (;;)
    try_exec("/kill", argv);
}

// Killed in the middle of taking and giving pages, a process gives back all of
// them. When the kill strikes is left to chance, many times.
static void kill_busy(void)
{
  void (*const deeds[])(long) = {fork_on_and_on, grow_on_and_on,
                                 exec_on_and_on};

  for (int round = 0; round < 60; round++) {
    int pid = spawn(deeds[round % COUNT(deeds)], 0);
    for (int i = 0; i < round % 7 * 4; i++)
      getpid();
    if (round % 10 == 0)
      pause(1);
    IS(kill(pid), 0);
    expect_end(pid, -1);
  }
}

// ---- time and sharing ------------------------------------------------------------

// pause lasts as long as it was asked to, never shorter, and not at all for
// nothing; several that sleep for the same moment all wake.
static void pauses(void)
{
  int before = uptime();

  IS(pause(0), 0);
  IS(pause(-5), 0);
  for (int i = 0; i < 5; i++)
    spawn(sleep_long, 2);
  IS(pause(3), 0);
  CHECK(uptime() - before >= 3);
  expect_all_ok(5);
}

// More processes compute than there are harts, and never enter the kernel by
// themselves. Whoever wants to do something else gets its turn all the same.
static void preempt(void)
{
  enum { SPINNERS = NCPU + 1 };
  int spinners[SPINNERS];
  int ends[2];
  char byte;

  for (int i = 0; i < SPINNERS; i++)
    spinners[i] = spawn(spin, 0);
  IS(pipe(ends), 0);
  for (int i = 0; i < 3; i++) {
    int pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
      IS(write(ends[1], "x", 1), 1);
      exit(0);
    }
  }
  for (int i = 0; i < 3; i++)
    IS(read(ends[0], &byte, 1), 1);
  for (int i = 0; i < SPINNERS; i++)
    IS(kill(spinners[i]), 0);
  for (int killed = 0, rest = SPINNERS + 3; rest > 0; rest--) {
    int status;
    CHECK(wait(&status) > 0);
    killed += status == -1;
    CHECK(rest > 1 || killed == SPINNERS);
  }
}

// Fills every register with a number of its own, counts down in one, and tells
// how many of the others are still right. sp is left alone.
static long registers_kept(long rounds)
{
  register long a0 asm("a0") = rounds;

  asm volatile(
      "addi sp, sp, -32\n sd gp, 0(sp)\n sd tp, 8(sp)\n sd s0, 16(sp)\n"
      ".set n, 0x123\n"
      ".macro every op\n"
      ".irp r, ra, gp, tp, t0, t1, t2, t3, t4, t5, t6, s0, s1, s2, s3, s4, s5,"
      " s6, s7, s8, s9, s10, s11, a2, a3, a4, a5, a6, a7\n"
      "  \\op \\r\n .set n, n + 0x1111111\n .endr\n .endm\n"
      ".macro put r\n li \\r, n\n .endm\n"
      ".macro look r\n li a1, n\n bne \\r, a1, 2f\n addi a0, a0, 1\n2:\n "
      ".endm\n"
      "  every put\n"
      "1: addi a0, a0, -1\n  bnez a0, 1b\n"
      ".set n, 0x123\n"
      "  every look\n"
      "ld gp, 0(sp)\n ld tp, 8(sp)\n ld s0, 16(sp)\n addi sp, sp, 32\n"
      ".purgem every\n .purgem put\n .purgem look\n"
      : "+r"(a0)
      :
      : "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "s1", "s2", "s3", "s4",
        "s5", "s6", "s7", "s8", "s9", "s10", "s11", "a1", "a2", "a3", "a4",
        "a5", "a6", "a7", "memory");
  return a0;
}

static void keep_registers(long ticks)
{
  int since = uptime();

  while (uptime() - since < ticks)
    IS(registers_kept(2000000), 28);
}

// An interrupt may come between any two instructions, and another process may
// run then. The registers are as before when it is over.
static void registers(void)
{
  for (int i = 0; i < 4; i++)
    spawn(keep_registers, 4);
  expect_all_ok(4);
}

// Interrupts strike in the kernel as well: calls of all kinds, with others
// computing, for a while.
static void call_on(long ticks)
{
  int since = uptime();
  int ends[2];
  char byte;

  while (pipe(ends) < 0)  // see spawn() about others that allocate
    pause(1);
  while (uptime() - since < ticks) {
    grown(20 * PGSIZE);
    IS(write(ends[1], "y", 1), 1);
    IS(read(ends[0], &byte, 1), 1);
    IS(byte, 'y');
    CHECK(sbrk(-20 * PGSIZE) != SBRK_FAILED);
    expect_end(spawn(nothing, 0), 0);
  }
}

static void preempt_kernel(void)
{
  for (int i = 0; i < NCPU + 2; i++)
    spawn(call_on, 5);
  expect_all_ok(NCPU + 2);
}

const struct test proc_tests[] = {
    {"exitstatus", exit_status, 0},
    {"waiteach", wait_each, 0},
    {"twochildren", two_children, 0},
    {"pids", pids, 0},
    {"forkfull", fork_full, 0},
    {"forktree", fork_tree, 0},
    {"forkparallel", fork_parallel, 0},
    {"orphans", orphans, 0},
    {"orphanzombie", zombie_orphan, 0},
    {"exitrace", exit_races, 0},
    {"orphankill", orphans_by_kill, 0},
    {"killanywhere", kill_anywhere, 0},
    {"killodd", kill_odd, 0},
    {"killbusy", kill_busy, 0},
    {"pause", pauses, 0},
    {"preempt", preempt, 0},
    {"registers", registers, 0},
    {"preemptkernel", preempt_kernel, 0},
    {0},
};
