// Tests of what system calls do with wrong arguments: addresses that are not
// the caller's, memory that ends in the middle of a buffer or a string, numbers
// out of range. What the calls do when all is well is for the other files.

#include "user/usertests.h"

// ---- calls that take an address ---------------------------------------------------

// Each tries one call with the address and returns what the call returned,
// having left nothing behind.

static int file_write(uint64 at)
{
  int fd = opened("ut-args", O_CREATE | O_TRUNC | O_RDWR);
  struct stat st;
  int result = write(fd, (void *)at, 100);

  IS(fstat(fd, &st), 0);
  IS(st.size, result < 0 ? 0 : result);
  close(fd);
  IS(unlink("ut-args"), 0);
  return result;
}

static int pipe_write(uint64 at)
{
  int ends[2];

  IS(pipe(ends), 0);
  int result = write(ends[1], (void *)at, 100);
  close(ends[0]);
  close(ends[1]);
  return result;
}

static int console_write(uint64 at)
{
  return write(1, (void *)at, 1);
}

static int file_read(uint64 at)
{
  int fd = opened("/usertests", O_RDONLY);
  int result = read(fd, (void *)at, 100);

  close(fd);
  return result;
}

static int pipe_read(uint64 at)
{
  int ends[2];

  IS(pipe(ends), 0);
  IS(write(ends[1], buffer, 100), 100);
  int result = read(ends[0], (void *)at, 100);
  close(ends[0]);
  close(ends[1]);
  return result;
}

static int folder_read(uint64 at)
{
  int fd = opened("/", O_RDONLY);
  int result = read(fd, (void *)at, sizeof(struct dirent));

  close(fd);
  return result;
}

static int stat_out(uint64 at)
{
  int fd = opened("/", O_RDONLY);
  int result = fstat(fd, (struct stat *)at);

  close(fd);
  return result;
}

// A pipe that cannot tell its descriptors must not keep them.
static int pipe_out(uint64 at)
{
  int before = free_fds();
  int result = pipe((int *)at);

  IS(free_fds(), result < 0 ? before : before - 2);
  return result;
}

static void nothing(long arg)
{
  (void)arg;
}

// Whether or not the child is taken by the failing wait, it is gone afterwards.
static int wait_out(uint64 at)
{
  int pid = spawn(nothing, 0);
  int result = wait((int *)at);

  if (result < 0)
    wait(0);
  else
    IS(result, pid);
  return result;
}

static int path_open(uint64 at)
{
  return open((char *)at, O_RDONLY);
}
static int path_create(uint64 at)
{
  return open((char *)at, O_CREATE);
}
static int path_unlink(uint64 at)
{
  return unlink((char *)at);
}
static int path_mkdir(uint64 at)
{
  return mkdir((char *)at);
}
static int path_mknod(uint64 at)
{
  return mknod((char *)at, 1, 1);
}
static int path_chdir(uint64 at)
{
  return chdir((char *)at);
}
static int path_link_old(uint64 at)
{
  return link((char *)at, "ut-new");
}
static int path_link_new(uint64 at)
{
  return link("/usertests", (char *)at);
}

static int path_exec(uint64 at)
{
  char *argv[] = {"x", 0};
  return try_exec((char *)at, argv);
}

static int exec_vector(uint64 at)
{
  return try_exec("/echo", (char **)at);
}

static int exec_argument(uint64 at)
{
  char *argv[] = {"echo", (char *)at, 0};
  return try_exec("/echo", argv);
}

struct call {
  const char *name;
  int (*try)(uint64 at);
};

static const struct call readers_of_memory[] = {
    {"write to a file", file_write},
    {"write to a pipe", pipe_write},
    {"write to the console", console_write},
};

static const struct call writers_of_memory[] = {
    {"read from a file", file_read},
    {"read from a pipe", pipe_read},
    {"read from a folder", folder_read},
    {"fstat", stat_out},
    {"pipe", pipe_out},
    {"wait", wait_out},
};

