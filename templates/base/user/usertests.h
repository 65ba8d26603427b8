// What the files of usertests share: the tests' table, and the helpers that
// the tests are written with.
#ifndef USERTESTS_H
#define USERTESTS_H

#include "kernel/types.h"
#include "kernel/param.h"
#include "kernel/riscv.h"
#include "kernel/memlayout.h"
#include "kernel/fcntl.h"
#include "kernel/stat.h"
#include "user/user.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define SBRK_FAILED ((char *)-1)

// A test runs in a process of its own and passes by coming back.
struct test {
  const char *name;
  void (*body)(void);
  int slow;  // left out by -q
};

// One table for each theme, each ended by an entry without name.
extern const struct test arg_tests[];   // ut-args.c: system-call arguments
extern const struct test mem_tests[];   // ut-mem.c: memory and protection
extern const struct test proc_tests[];  // ut-proc.c: processes
extern const struct test exec_tests[];  // ut-exec.c: loading programs
extern const struct test pipe_tests[];  // ut-pipe.c: pipes
extern const struct test file_tests[];  // ut-file.c: files
extern const struct test dir_tests[];   // ut-dir.c: names and directories
extern const struct test oom_tests[];   // ut-oom.c: nothing left to allocate
extern const struct test big_tests[];   // ut-big.c: those that need all memory

// ---- saying what is wrong; all of these end the calling process -------------

// The condition must hold.
#define CHECK(condition) \
  ((condition) ? (void)0 : complain(__FILE__, __LINE__, #condition))
// The number must be the wanted one.
#define IS(number, wanted) \
  compare(__FILE__, __LINE__, #number, (long)(number), (long)(wanted))

void complain(const char *file, int line, const char *what)
    __attribute__((noreturn));
void compare(const char *file, int line, const char *what, long number,
             long wanted);
// What is at work now, for a complaint to mention: borrowed, 0 for nothing.
void concerning(const char *what, uint64 value);

extern const char *test_prefix;  // what -n asks for in front of each line

// ---- processes ----------------------------------------------------------------

// Runs body(arg) in a child, which then exits with 0. Returns the child's pid.
int spawn(void (*body)(long), long arg);
// Waits for the next child to end; it must be pid, and end with status.
void expect_end(int pid, int status);
// Waits for n children, each to end with 0; there must be no more.
void expect_all_ok(int n);
// Runs body(arg) in a child and returns its exit status: -1 when it is killed.
int fate(void (*body)(long), long arg);
// Runs a program in a child, without console output. Returns its exit status;
// -1 if exec came back.
int try_exec(const char *path, char **argv);

// ---- memory -------------------------------------------------------------------

// Addresses that are no memory of this process's, wherever it ends.
uint64 bad_address(int i);
enum { BAD_ADDRESSES = 14 };
// Lowest address of the page below the stack, which is nobody's.
uint64 stack_guard(void);
// Moves the end of memory up to a page boundary and returns it.
uint64 page_align_end(void);
// Makes the page tables that growing by that many pages needs. The process
// keeps them when it shrinks, so that afterwards n pages cost n pages.
void prepare_tables(int pages);
// sbrk, which must succeed, for where others allocate at the same time.
char *grown(int bytes);
// How many pages this process can get one after the other: exactly the number
// of free ones if prepare_tables was called for as many. They are given back.
int count_pages(void);

// A process that holds all of memory but the few pages that it is told to let
// go, so that each allocation on a path can be made to fail in its turn.
struct hog {
  int pid;
  int orders;   // write a number of pages here
  int answers;  // a byte arrives when they are free
};

// Leaves no page free. The caller must have called prepare_tables itself if it
// wants to count what is free later; it may grow by a page or two.
void hog_start(struct hog *hog);
// Makes n more pages free.
void hog_release(struct hog *hog, int n);
// Makes everything free again.
void hog_end(struct hog *hog);

// ---- files and bytes ----------------------------------------------------------

extern char buffer[8192];  // for whoever needs room; the stack is one page

// Fills, or checks, n bytes with a pattern that depends on the position in the
// stream (from) and a seed.
void fill(char *bytes, int n, int from, int seed);
int filled(const char *bytes, int n, int from, int seed);

// open, which must succeed. Returns the descriptor.
int opened(const char *path, int flags);
// Makes a file of n bytes of the pattern, replacing what was there.
void make_file(const char *path, int n, int seed);
// The lowest free descriptor, and how many there are: shows when a call has
// kept one.
int lowest_fd(void);
int free_fds(void);
// A name with a number at its end, in a static buffer of its own for each of
// the last four calls.
char *numbered(const char *stem, int number);

#endif
