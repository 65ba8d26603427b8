// Tests of files: what is written comes back, also when there is much of it,
// when several write at once, and when the name is gone before the last byte.
// Names and folders are for ut-dir.c.

#include "user/usertests.h"

static int size_of(int fd)
{
  struct stat st;

  IS(fstat(fd, &st), 0);
  return st.size;
}

// Reads a file to its end, checks each byte and returns the size.
static int check_file(const char *path, int seed)
{
  int fd = opened(path, O_RDONLY);
  int at = 0, n;

  while ((n = read(fd, buffer, sizeof buffer)) > 0) {
    CHECK(filled(buffer, n, at, seed));
    at += n;
  }
  IS(n, 0);
  IS(size_of(fd), at);
  close(fd);
  return at;
}

// Sizes around those of a block and of a page, written and read in one piece
// and in odd ones.
static void file_sizes(void)
{
  const int sizes[] = {0, 1, 511, 512, 513, 1023, 1024, 1025, 4096, 12345};

  for (int i = 0; i < COUNT(sizes); i++) {
    make_file("ut-size", sizes[i], i);
    IS(check_file("ut-size", i), sizes[i]);

    int fd = opened("ut-size", O_RDONLY);
    for (int at = 0, n; (n = read(fd, buffer, 333)) > 0; at += n)
      CHECK(filled(buffer, n, at, i));
    close(fd);
  }
  IS(unlink("ut-size"), 0);
}

// Each way to open, and what it allows.
static void open_modes(void)
{
  IS(open("ut-open", O_RDONLY), -1);
  IS(open("ut-open", O_WRONLY), -1);
  int fd = opened("ut-open", O_CREATE | O_RDWR);
  IS(write(fd, "0123456789", 10), 10);
  IS(read(fd, buffer, 10), 0);
  close(fd);

  // What exists is not made anew, but opened, and written from its start.
  fd = opened("ut-open", O_CREATE | O_RDWR);
  IS(size_of(fd), 10);
  IS(write(fd, "abc", 3), 3);
  IS(read(fd, buffer, 100), 7);
  IS(memcmp(buffer, "3456789", 7), 0);
  close(fd);

  fd = opened("ut-open", O_WRONLY | O_TRUNC);
  IS(size_of(fd), 0);
  close(fd);
  IS(open("/", O_WRONLY), -1);
  IS(open("/", O_RDWR), -1);
  IS(open("/", O_RDWR | O_CREATE), -1);
  IS(unlink("ut-open"), 0);
}

// Somebody empties a file that others have open at a place beyond its end.
static void truncated_open(void)
{
  make_file("ut-trunc", 5000, 1);
  int reader = opened("ut-trunc", O_RDONLY);
  int writer = opened("ut-trunc", O_RDWR);
  IS(read(reader, buffer, 3000), 3000);
  IS(read(writer, buffer, 3000), 3000);
  close(opened("ut-trunc", O_WRONLY | O_TRUNC));
  IS(read(reader, buffer, 10), 0);
  CHECK(write(writer, "x", 1) <= 1);  // a hole, or refused
  make_file("ut-trunc", 3500, 2);
  IS(read(reader, buffer, 1000), 500);
  CHECK(filled(buffer, 500, 3000, 2));
  close(reader);
  close(writer);
  IS(unlink("ut-trunc"), 0);
}

// A large file, and a write to each part of it on a second way through.
static void file_big(void)
{
  enum { SIZE = 1000 * 1000 };

  make_file("ut-big", SIZE, 5);
  IS(check_file("ut-big", 5), SIZE);
  int fd = opened("ut-big", O_RDWR);
  for (int at = 0; at < SIZE; at += 10000) {
    fill(buffer, 5000, at, 6);
    IS(write(fd, buffer, 5000), 5000);
    IS(read(fd, buffer, 5000), 5000);
    CHECK(filled(buffer, 5000, at + 5000, 5));
  }
  close(fd);
  IS(unlink("ut-big"), 0);
}

// Fills what there is of space for data and returns how many bytes fitted.
static int fill_space(const char *path)
{
  int fd = opened(path, O_CREATE | O_TRUNC | O_WRONLY);
  int total = 0, n;

  while ((n = write(fd, buffer, sizeof buffer)) > 0)
    total += n;
  IS(n, -1);
  CHECK(write(fd, buffer, sizeof buffer) <= 0);
  IS(size_of(fd), total);
  close(fd);
  return total;
}

// When all the space for data is used a write says so; what is removed can be
// used again, whether the file is removed, emptied, or was open when its name
// went. Not one block may be lost on the way.
static void file_space(void)
{
  int first = fill_space("ut-space");

  CHECK(first > 500000);
  int fd = opened("ut-other", O_CREATE | O_WRONLY);
  IS(write(fd, "x", 1), -1);
  close(fd);
  IS(unlink("ut-other"), 0);
  IS(fill_space("ut-space"), first);  // emptied by opening it
  fd = opened("ut-space", O_RDONLY);
  IS(unlink("ut-space"), 0);
  CHECK(fill_space("ut-more") < 100000);  // its data is still there
  close(fd);
  IS(unlink("ut-more"), 0);
  IS(fill_space("ut-space"), first);
  IS(unlink("ut-space"), 0);
}