static const struct call path_calls[] = {
    {"open", path_open},
    {"create", path_create},
    {"unlink", path_unlink},
    {"mkdir", path_mkdir},
    {"mknod", path_mknod},
    {"chdir", path_chdir},
    {"link, old", path_link_old},
    {"link, new", path_link_new},
    {"exec", path_exec},
    {"exec, vector", exec_vector},
    {"exec, argument", exec_argument},
};

// Each call must refuse each address that is not the process's.
static void refuse_bad_addresses(const struct call *calls, int n)
{
  for (int c = 0; c < n; c++) {
    for (int i = 0; i < BAD_ADDRESSES; i++) {
      concerning(calls[c].name, bad_address(i));
      IS(calls[c].try(bad_address(i)), -1);
    }
  }
  concerning(0, 0);
}

// copyin: a write whose source is not the caller's memory would hand kernel
// memory to whoever reads the file, or fault inside the kernel.
static void copyin(void)
{
  refuse_bad_addresses(readers_of_memory, COUNT(readers_of_memory));
}

// copyout: a call that returns data would write over kernel memory.
static void copyout(void)
{
  refuse_bad_addresses(writers_of_memory, COUNT(writers_of_memory));
}

// copyinstr: paths and arguments of exec come through a copy of their own.
static void copyinstr_bad(void)
{
  refuse_bad_addresses(path_calls, COUNT(path_calls));
}

// Program code is mapped for reading and running only, and the kernel, which
// could write anywhere, must keep to that as well.
static void copyout_text(void)
{
  const uint64 *code = (const uint64 *)PGROUNDDOWN((uint64)copyout_text);
  uint64 first = code[0];

  for (int c = 0; c < COUNT(writers_of_memory); c++) {
    concerning(writers_of_memory[c].name, (uint64)code);
    IS(writers_of_memory[c].try((uint64)code), -1);
    IS(code[0], first);
  }
}

// ---- memory that ends in the middle ----------------------------------------------

// A buffer may begin in the last page of memory and end behind it. Nothing
// beyond the end may be touched, and a call must not report more bytes than
// there was room for. With the whole buffer inside, it is all as usual.
static void edge_of_memory(void)
{
  uint64 end = page_align_end();

  for (int inside = 0; inside <= 100; inside += 20) {
    for (int c = 0; c < COUNT(readers_of_memory) - 1; c++) {
      concerning(readers_of_memory[c].name, inside);
      int n = readers_of_memory[c].try(end - inside);
      CHECK(inside == 100 ? n == 100 : n <= inside);
    }
    for (int c = 0; c < 2; c++) {
      concerning(writers_of_memory[c].name, inside);
      int n = writers_of_memory[c].try(end - inside);
      CHECK(inside == 100 ? n == 100 : n <= inside);
    }
  }
}

// The same for results of a fixed size: the last place where one fits, and
// each place where its end hangs over.
static void edge_of_results(void)
{
  uint64 end = page_align_end();
  const struct {
    struct call call;
    int size;
  } results[] = {
      {{"fstat", stat_out}, sizeof(struct stat)},
      {{"wait", wait_out}, sizeof(int)},
      {{"pipe", pipe_out}, 2 * sizeof(int)},
      {{"read", folder_read}, sizeof(struct dirent)},
  };

  for (int c = 0; c < COUNT(results); c++) {
    for (int over = 0; over < results[c].size; over += 4) {
      concerning(results[c].call.name, over);
      int result = results[c].call.try(end - results[c].size + over);
      CHECK(over > 0 ? result == -1 : result >= 0);
    }
  }
}

// A buffer across the boundary of two pages lies in two places of memory.
// Every split must arrive whole, in both directions.
static void page_boundary(void)
{
  char *edge = (char *)page_align_end() + PGSIZE;
  int ends[2];

  CHECK(sbrk(2 * PGSIZE) != SBRK_FAILED);
  IS(pipe(ends), 0);
  for (int before = 0; before <= 64; before++) {
    fill(edge - before, 64, before, 1);
    IS(write(ends[1], edge - before, 64), 64);
    memset(edge - 64, 0, 128);
    IS(read(ends[0], edge - 64 + before, 64), 64);
    CHECK(filled(edge - 64 + before, 64, before, 1));
    CHECK(before == 0 || edge[before - 65] == 0);
    IS(edge[before], 0);
  }
}

