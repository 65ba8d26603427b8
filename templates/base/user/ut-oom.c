// Tests of a machine without memory. Every path that asks for pages, one after
// the other, is made to fail at its first allocation, at its second, and so on
// until it succeeds. Each time it must say so, and give back to the last page
// what it had got till then.

#include "user/usertests.h"

enum {
  TABLES = 600,  // pages' worth of page tables that let a test count exactly
  ENOUGH = 200,  // no path here needs as many pages
};

static void nothing(long arg)
{
  (void)arg;
}

// Calls attempt with 0 pages free, with 1, with 2, ..., until it has returned 0
// (success) a few times. In between it must return -1; and each time the
// number of free pages must be afterwards what it was before.
//
// A success may be followed by a failure: an allocator with several lists may
// have pages under way from one to the other when another hart asks for some.
static void starve(const char *what, int (*attempt)(void))
{
  struct hog hog;
  int successes = 0;

  prepare_tables(TABLES);
  hog_start(&hog);
  for (int pages = 0; successes < 3; pages++) {
    concerning(what, pages);
    CHECK(pages < ENOUGH);
    IS(count_pages(), pages);
    int result = attempt();
    IS(count_pages(), pages);
    CHECK(result == 0 || result == -1);
    CHECK(pages > 0 || result == -1);
    successes += result == 0;
    hog_release(&hog, 1);
  }
  concerning(0, 0);
  hog_end(&hog);
}

// ---- fork ------------------------------------------------------------------------

static int try_fork(void)
{
  int pid = fork();

  if (pid == 0)
    exit(0);
  if (pid < 0)
    return -1;
  expect_end(pid, 0);
  return 0;
}

// A fork takes a trap frame, a page table, and a copy of each page of memory.
// It must not keep a place in the process table either: failing more often than
// there are places would fill it.
static void oom_fork(void)
{
  struct hog hog;

  starve("fork", try_fork);
  hog_start(&hog);
  for (int i = 0; i < 2 * NPROC; i++) {
    IS(try_fork(), -1);
    if (i == NPROC)
      hog_release(&hog, 2);
  }
  hog_release(&hog, ENOUGH);
  IS(try_fork(), 0);
  hog_end(&hog);
}

// The same where memory is spread far and wide, so that nearly each page needs
// tables of its own, on two levels.
static void oom_fork_spread(void)
{
  const long gap = 1L << 29;
  char *start = (char *)page_align_end();

  for (int i = 0; i < 5; i++) {
    CHECK(sbrklazy(gap) != SBRK_FAILED);
    start[i * gap] = i;
  }
  starve("fork of a large process", try_fork);
}

// ---- pipe ------------------------------------------------------------------------

static int try_pipe(void)
{
  int before = free_fds();
  int ends[2];

  if (pipe(ends) < 0) {
    IS(free_fds(), before);
    return -1;
  }
  IS(write(ends[1], "x", 1), 1);
  close(ends[0]);
  close(ends[1]);
  return 0;
}

// A pipe takes one page, after two files, which it must not keep: failing more
// often than there are files would use them up.
static void oom_pipe(void)
{
  struct hog hog;

  starve("pipe", try_pipe);
  hog_start(&hog);
  for (int i = 0; i < 2 * NFILE; i++)
    IS(try_pipe(), -1);
  hog_release(&hog, 1);
  IS(try_pipe(), 0);
  hog_end(&hog);
}

// ---- exec ------------------------------------------------------------------------

// Runs echo as soon as there is memory for it. Each failure sends a byte.
static void exec_at_last(long failures)
{
  char *argv[] = {"echo", "one", "two", "three", "four", "five", 0};
  struct hog hog;

  prepare_tables(TABLES);
  hog_start(&hog);
  for (int pages = 0;; pages++) {
    concerning("exec", pages);
    CHECK(pages < ENOUGH);
    IS(exec("/echo", argv), -1);
    IS(count_pages(), pages);
    IS(write(failures, "f", 1), 1);
    hog_release(&hog, 1);
  }
}

