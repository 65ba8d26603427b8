// Helpers for the tests of usertests: complaints, children, memory that is used
// up on purpose, and files with a pattern. No test is here.

#include "user/usertests.h"

const char *test_prefix = "";
char buffer[8192];

// ---- saying what is wrong -----------------------------------------------------

static const char *subject;
static uint64 subject_value;

void concerning(const char *what, uint64 value)
{
  subject = what;
  subject_value = value;
}

// Ends the line that a complaint has begun, and the process.
static void __attribute__((noreturn)) give_up(void)
{
  if (subject != 0)
    printf(" (%s, 0x%lx)", subject, subject_value);
  printf("\n");
  exit(1);
}

void complain(const char *file, int line, const char *what)
{
  printf("%s%s:%d: %s does not hold", test_prefix, file, line, what);
  give_up();
}

void compare(const char *file, int line, const char *what, long number,
             long wanted)
{
  if (number == wanted)
    return;
  printf("%s%s:%d: %s is %ld, not %ld", test_prefix, file, line, what, number,
         wanted);
  give_up();
}

// ---- processes ----------------------------------------------------------------

// An allocator with several lists may have pages under way from one to another,
// where a third hart misses them. So what must succeed is tried a few times.
enum { ATTEMPTS = 20 };

int spawn(void (*body)(long), long arg)
{
  int pid = fork();

  for (int i = 1; pid < 0 && i < ATTEMPTS; i++) {
    pause(1);
    pid = fork();
  }
  if (pid == 0) {
    body(arg);
    exit(0);
  }
  CHECK(pid > 0);
  return pid;
}

char *grown(int bytes)
{
  char *start = sbrk(bytes);

  for (int i = 1; start == SBRK_FAILED && i < ATTEMPTS; i++) {
    pause(1);
    start = sbrk(bytes);
  }
  CHECK(start != SBRK_FAILED);
  return start;
}

void expect_end(int pid, int status)
{
  int got = 12345;

  IS(wait(&got), pid);
  IS(got, status);
}

void expect_all_ok(int n)
{
  for (; n > 0; n--) {
    int status = 12345;
    CHECK(wait(&status) > 0);
    IS(status, 0);
  }
  IS(wait(0), -1);
}

int fate(void (*body)(long), long arg)
{
  int status = 12345;
  int pid = spawn(body, arg);

  IS(wait(&status), pid);
  return status;
}

int try_exec(const char *path, char **argv)
{
  enum { CAME_BACK = 77 };
  int status;
  int pid = fork();

  if (pid == 0) {
    close(1);
    exec(path, argv);
    exit(CAME_BACK);
  }
  CHECK(pid > 0);
  IS(wait(&status), pid);
  CHECK(status != -1);
  return status == CAME_BACK ? -1 : status;
}

// ---- memory -------------------------------------------------------------------

uint64 stack_guard(void)
{
  uint64 here;

  asm volatile("mv %0, sp" : "=r"(here));
  return PGROUNDUP(here) - (USERSTACK + 1L) * PGSIZE;
}

uint64 bad_address(int i)
{
  const uint64 fixed[] = {
      KERNBASE,           // the kernel's first instruction
      KERNBASE + 0x4000,  // in its text
      PHYSTOP - 8,        // the last memory there is
      UART0,
      CLINT,
      PLIC,
      TRAPFRAME,  // mapped in this page table, for the kernel alone
      TRAMPOLINE,
      MAXVA,
      MAXVA << 1,  // the highest bit that a page table looks at
      1L << 63,
      -8L,  // adding to it overflows
  };

  if (i < COUNT(fixed))
    return fixed[i];
  return i == COUNT(fixed) ? stack_guard() : PGROUNDUP((uint64)sbrk(0));
}

uint64 page_align_end(void)
{
  uint64 end = (uint64)sbrk(0);

  CHECK(sbrk(PGROUNDUP(end) - end) != SBRK_FAILED);
  return PGROUNDUP(end);
}