// An open file lives on without a name, and another one may take the name.
static void file_unlinked(void)
{
  make_file("ut-gone", 3000, 1);
  int fd = opened("ut-gone", O_RDWR);
  IS(unlink("ut-gone"), 0);
  IS(unlink("ut-gone"), -1);
  IS(open("ut-gone", O_RDONLY), -1);
  make_file("ut-gone", 2000, 2);
  IS(read(fd, buffer, 5000), 3000);
  CHECK(filled(buffer, 3000, 0, 1));
  IS(write(fd, buffer, 1000), 1000);
  IS(size_of(fd), 4000);
  IS(check_file("ut-gone", 2), 2000);
  close(fd);
  IS(unlink("ut-gone"), 0);
}

static void open_unlink_exit(long i)
{
  char *name = numbered("ut-exit", i);

  make_file(name, 10000, i);
  opened(name, O_RDONLY);
  IS(unlink(name), 0);
  if (i % 2)
    kill(getpid());
}

// The same when the process that has it open just ends, or is killed: space
// and inodes come back. More files than there are inodes.
static void file_unlinked_exit(void)
{
  for (int i = 0; i < NINODE + 50; i++)
    IS(fate(open_unlink_exit, i), i % 2 ? -1 : 0);
}

// Descriptors that come from one open share the place in the file; those that
// come from two do not.
static void file_offsets(void)
{
  make_file("ut-off", 3000, 3);
  int fd = opened("ut-off", O_RDONLY);
  int other = opened("ut-off", O_RDONLY);
  int copy = dup(fd);
  IS(read(fd, buffer, 1000), 1000);
  int pid = fork();
  if (pid == 0) {
    IS(read(fd, buffer, 500), 500);
    CHECK(filled(buffer, 500, 1000, 3));
    exit(0);
  }
  expect_end(pid, 0);
  IS(read(copy, buffer, 1000), 1000);
  CHECK(filled(buffer, 1000, 1500, 3));
  close(fd);
  IS(read(copy, buffer, 1000), 500);
  IS(read(other, buffer, 5000), 3000);
  CHECK(filled(buffer, 3000, 0, 3));
  IS(unlink("ut-off"), 0);
}

// Several processes write through one shared descriptor. Each write is whole
// and none is overwritten.
enum { SHARERS = 4, PIECES = 200, PIECE = 37 };

static void write_pieces(long fd)
{
  char piece[PIECE];
  static int self;

  self = getpid();
  memset(piece, 'a' + self % 20, sizeof piece);
  for (int i = 0; i < PIECES; i++)
    IS(write(fd, piece, sizeof piece), sizeof piece);
}

static void file_shared(void)
{
  int fd = opened("ut-shared", O_CREATE | O_TRUNC | O_RDWR);
  int seen[20] = {0};
  int n;

  for (int i = 0; i < SHARERS; i++)
    spawn(write_pieces, fd);
  expect_all_ok(SHARERS);
  IS(size_of(fd), SHARERS * PIECES * PIECE);
  close(fd);
  fd = opened("ut-shared", O_RDONLY);
  while ((n = read(fd, buffer, PIECE)) == PIECE) {
    for (int i = 1; i < PIECE; i++)
      IS(buffer[i], buffer[0]);
    seen[buffer[0] - 'a']++;
  }
  IS(n, 0);
  for (int i = 0; i < COUNT(seen); i++)
    CHECK(seen[i] == 0 || seen[i] == PIECES);
  IS(unlink("ut-shared"), 0);
}

// Several processes write files of their own at once.
static void write_own(long i)
{
  char *name = numbered("ut-own", i);

  for (int round = 0; round < 5; round++) {
    make_file(name, 30000 + 1000 * round, i);
    IS(check_file(name, i), 30000 + 1000 * round);
    IS(unlink(name), 0);
  }
}

static void file_parallel(void)
{
  for (int i = 0; i < 4; i++)
    spawn(write_own, i);
  expect_all_ok(4);
}

// There are so many files and no more; each can be had again when another one
// has gone, devices and folders alike.
static void file_count(void)
{
  int first = -1;

  for (int round = 0; round < 2; round++) {
    int made = 0, fd;
    while ((fd = open(numbered("ut-n", made), O_CREATE | O_RDWR)) >= 0) {
      close(fd);
      made++;
      CHECK(made < NINODE);
    }
    CHECK(made > NINODE / 2);
    CHECK(first < 0 || made == first);
    first = made;
    IS(mkdir("ut-dir"), -1);
    IS(mknod("ut-dev", 1, 1), -1);
    IS(unlink(numbered("ut-n", 7)), 0);
    IS(mkdir("ut-dir"), 0);
    IS(unlink("ut-dir"), 0);
    make_file(numbered("ut-n", 7), 100, 7);
    IS(check_file(numbered("ut-n", 7), 7), 100);
    for (int i = 0; i < made; i++)
      IS(unlink(numbered("ut-n", i)), 0);
  }
}

