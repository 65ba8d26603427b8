// Tests of pipes: that bytes arrive once, in order and complete, that who waits
// at one end learns what happens at the other, and that pipes which cannot be
// made leave nothing behind.

#include "user/usertests.h"

static int reader, writer;  // the pipe of the test that runs

static void make_pipe(void)
{
  int ends[2];

  IS(pipe(ends), 0);
  reader = ends[0];
  writer = ends[1];
}

// Reads until n bytes have come or there are no more; returns how many came.
static int read_fully(int fd, char *bytes, int n)
{
  int done = 0;

  for (int got = 1; done < n && got > 0; done += got) {
    got = read(fd, bytes + done, n - done);
    CHECK(got >= 0);
  }
  return done;
}

// ---- data ------------------------------------------------------------------------

// Writes of one size and reads of another, so that each split of the ring and
// of both buffers occurs.
static const int sizes[] = {1, 2, 3, 64, 255, 511, 512, 513, 1024, 2047, 4095};
enum { STREAM = 20000 };

static void send(long size)
{
  close(reader);
  for (int at = 0; at < STREAM; at += size) {
    int n = STREAM - at < size ? STREAM - at : size;
    fill(buffer, n, at, 3);
    IS(write(writer, buffer, n), n);
  }
}

static void pipe_stream(void)
{
  for (int w = 0; w < COUNT(sizes); w += 2) {
    for (int r = 1; r < COUNT(sizes); r += 3) {
      int got, at = 0;
      make_pipe();
      spawn(send, sizes[w] < 64 ? 64 + sizes[w] : sizes[w]);
      close(writer);
      while ((got = read(reader, buffer, sizes[r] + 60)) > 0) {
        CHECK(filled(buffer, got, at, 3));
        at += got;
      }
      IS(got, 0);
      IS(at, STREAM);
      close(reader);
      expect_all_ok(1);
    }
  }
}

// A single write that is larger than the pipe arrives in one piece, though it
// has to wait for the reader on the way.
static void write_large(long n)
{
  close(reader);
  fill(buffer, n, 0, 9);
  IS(write(writer, buffer, n), n);
}

static void pipe_large(void)
{
  static char got[sizeof buffer];

  make_pipe();
  spawn(write_large, sizeof buffer);
  close(writer);
  IS(read_fully(reader, got, sizeof got), sizeof got);
  CHECK(filled(got, sizeof got, 0, 9));
  IS(read(reader, got, 1), 0);
  expect_all_ok(1);
}

// A read takes what is there and does not wait for the rest.
static void pipe_short(void)
{
  make_pipe();
  IS(write(writer, "abcdef", 6), 6);
  IS(read(reader, buffer, 4), 4);
  IS(read(reader, buffer + 4, 100), 2);
  IS(memcmp(buffer, "abcdef", 6), 0);
}

// Several write at once. Records come whole, since each is written by one
// call that fits; each writer's come in order; none is lost or doubled.
struct record {
  int from, number;
};
enum { WRITERS = 4, RECORDS = 500 };

static void write_records(long from)
{
  close(reader);
  for (int number = 0; number < RECORDS; number++) {
    struct record record = {from, number};
    IS(write(writer, &record, sizeof record), sizeof record);
  }
}

static void pipe_writers(void)
{
  int next[WRITERS] = {0};
  struct record record;

  make_pipe();
  for (int i = 0; i < WRITERS; i++)
    spawn(write_records, i);
  close(writer);
  while (read_fully(reader, (char *)&record, sizeof record) == sizeof record) {
    CHECK(record.from >= 0 && record.from < WRITERS);
    IS(record.number, next[record.from]++);
  }
  for (int i = 0; i < WRITERS; i++)
    IS(next[i], RECORDS);
  expect_all_ok(WRITERS);
}

// Several read at once: together they get each byte once. Each reader passes
// on how many it got, and their sum.
static void read_some(long results)
{
  struct record total = {0, 0};
  uchar byte;

  close(writer);
  while (read(reader, &byte, 1) == 1) {
    total.from += byte;
    total.number++;
  }
  IS(write(results, &total, sizeof total), sizeof total);
}