void prepare_tables(int pages)
{
  char *start = (char *)page_align_end();

  CHECK(sbrklazy(pages * PGSIZE) == start);
  for (long at = 0; at < (long)pages * PGSIZE; at += MEGASIZE)
    start[at] = 1;
  start[pages * PGSIZE - 1] = 1;
  CHECK(sbrk(-pages * PGSIZE) != SBRK_FAILED);
}

int count_pages(void)
{
  int total = 0;

  for (int step = 1024; step > 0; step /= 2)
    while (sbrk(step * PGSIZE) != SBRK_FAILED)
      total += step;
  CHECK(sbrk(-total * PGSIZE) != SBRK_FAILED);
  return total;
}

// The hog itself: takes everything, says so, and obeys until there is nobody
// left to give orders.
static void hold_memory(int orders, int answers)
{
  int n;

  for (int step = 1024; step > 0; step /= 2)
    while (sbrk(step * PGSIZE) != SBRK_FAILED)
      ;
  for (n = 0; write(answers, "k", 1) == 1;) {
    if (read(orders, &n, sizeof n) != sizeof n)
      break;
    sbrk(-n * PGSIZE);
  }
  exit(0);
}

void hog_start(struct hog *hog)
{
  int orders[2], answers[2];
  char byte;

  IS(pipe(orders), 0);
  IS(pipe(answers), 0);
  hog->pid = fork();
  CHECK(hog->pid >= 0);
  if (hog->pid == 0) {
    close(orders[1]);
    close(answers[0]);
    hold_memory(orders[0], answers[1]);
  }
  close(orders[0]);
  close(answers[1]);
  hog->orders = orders[1];
  hog->answers = answers[0];
  IS(read(hog->answers, &byte, 1), 1);

  // A page may be left over where the hog needed two, one of them for a page
  // table.
  while (sbrk(PGSIZE) != SBRK_FAILED)
    ;
}

void hog_release(struct hog *hog, int n)
{
  char byte;

  IS(write(hog->orders, &n, sizeof n), sizeof n);
  IS(read(hog->answers, &byte, 1), 1);
}

void hog_end(struct hog *hog)
{
  close(hog->orders);
  expect_end(hog->pid, 0);
  close(hog->answers);
}

// ---- files and bytes ----------------------------------------------------------

// The byte at a position: repeats after 251, a prime, so that no block or page
// looks like its neighbour.
static char pattern(uint at, int seed)
{
  return (at + 17 * seed) % 251;
}

void fill(char *bytes, int n, int from, int seed)
{
  for (int i = 0; i < n; i++)
    bytes[i] = pattern(from + i, seed);
}

int filled(const char *bytes, int n, int from, int seed)
{
  for (int i = 0; i < n; i++)
    if (bytes[i] != pattern(from + i, seed))
      return 0;
  return 1;
}

int opened(const char *path, int flags)
{
  int fd = open(path, flags);

  CHECK(fd >= 0);
  return fd;
}

void make_file(const char *path, int n, int seed)
{
  int fd = opened(path, O_CREATE | O_TRUNC | O_WRONLY);

  for (int done = 0; done < n;) {
    int part = n - done < (int)sizeof buffer ? n - done : (int)sizeof buffer;
    fill(buffer, part, done, seed);
    IS(write(fd, buffer, part), part);
    done += part;
  }
  close(fd);
}

int lowest_fd(void)
{
  int fd = opened("/", O_RDONLY);

  close(fd);
  return fd;
}

int free_fds(void)
{
  int copies[NOFILE];
  int n = 0;

  while ((copies[n] = dup(0)) >= 0)
    n++;
  for (int i = 0; i < n; i++)
    close(copies[i]);
  return n;
}

char *numbered(const char *stem, int number)
{
  static char names[4][32];
  static int next;
  char *name = names[next++ % COUNT(names)];
  uint at = strlen(stem);

  memcpy(name, stem, at);
  for (int unit = 1000; unit > 0; unit /= 10)
    name[at++] = '0' + number / unit % 10;
  name[at] = '\0';
  return name;
}