// A string may end with the last byte of memory, but it must end.
static void string_edge(void)
{
  char *end = (char *)page_align_end();

  CHECK(sbrk(PGSIZE) != SBRK_FAILED);
  end += PGSIZE;
  memset(end - PGSIZE, 'x', PGSIZE);
  for (int c = 0; c < COUNT(path_calls); c++) {
    if (path_calls[c].try == exec_vector)
      continue;
    concerning(path_calls[c].name, (uint64)end);
    IS(path_calls[c].try((uint64)end - 1), -1);
    IS(path_calls[c].try((uint64)end - 20), -1);
  }
  memcpy(end - 3, "/.", 3);
  int fd = opened(end - 3, O_RDONLY);
  close(fd);

  // and across two pages
  memcpy(end - PGSIZE - 1, "/usertests", 11);
  fd = opened(end - PGSIZE - 1, O_RDONLY);
  close(fd);
}

// Paths have a longest length, and what is longer is refused and not cut.
static void longest_path(void)
{
  memset(buffer, '/', MAXPATH + 1);
  buffer[MAXPATH - 1] = '\0';
  int fd = opened(buffer, O_RDONLY);  // only slashes: the root
  close(fd);

  buffer[MAXPATH - 1] = '/';
  buffer[MAXPATH] = '\0';
  for (int c = 0; c < COUNT(path_calls); c++) {
    if (path_calls[c].try == exec_vector || path_calls[c].try == exec_argument)
      continue;
    concerning(path_calls[c].name, MAXPATH);
    IS(path_calls[c].try((uint64)buffer), -1);
  }
}

// The argument vector of exec is read pointer by pointer, so each can be bad,
// and the vector itself can lack its end.
static void exec_vectors(void)
{
  char *argv[MAXARG + 2];
  uint64 end = page_align_end();

  for (int i = 0; i < COUNT(argv); i++)
    argv[i] = "x";
  argv[COUNT(argv) - 1] = 0;
  IS(try_exec("/echo", argv), -1);  // one too many

  // a vector that runs out of memory before its end
  char **last = (char **)end - 1;
  *last = "x";
  IS(try_exec("/echo", last), -1);
  IS(try_exec("/echo", (char **)(end - 4)), -1);

  // good arguments before the bad one have been copied already
  for (int bad = 1; bad < 5; bad++) {
    argv[bad] = (char *)KERNBASE;
    argv[bad + 1] = 0;
    IS(try_exec("/echo", argv), -1);
    argv[bad] = "x";
    argv[bad + 1] = "x";
  }

  // together more than a stack holds, and one that is longer than a page
  char *start = (char *)end;
  CHECK(sbrk(2 * PGSIZE) != SBRK_FAILED);
  memset(start, 'y', 2 * PGSIZE);
  start[2 * PGSIZE - 1] = '\0';
  char *too_long[] = {"echo", start, 0};
  IS(try_exec("/echo", too_long), -1);
  start[PGSIZE / 2] = '\0';
  char *too_much[] = {"echo", start, start, start, 0};
  IS(try_exec("/echo", too_much), -1);
}

// ---- numbers out of range ---------------------------------------------------------

static int try_read(int fd)
{
  return read(fd, buffer, 1);
}
static int try_write(int fd)
{
  return write(fd, buffer, 1);
}
static int try_fstat(int fd)
{
  return fstat(fd, (struct stat *)buffer);
}