static void pipe_readers(void)
{
  enum { READERS = 3, BYTES = 3000 };
  int results[2];
  struct record total;
  int sum = 0, number = 0, expected = 0;

  IS(pipe(results), 0);
  make_pipe();
  for (int i = 0; i < READERS; i++)
    spawn(read_some, results[1]);
  close(reader);
  for (int i = 0; i < BYTES; i++) {
    uchar byte = i;
    expected += byte;
    IS(write(writer, &byte, 1), 1);
  }
  close(writer);
  for (int i = 0; i < READERS; i++) {
    IS(read(results[0], &total, sizeof total), sizeof total);
    sum += total.from;
    number += total.number;
  }
  IS(number, BYTES);
  IS(sum, expected);
  expect_all_ok(READERS);
}

// ---- waiting and waking ----------------------------------------------------------

// A byte goes to and fro: each side sleeps until the other has written, and a
// wake-up that gets lost ends it for ever.
static void echo_bytes(long back)
{
  char byte;

  close(writer);
  while (read(reader, &byte, 1) == 1)
    IS(write(back, &byte, 1), 1);
}

static void ping_pong(void)
{
  enum { ROUNDS = 2000 };
  int back[2];

  IS(pipe(back), 0);
  make_pipe();
  spawn(echo_bytes, back[1]);
  for (int i = 0; i < ROUNDS; i++) {
    char sent = i, got = ~sent;
    IS(write(writer, &sent, 1), 1);
    IS(read(back[0], &got, 1), 1);
    IS(got, sent);
  }
  close(writer);
  expect_all_ok(1);
}

// A write that does not fit sleeps until the parent reads, which it does byte by
// byte, so that both go through "full" and "not full" many times.
enum { TOO_MANY = 6000 };

static void fill_up(long arg)
{
  (void)arg;
  close(reader);
  fill(buffer, TOO_MANY, 0, 2);
  IS(write(writer, buffer, TOO_MANY), TOO_MANY);
}

static void pipe_full(void)
{
  char byte;

  make_pipe();
  spawn(fill_up, 0);
  close(writer);
  pause(1);
  for (int at = 0; at < TOO_MANY; at++) {
    IS(read(reader, &byte, 1), 1);
    CHECK(filled(&byte, 1, at, 2));
  }
  IS(read(reader, &byte, 1), 0);
  expect_all_ok(1);
}

// Without a reader there is no use in writing: at once if there is none, and
// when the last one goes while a writer sleeps.
static void write_until_refused(long ready)
{
  close(reader);
  IS(write(ready, "x", 1), 1);
  while (write(writer, buffer, 1000) == 1000)
    ;
}

static void pipe_no_reader(void)
{
  int ready[2];
  char byte;

  make_pipe();
  close(reader);
  IS(write(writer, "x", 1), -1);
  close(writer);

  for (int delay = 0; delay < 2; delay++) {
    IS(pipe(ready), 0);
    make_pipe();
    int pid = spawn(write_until_refused, ready[1]);
    IS(read(ready[0], &byte, 1), 1);
    pause(delay);
    close(writer);
    close(reader);
    expect_end(pid, 0);
    close(ready[0]);
    close(ready[1]);
  }
}

// The end of the data is reached when the last writer has gone, and what was
// written before still comes. Copies made by dup and by fork count.
static void hold_open(long ticks)
{
  pause(ticks);
}

static void pipe_no_writer(void)
{
  make_pipe();
  int copy = dup(writer);
  CHECK(copy >= 0);
  IS(write(writer, "abc", 3), 3);
  close(writer);
  IS(write(copy, "def", 3), 3);
  spawn(hold_open, 1);
  close(copy);
  IS(read(reader, buffer, 100), 6);
  IS(read(reader, buffer, 100), 0);  // waits for the child
  IS(read(reader, buffer, 100), 0);
  expect_all_ok(1);
}

// A process that waits for data must learn that the last writer has closed
// its end, whichever comes first. Many rounds, since it is a race.
static void read_to_end(long arg)
{
  (void)arg;
  close(writer);
  IS(read(reader, buffer, 10), 0);
}

