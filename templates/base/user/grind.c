// grind [-n WORD] [seed [rounds]]
//
// Three processes make system calls at random, each in a directory of its own,
// and compare what happens with what should. The seed fixes which operations
// each process does in which order; how the processes mix is up to the machine.
// Ends by itself, or at the first thing that is wrong.

#include "kernel/types.h"
#include "kernel/fcntl.h"
#include "kernel/riscv.h"
#include "kernel/stat.h"
#include "user/user.h"

#define PROCESSES 3
#define BUF_BYTES 3000

static const char *prefix;
static uint64 random_state;
static char buf[BUF_BYTES];
static char back[BUF_BYTES];

// A number from 0 to bound - 1 (xorshift: three shifts that go through every
// state but 0).
static uint pick(uint bound)
{
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (random_state >> 32) % bound;
}

// Fills the first len bytes of buf at random and clears back.
static void fill(uint len)
{
  for (uint i = 0; i < len; i++)
    buf[i] = pick(256);
  memset(back, 0, sizeof back);
}

// Reads exactly len bytes into back. 1 if they came, and equal those of buf.
static int reads_back(int fd, uint len)
{
  uint have = 0;
  int got = 1;

  while (have < len && got > 0) {
    got = read(fd, back + have, len - have);
    if (got > 0)
      have += got;
  }
  return have == len && memcmp(buf, back, len) == 0;
}

// ---- operations: each returns 0, or what was wrong ------------------------

// Takes some pages with one of the two calls, looks at each, and gives back.
static const char *use_memory(char *(*take)(int))
{
  int bytes = 1 + pick(12 * PGSIZE);
  char *start = take(bytes);

  if (start == (char *)-1)
    return "sbrk failed";
  for (int at = 0; at < bytes; at += PGSIZE / 2) {
    if (start[at] != 0)
      return "new memory is not zero";
    start[at] = at / (PGSIZE / 2) + 1;
  }
  for (int at = 0; at < bytes; at += PGSIZE / 2)
    if (start[at] != at / (PGSIZE / 2) + 1)
      return "memory lost its content";
  if (sbrk(0) != start + bytes)
    return "sbrk(0) is not the end of memory";
  return sbrk(-bytes) == start + bytes ? 0 : "memory cannot be given back";
}

static const char *eager_memory(void)
{
  return use_memory(sbrk);
}

static const char *lazy_memory(void)
{
  return use_memory(sbrklazy);
}

// The heap, several blocks at a time.
static const char *heap(void)
{
  char *blocks[8];
  uint bytes[8];

  for (int i = 0; i < 8; i++) {
    bytes[i] = 1 + pick(700);
    blocks[i] = malloc(bytes[i]);
    if (blocks[i] == 0)
      return "malloc failed";
    memset(blocks[i], 'a' + i, bytes[i]);
  }
  for (int i = 0; i < 8; i++) {
    if (blocks[i][0] != 'a' + i || blocks[i][bytes[i] - 1] != 'a' + i)
      return "blocks from malloc overlap";
    free(blocks[i]);
  }
  return 0;
}

// A child has a copy of memory, and its status arrives.
static const char *child(void)
{
  int expected = pick(100);
  int status = -1;
  int pid = fork();

  if (pid == 0) {
    buf[0] = ~buf[0];
    exit(expected);
  }
  if (pid < 0)
    return "fork failed";
  buf[1] = buf[0];
  if (wait(&status) != pid)
    return "wait found no child, or a wrong one";
  if (buf[0] != buf[1])
    return "a child changed its parent's memory";
  return status == expected ? 0 : "wrong exit status";
}

// A child that waits can be killed.
static const char *killing(void)
{
  int status = 0;
  int pid = fork();

  if (pid == 0) {
    pause(1000000);
    exit(0);
  }
  if (pid < 0)
    return "fork failed";
  if (pick(2))
    pause(1);
  if (kill(pid) < 0)
    return "kill failed";
  if (wait(&status) != pid)
    return "wait found no child, or a wrong one";
  if (status == 0)
    return "a killed child ended well";
  return kill(pid) < 0 ? 0 : "a dead process was killed again";
}