// Descriptors that are negative, too large or closed are no index into
// anything.
static void bad_descriptors(void)
{
  int (*const calls[])(int) = {try_read, try_write, try_fstat, close, dup};
  const int closed = lowest_fd();
  const int numbers[] = {-1,   closed,      NOFILE,          NOFILE + 1,
                         1000, -2147483647, -2147483647 - 1, 2147483647};

  for (int i = 0; i < COUNT(numbers); i++) {
    for (int c = 0; c < COUNT(calls); c++) {
      concerning("descriptor", numbers[i]);
      IS(calls[c](numbers[i]), -1);
    }
  }
}

// A negative number of bytes must not become a huge one; none is allowed.
static void bad_sizes(void)
{
  int ends[2];
  int file = opened("ut-sizes", O_CREATE | O_RDWR);

  IS(pipe(ends), 0);
  IS(write(ends[1], "ab", 2), 2);
  const int descriptors[] = {file, ends[0], ends[1]};
  for (int i = 0; i < COUNT(descriptors); i++) {
    concerning("which descriptor", i);
    CHECK(read(descriptors[i], buffer, -1) <= 0);
    CHECK(write(descriptors[i], buffer, -1) <= 0);
    CHECK(read(descriptors[i], buffer, -2147483647 - 1) <= 0);
    CHECK(write(descriptors[i], buffer, -2147483647 - 1) <= 0);
  }
  IS(read(file, buffer, 0), 0);
  IS(write(file, buffer, 0), 0);
  IS(write(ends[1], buffer, 0), 0);
  IS(read(ends[0], buffer, 10), 2);
  IS(unlink("ut-sizes"), 0);
}

// Reading what was opened for writing only, and the other way round, also for
// the two ends of a pipe.
static void wrong_direction(void)
{
  int ends[2];

  make_file("ut-mode", 10, 1);
  int reader = opened("ut-mode", O_RDONLY);
  int writer = opened("ut-mode", O_WRONLY);
  IS(pipe(ends), 0);
  IS(write(reader, "x", 1), -1);
  IS(read(writer, buffer, 1), -1);
  IS(write(ends[0], "x", 1), -1);
  IS(write(ends[1], "x", 1), 1);
  IS(read(ends[1], buffer, 1), -1);
  IS(unlink("ut-mode"), 0);
}

static long raw_call(long number, long a, long b, long c)
{
  register long a0 asm("a0") = a;
  register long a1 asm("a1") = b;
  register long a2 asm("a2") = c;
  register long a7 asm("a7") = number;

  asm volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
  return a0;
}

// A call with a number that none has fails, and the caller goes on.
static void unknown_calls(void)
{
  const long numbers[] = {0, SYS_count, SYS_count + 1, 1000, -1, 1L << 40};

  for (int i = 0; i < COUNT(numbers); i++) {
    concerning("call number", numbers[i]);
    IS(raw_call(numbers[i], 0, 0, 0), -1);
  }
  IS(raw_call(SYS_getpid, 0, 0, 0), getpid());
}

// The second argument of the sbrk call chooses between two modes only.
static void sbrk_modes(void)
{
  char *end = sbrk(0);
  const int modes[] = {0, 3, -1, 1000};

  for (int i = 0; i < COUNT(modes); i++) {
    CHECK(sys_sbrk(PGSIZE, modes[i]) == SBRK_FAILED);
    CHECK(sbrk(0) == end);
  }
}

const struct test arg_tests[] = {
    {"copyin", copyin, 0},
    {"copyout", copyout, 0},
    {"copyinstr", copyinstr_bad, 0},
    {"rwtext", copyout_text, 0},
    {"rwedge", edge_of_memory, 0},
    {"resultedge", edge_of_results, 0},
    {"pageboundary", page_boundary, 0},
    {"stringedge", string_edge, 0},
    {"longpath", longest_path, 0},
    {"execvector", exec_vectors, 0},
    {"badfd", bad_descriptors, 0},
    {"badsize", bad_sizes, 0},
    {"direction", wrong_direction, 0},
    {"badcall", unknown_calls, 0},
    {"sbrkmode", sbrk_modes, 0},
    {0},
};