static void pipe_close_race(void)
{
  for (int round = 0; round < 200; round++) {
    make_pipe();
    spawn(read_to_end, 0);
    close(reader);
    for (int i = 0; i < round % 5 * 30; i++)
      getpid();
    close(writer);
    expect_all_ok(1);
  }
}

// When the last writer goes, all that wait for data learn it, not only one.
static void pipe_close_all(void)
{
  make_pipe();
  for (int i = 0; i < 5; i++)
    spawn(read_to_end, 0);
  close(reader);
  pause(1);
  close(writer);
  expect_all_ok(5);
}

// A process killed while it waits at a pipe leaves the pipe usable by others.
static void pipe_killed(void)
{
  make_pipe();
  for (int round = 0; round < 10; round++) {
    int pid = spawn(echo_bytes, 1);
    IS(kill(pid), 0);
    expect_end(pid, -1);
  }
  IS(write(writer, "ok", 2), 2);
  IS(read(reader, buffer, 10), 2);
}

// ---- making and closing ----------------------------------------------------------

// A process that has no room for both descriptors gets neither.
static void pipe_descriptors(void)
{
  int ends[2] = {-7, -7};
  int last = -1;

  for (int fd; (fd = dup(0)) >= 0;)
    last = fd;
  IS(last, NOFILE - 1);
  for (int i = 0; i < 20; i++)
    IS(pipe(ends), -1);
  close(last);
  for (int i = 0; i < 20; i++) {
    IS(pipe(ends), -1);
    IS(lowest_fd(), last);
  }
  close(last - 1);
  IS(pipe(ends), 0);
  IS(ends[0] + ends[1], last - 1 + last);
}

// Holds all the pipes that a process can and says how many, for the test below.
static void hold_pipes(long report)
{
  int ends[2], pipes = 0;
  char byte;

  close(writer);
  while (pipe(ends) == 0)
    pipes++;
  IS(write(report, &pipes, sizeof pipes), sizeof pipes);
  read(reader, &byte, 1);
}

// The system has room for so many open files. Who finds none gets nothing,
// and not one file of two is kept: all can be opened afterwards.
static void pipe_files(void)
{
  enum { HOLDERS = NFILE / NOFILE + 4 };
  int report[2], first = -1;

  IS(pipe(report), 0);
  for (int round = 0; round < 2; round++) {
    int total = 0;
    make_pipe();
    for (int i = 0; i < HOLDERS; i++) {
      int pipes;
      spawn(hold_pipes, report[1]);
      IS(read(report[0], &pipes, sizeof pipes), sizeof pipes);
      total += pipes;
    }
    CHECK(total > NFILE / 4 && total <= NFILE / 2);
    CHECK(first < 0 || total == first);
    first = total;
    close(writer);
    close(reader);
    expect_all_ok(HOLDERS);
  }
}

// Many pipes, one after the other: each takes a page and gives it back, with
// data in it and whichever end closes first.
static void pipe_many(void)
{
  for (int i = 0; i < 2000; i++) {
    make_pipe();
    if (i % 3 == 0)
      IS(write(writer, buffer, 100), 100);
    close(i % 2 ? reader : writer);
    close(i % 2 ? writer : reader);
  }
}

// fstat has nothing to say about a pipe.
static void pipe_stat(void)
{
  struct stat st;

  make_pipe();
  IS(fstat(reader, &st), -1);
  IS(fstat(writer, &st), -1);
}

const struct test pipe_tests[] = {
    {"pipestream", pipe_stream, 0},
    {"pipelarge", pipe_large, 0},
    {"pipeshort", pipe_short, 0},
    {"pipewriters", pipe_writers, 0},
    {"pipereaders", pipe_readers, 0},
    {"pingpong", ping_pong, 0},
    {"pipefull", pipe_full, 0},
    {"pipenoreader", pipe_no_reader, 0},
    {"pipenowriter", pipe_no_writer, 0},
    {"pipeclose", pipe_close_race, 0},
    {"pipecloseall", pipe_close_all, 0},
    {"pipekilled", pipe_killed, 0},
    {"pipefds", pipe_descriptors, 0},
    {"pipefiles", pipe_files, 0},
    {"pipemany", pipe_many, 0},
    {"pipestat", pipe_stat, 0},
    {0},
};