// A child sends bytes through a pipe, in pieces.
static const char *through_pipe(void)
{
  int fds[2];
  uint len = 1 + pick(BUF_BYTES);
  const char *wrong = 0;
  int pid;

  if (pipe(fds) < 0)
    return "pipe failed";
  fill(len);
  pid = fork();
  if (pid == 0) {
    for (uint sent = 0; sent < len;) {
      uint piece = 1 + pick(len - sent);
      if (write(fds[1], buf + sent, piece) != (int)piece)
        exit(1);
      sent += piece;
    }
    exit(0);
  }
  close(fds[1]);
  if (pid < 0)
    wrong = "fork failed";
  else if (!reads_back(fds[0], len))
    wrong = "wrong bytes came out of a pipe";
  else if (read(fds[0], back, 1) != 0)
    wrong = "a pipe has no end";
  close(fds[0]);
  if (pid > 0 && wait(0) != pid && !wrong)
    wrong = "wait found no child";
  return wrong;
}

// What a program prints arrives where its output was sent.
static const char *program(void)
{
  char *args[] = {"/echo", "grind", "grinds", 0};
  const char *expected = "grind grinds\n";
  int fds[2];
  int status = -1;
  int pid, same;

  if (pipe(fds) < 0)
    return "pipe failed";
  pid = fork();
  if (pid == 0) {
    close(1);
    dup(fds[1]);
    close(fds[0]);
    close(fds[1]);
    exec(args[0], args);
    exit(1);
  }
  close(fds[1]);
  strcpy(buf, expected);
  same = pid > 0 && reads_back(fds[0], strlen(expected));
  close(fds[0]);
  if (pid < 0)
    return "fork failed";
  if (wait(&status) != pid)
    return "wait found no child, or a wrong one";
  if (status != 0)
    return "a program could not run";
  return same ? 0 : "a program's output is wrong";
}

// A file is written, read, renamed by link and unlink, and removed.
static const char *file(void)
{
  uint len = 1 + pick(BUF_BYTES);
  int fd = open("f", O_RDWR | O_CREATE | O_TRUNC);
  struct stat st;

  if (fd < 0)
    return "a file cannot be created";
  fill(len);
  if (write(fd, buf, len) != (int)len)
    return "a file cannot be written";
  close(fd);
  if (link("f", "g") < 0 || unlink("f") < 0)
    return "link or unlink failed";
  if (stat("f", &st) == 0)
    return "an unlinked name is still there";
  fd = open("g", O_RDONLY);
  if (fd < 0 || fstat(fd, &st) < 0 || st.size != len || st.nlink != 1)
    return "a file's size or number of names is wrong";
  if (unlink("g") < 0)
    return "an open file cannot be unlinked";
  if (!reads_back(fd, len))
    return "a file's content is wrong";
  if (write(fd, buf, 1) >= 0)
    return "a file opened for reading was written";
  return close(fd) == 0 ? 0 : "close failed";
}

// Directories are made, entered, left and removed.
static const char *directory(void)
{
  int fd;

  if (mkdir("d") < 0 || mkdir("d/e") < 0)
    return "mkdir failed";
  if (mkdir("d") == 0)
    return "a directory was made twice";
  if (unlink("d") == 0)
    return "a directory with an entry was removed";
  if (chdir("d/e") < 0)
    return "chdir failed";
  fd = open("../x", O_WRONLY | O_CREATE);
  if (fd < 0)
    return "a file cannot be created through ..";
  close(fd);
  if (chdir("../..") < 0)
    return "chdir to .. failed";
  if (unlink("d/x") < 0 || unlink("d/e") < 0 || unlink("d") < 0)
    return "unlink in a directory failed";
  return 0;
}