// exec takes a page for each argument, a page table, the memory of the new
// program and its stack, while the old program is still there. Until all of
// that is complete, the old one must be able to go on.
static void oom_exec(void)
{
  int output[2], failures[2];

  IS(pipe(output), 0);
  IS(pipe(failures), 0);
  int pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    // What echo prints, and nothing else, goes into the pipe.
    close(1);
    IS(dup(output[1]), 1);
    close(output[0]);
    close(output[1]);
    exec_at_last(failures[1]);
  }
  expect_end(pid, 0);
  close(failures[1]);
  CHECK(read(failures[0], buffer, 1000) > 10);
  int n = read(output[0], buffer, 100);
  IS(n, strlen("one two three four five\n"));
  IS(memcmp(buffer, "one two three four five\n", n), 0);
}

// As many arguments as there can be, each of which has a page of its own while
// exec works. The last ones fail when all the others have been copied.
static int try_many_arguments(void)
{
  char *argv[MAXARG + 1];

  for (int i = 0; i < MAXARG; i++)
    argv[i] = "kill";
  argv[MAXARG] = 0;
  int pid = fork();
  if (pid < 0)
    return -1;
  if (pid == 0) {
    close(2);
    exec("/kill", argv);
    exit(100);
  }
  int status;
  IS(wait(&status), pid);
  return status == 100 ? -1 : 0;
}

static void oom_arguments(void)
{
  starve("arguments", try_many_arguments);
}

// ---- growing ---------------------------------------------------------------------

static int try_grow(void)
{
  enum { PAGES = 20 };
  char *end = sbrk(0);

  if (sbrk(PAGES * PGSIZE) == SBRK_FAILED) {
    CHECK(sbrk(0) == end);
    return -1;
  }
  for (int i = 0; i < PAGES; i++)
    IS(end[i * PGSIZE], 0);
  CHECK(sbrk(-PAGES * PGSIZE) != SBRK_FAILED);
  return 0;
}

// What sbrk got before it ran out must go back, and the size stay as it was.
static void oom_sbrk(void)
{
  starve("sbrk", try_grow);
}

// Moves the end of memory, without pages, to one page below a place where
// tables are missing, and grows across with k pages free. The tables may stay,
// since they belong to the process, so what is compared is what the process
// leaves behind.
static void grow_across(long boundary)
{
  struct hog hog;
  char *end = sbrk(0);
  long step;

  while ((step = boundary - PGSIZE - (long)end) > 0) {
    if (step > 1L << 30)
      step = 1L << 30;
    CHECK(sbrklazy(step) == end);
    end += step;
  }
  hog_start(&hog);
  end = sbrk(0);
  for (int pages = 0; sbrk(3 * PGSIZE) == SBRK_FAILED; pages++) {
    CHECK(pages < ENOUGH);
    CHECK(sbrk(0) == end);
    hog_release(&hog, 1);
  }
  end[0] = end[3 * PGSIZE - 1] = 1;
  hog_end(&hog);
}

static void oom_tables(void)
{
  IS(fate(grow_across, 2 * MEGASIZE), 0);
  IS(fate(grow_across, 1L << 30), 0);
  IS(fate(grow_across, 3L << 30), 0);
}

// ---- reserved memory -------------------------------------------------------------

static char *reserved;  // pages nobody has touched
enum { RESERVED = 8 };

static void touch_reserved(long arg)
{
  (void)arg;
  for (int i = 0; i < RESERVED; i++)
    reserved[(long)i * MEGASIZE] = 1;
}

// A child touches pages that need tables, too, and is killed when none is left:
// the kernel has no other answer.
static int try_touch(void)
{
  int pid = fork();
  int status;

  if (pid == 0) {
    touch_reserved(0);
    exit(0);
  }
  if (pid < 0)
    return -1;
  IS(wait(&status), pid);
  CHECK(status == 0 || status == -1);
  return status;
}