// A process has so many descriptors, and gets the lowest free one. What fails
// for want of one keeps no file: not one in the table, which more attempts than
// it has room for would fill, nor the end of a pipe.
static void descriptors(void)
{
  int fd, ends[2], count = 0;

  IS(pipe(ends), 0);
  int lowest = lowest_fd();
  while ((fd = open("/", O_RDONLY)) >= 0)
    IS(fd, lowest + count++);
  IS(lowest + count, NOFILE);
  for (int i = 0; i < 2 * NFILE; i++) {
    IS(dup(ends[1]), -1);
    IS(open("/", O_RDONLY), -1);
  }
  int pid = fork();
  if (pid == 0) {
    close(lowest);  // the parent still has it: this makes no room in the table
    IS(open("/", O_RDONLY), lowest);
    exit(0);
  }
  expect_end(pid, 0);
  close(ends[1]);
  IS(read(ends[0], buffer, 1), 0);
  for (fd = lowest; fd < NOFILE; fd++)
    close(fd);
  IS(lowest_fd(), ends[1]);
}

static void hold_files(long report)
{
  int count = 0;

  while (open("/", O_RDONLY) >= 0)
    count++;
  IS(write(report, &count, sizeof count), sizeof count);
  pause(100000);
}

// The system has so many open files for all processes. One that finds none is
// told; those of processes that are killed can be had again.
static void files_full(void)
{
  enum { HOLDERS = NFILE / NOFILE + 4 };
  int pids[HOLDERS], report[2], first = -1;

  IS(pipe(report), 0);
  for (int round = 0; round < 2; round++) {
    int total = 0;
    for (int i = 0; i < HOLDERS; i++) {
      int count;
      pids[i] = spawn(hold_files, report[1]);
      IS(read(report[0], &count, sizeof count), sizeof count);
      total += count;
    }
    IS(open("/", O_RDONLY), -1);
    CHECK(total > NFILE / 2 && total < NFILE);
    CHECK(first < 0 || total == first);
    first = total;
    for (int i = 0; i < HOLDERS; i++)
      IS(kill(pids[i]), 0);
    for (int i = 0; i < HOLDERS; i++)
      CHECK(wait(0) > 0);
    lowest_fd();
  }
}

// What fstat tells, for each kind of thing.
static void file_stat(void)
{
  struct stat st, again;

  make_file("ut-stat", 1234, 1);
  IS(stat("ut-stat", &st), 0);
  IS(st.type, T_FILE);
  IS(st.size, 1234);
  IS(st.nlink, 1);
  IS(link("ut-stat", "ut-stat2"), 0);
  IS(stat("ut-stat2", &again), 0);
  IS(again.ino, st.ino);
  IS(again.nlink, 2);
  IS(unlink("ut-stat"), 0);
  IS(stat("ut-stat2", &again), 0);
  IS(again.nlink, 1);
  IS(unlink("ut-stat2"), 0);
  IS(stat("/", &st), 0);
  IS(st.type, T_DIR);
  IS(fstat(1, &st), 0);
  IS(st.type, T_DEVICE);
}

// A device file names a driver by number. A number without a driver can be
// named, but there is nothing to read or write.
static void devices(void)
{
  const int majors[] = {-1, NDEV - 1, NDEV, 1000};

  for (int i = 0; i < COUNT(majors); i++) {
    concerning("major", majors[i]);
    if (mknod("ut-dev", majors[i], 0) < 0)
      continue;
    IS(mknod("ut-dev", majors[i], 0), -1);
    int fd = open("ut-dev", O_RDWR);
    if (fd >= 0) {
      IS(read(fd, buffer, 1), -1);
      IS(write(fd, buffer, 1), -1);
      close(fd);
    }
    IS(unlink("ut-dev"), 0);
  }
}

const struct test file_tests[] = {
    {"filesizes", file_sizes, 0},
    {"openmodes", open_modes, 0},
    {"truncated", truncated_open, 0},
    {"filebig", file_big, 0},
    {"filespace", file_space, 0},
    {"unlinked", file_unlinked, 0},
    {"unlinkedexit", file_unlinked_exit, 1},
    {"offsets", file_offsets, 0},
    {"sharedfd", file_shared, 0},
    {"fileparallel", file_parallel, 0},
    {"filecount", file_count, 1},
    {"descriptors", descriptors, 0},
    {"filesfull", files_full, 0},
    {"filestat", file_stat, 0},
    {"devices", devices, 0},
    {0},
};