// Numbers of open files are reused, the lowest first, and all of them work.
static const char *duplicates(void)
{
  int first = dup(1);
  int second = dup(first);

  if (first < 0 || second <= first)
    return "dup failed";
  close(first);
  if (dup(second) != first)
    return "dup did not take the lowest number";
  if (write(second, buf, 0) != 0)
    return "a duplicate cannot be written";
  close(first);
  close(second);
  return close(second) < 0 ? 0 : "a file was closed twice";
}

// Calls with arguments that make no sense fail, and do nothing else.
static const char *nonsense(void)
{
  char *nowhere = (char *)((uint64)pick(1000) << 40 | 0x8000000000UL);
  int big = 1000 + pick(1000000);
  int fds[2];

  if (read(big, buf, 1) >= 0 || write(-big, buf, 1) >= 0 || dup(big) >= 0)
    return "a file that is not open was used";
  if (open(nowhere, O_RDONLY) >= 0 || open("no such file", O_RDONLY) >= 0)
    return "a file that does not exist was opened";
  if (pipe((int *)nowhere) >= 0 || wait((int *)nowhere) >= 0)
    return "a bad address was written to";
  if (pipe(fds) < 0)
    return "pipe failed";
  if (write(fds[1], nowhere, 100) > 0)
    return "a bad address was read from";
  close(fds[0]);
  if (write(fds[1], buf, 1) >= 0)
    return "a pipe without reader was written";
  close(fds[1]);
  return 0;
}

static const char *(*const operations[])(void) = {
    eager_memory, lazy_memory, heap,      child,      killing,  through_pipe,
    program,      file,        directory, duplicates, nonsense,
};

// ---- processes ------------------------------------------------------------

// A name that no other process has: "g" and the pid.
static const char *own_name(void)
{
  static char name[12];
  char *at = name + sizeof name - 1;

  for (int pid = getpid(); pid > 0; pid /= 10)
    *--at = '0' + pid % 10;
  *--at = 'g';
  return at;
}

// The rounds of one process, in a directory that it removes at the end. Returns
// its exit status.
static int grind(int who, uint seed, int rounds)
{
  const char *home = own_name();
  const char *wrong = 0;
  int round;

  random_state = (uint64)seed << 8 | (who + 1);
  if (mkdir(home) < 0 || chdir(home) < 0)
    wrong = "no directory to work in";
  for (round = 0; round < rounds && !wrong; round++)
    wrong = operations[pick(sizeof operations / sizeof operations[0])]();
  if (wrong)
    printf("%sgrind: FAILED: process %d, round %d: %s\n", prefix, who, round,
           wrong);
  if (!wrong && (chdir("/") < 0 || unlink(home) < 0)) {
    printf("%sgrind: FAILED: process %d: a file was left\n", prefix, who);
    wrong = home;
  }
  return wrong != 0;
}

int main(int argc, char **argv)
{
  uint seed;
  int rounds, started;
  int failed = 0;

  prefix = line_prefix(&argc, argv);
  seed = argc > 1 ? (uint)atoi(argv[1]) : 1;
  rounds = argc > 2 ? atoi(argv[2]) : 500;
  if (argc > 3 || rounds < 1) {
    fprintf(2, "usage: grind [-n WORD] [seed [rounds]]\n");
    return 1;
  }
  printf("%sgrind: seed %u, %d processes x %d rounds\n", prefix, seed,
         PROCESSES, rounds);
  chdir("/");
  for (started = 0; started < PROCESSES; started++) {
    int pid = fork();
    if (pid == 0)
      exit(grind(started, seed, rounds));
    if (pid < 0) {
      printf("%sgrind: FAILED: cannot fork\n", prefix);
      failed = 1;
      break;
    }
  }
  while (started-- > 0) {
    int status = 1;
    wait(&status);
    failed |= status != 0;
  }
  printf("%sgrind: %s\n", prefix, failed ? "FAILED" : "OK");
  return failed;
}