static void oom_touch(void)
{
  reserved = (char *)page_align_end();
  CHECK(sbrklazy(RESERVED * MEGASIZE) == reserved);
  starve("first touch", try_touch);
}

// The calls that move data to or from user memory, each with a page that must
// first be taken. They return 0 or more, or -1.
static int data_pipe[2];

static int call_read(char *page)
{
  return read(data_pipe[0], page, 10);
}
static int call_write(char *page)
{
  return write(data_pipe[1], page, 10);
}

static int call_file_read(char *page)
{
  int fd = opened("/usertests", O_RDONLY);
  int n = read(fd, page, 10);

  close(fd);
  return n;
}

static int call_file_write(char *page)
{
  int fd = opened("ut-oom", O_CREATE | O_TRUNC | O_WRONLY);
  int n = write(fd, page, 10);

  close(fd);
  IS(unlink("ut-oom"), 0);
  return n;
}

static int call_stat(char *page)
{
  int fd = opened("/", O_RDONLY);
  int result = fstat(fd, (struct stat *)page);

  close(fd);
  return result;
}

static int call_open(char *page)
{
  int fd = open(page + PGSIZE - 1, O_RDONLY);

  IS(fd, -1);  // with memory, it is the empty path
  return fd;
}

static int call_exec(char *page)
{
  return exec(page, 0);
}

// The kernel cannot fill a page in: then the call fails, and the process goes
// on. With a page to spare it succeeds; the strings here are empty, so that
// what they name is not there in either case.
static void oom_copy(void)
{
  static int (*const calls[])(char *) = {
      call_read, call_write, call_file_read, call_file_write,
      call_stat, call_open,  call_exec,
  };
  struct hog hog;

  prepare_tables(TABLES);
  IS(pipe(data_pipe), 0);
  memset(buffer, 1, 100);
  IS(write(data_pipe[1], buffer, 100), 100);
  hog_start(&hog);
  char *page = sbrk(0);
  for (int free_pages = 0; free_pages < 2; free_pages++) {
    for (int i = 0; i < COUNT(calls); i++) {
      concerning("which call", i);
      CHECK(sbrklazy(PGSIZE) == page);
      int result = calls[i](page);
      int refused =
          free_pages == 0 || calls[i] == call_open || calls[i] == call_exec;
      CHECK(refused ? result == -1 : result >= 0);
      CHECK(sbrk(-PGSIZE) != SBRK_FAILED);
      IS(count_pages(), free_pages);
    }
    hog_release(&hog, 1);
  }
  hog_end(&hog);
}

// wait has nowhere to put the status. The child stays, or is gone; it must not
// be half gone. A pipe that cannot tell its descriptors must not keep them.
static void oom_results(void)
{
  struct hog hog;
  int before = free_fds();
  int pid = spawn(nothing, 0);
  int pages;

  prepare_tables(TABLES);
  pause(1);
  hog_start(&hog);
  char *page = sbrklazy(PGSIZE);
  IS(wait((int *)page), -1);
  hog_release(&hog, 1);
  IS(pipe((int *)page), -1);  // a page for the pipe, none for the answer
  pages = count_pages();
  CHECK(sbrk(-PGSIZE) != SBRK_FAILED);
  IS(count_pages(), pages);
  close(hog.orders);
  close(hog.answers);
  for (int left; (left = wait(0)) >= 0;)
    CHECK(left == pid || left == hog.pid);
  IS(free_fds(), before);
}

// ---- what must work without memory -----------------------------------------------

static void wait_for_byte(long fd)
{
  char byte;

  CHECK(sbrk(10 * PGSIZE) != SBRK_FAILED);
  IS(read(fd, &byte, 1), 1);
}

// Ending needs no memory, or there would be no way out. A child that ends, and
// one that is killed, make pages free for the others.
static void oom_exit(void)
{
  struct hog hog;
  int ends[2];

  IS(pipe(ends), 0);
  int child = spawn(wait_for_byte, ends[0]);
  int victim = spawn(wait_for_byte, ends[0]);
  pause(1);
  prepare_tables(TABLES);
  hog_start(&hog);
  IS(count_pages(), 0);
  IS(kill(victim), 0);
  expect_end(victim, -1);
  int pages = count_pages();
  CHECK(pages > 10);
  IS(write(ends[1], "x", 1), 1);
  expect_end(child, 0);
  IS(count_pages(), 2 * pages);
  hog_end(&hog);
}

// Files have memory of their own: nothing of this takes a page, and all of it
// works while there is none.
static void oom_files(void)
{
  struct hog hog;
  struct stat st;

  prepare_tables(TABLES);
  hog_start(&hog);
  IS(mkdir("ut-oomdir"), 0);
  make_file("ut-oomdir/file", 50000, 4);
  IS(link("ut-oomdir/file", "ut-oomdir/name"), 0);
  IS(unlink("ut-oomdir/file"), 0);
  int fd = opened("ut-oomdir/name", O_RDONLY);
  int copy = dup(fd);
  CHECK(copy > fd);
  IS(fstat(copy, &st), 0);
  IS(st.size, 50000);
  for (int at = 0, n; at < 50000; at += n) {
    n = read(copy, buffer, sizeof buffer);
    CHECK(n > 0 && filled(buffer, n, at, 4));
  }
  close(fd);
  close(copy);
  IS(unlink("ut-oomdir/name"), 0);
  IS(unlink("ut-oomdir"), 0);
  IS(count_pages(), 0);
  hog_end(&hog);
}

// ---- many at once ----------------------------------------------------------------

// One of several that do everything that needs pages, where there are not
// enough for all. Each call may fail or not; none may do anything else.
static void do_anything(long rounds)
{
  char *argv[] = {"kill", "0", 0};

  close(1);
  close(2);
  for (long i = 0; i < rounds; i++) {
    int pid, ends[2];
    if (sbrk((i * 7 % 40 + 1) * PGSIZE) != SBRK_FAILED)
      CHECK(sbrk(-(i * 7 % 40 + 1) * PGSIZE) != SBRK_FAILED);
    if (pipe(ends) == 0) {
      close(ends[0]);
      close(ends[1]);
    }
    if ((pid = fork()) == 0) {
      if (i % 2)
        exec("/kill", argv);
      exit(0);
    }
    if (pid > 0)
      IS(wait(0), pid);
  }
}

// All failure paths on all harts at once. What counts comes after it: every
// page is back.
static void oom_crowd(void)
{
  enum { CROWD = 6 };
  struct hog hog;

  for (int room = 20; room <= 140; room += 40) {
    int ends[2];
    char byte;
    IS(pipe(ends), 0);
    for (int i = 0; i < CROWD; i++) {
      int pid = fork();
      CHECK(pid >= 0);
      if (pid == 0) {
        close(ends[1]);
        IS(read(ends[0], &byte, 1), 1);
        do_anything(25);
        exit(0);
      }
    }
    prepare_tables(TABLES);
    hog_start(&hog);
    hog_release(&hog, room);
    IS(write(ends[1], "......", CROWD), CROWD);
    for (int i = 0; i < CROWD; i++) {
      int status;
      int pid = wait(&status);
      CHECK(pid > 0 && pid != hog.pid);
      IS(status, 0);
    }
    hog_end(&hog);
    close(ends[0]);
    close(ends[1]);
  }
}

const struct test oom_tests[] = {
    {"oomfork", oom_fork, 0},      {"oomforkspread", oom_fork_spread, 0},
    {"oompipe", oom_pipe, 0},      {"oomexec", oom_exec, 0},
    {"oomargs", oom_arguments, 0}, {"oomsbrk", oom_sbrk, 0},
    {"oomtables", oom_tables, 0},  {"oomtouch", oom_touch, 0},
    {"oomcopy", oom_copy, 0},      {"oomresults", oom_results, 0},
    {"oomexit", oom_exit, 0},      {"oomfiles", oom_files, 0},
    {"oomcrowd", oom_crowd, 0},    {0},
};
