// Tests that need all of the machine's memory: one large process, and several
// that share it. They run last, when usertests has let go of what it holds.

#include "user/usertests.h"

static void load_from(long at)
{
  (void)*(volatile char *)at;
}

// A large process: most of the memory, in one go, every page of it there. It
// is given back in two parts, and the middle is really gone.
static void sbrkmuch(void)
{
  const int size = (PHYSTOP - KERNBASE) / 4 * 3;
  char *start = (char *)page_align_end();

  CHECK(sbrk(size) == start);
  for (int at = 0; at < size; at += PGSIZE) {
    CHECK(*(int *)(start + at) == 0);
    *(int *)(start + at) = at;
  }
  for (int at = 0; at < size; at += PGSIZE)
    CHECK(*(int *)(start + at) == at);
  CHECK(sbrk(-size / 2) == start + size);
  IS(fate(load_from, (long)start + size / 2), -1);
  CHECK(*(int *)(start + size / 2 - PGSIZE) == size / 2 - PGSIZE);
  CHECK(sbrk(size / 2) == start + size / 2);
  IS(start[size / 2], 0);
  IS(start[size - 1], 0);
}

// A single call for more memory than there is comes to its end somewhere in the
// middle. All that it took goes back, page tables included.
static void sbrkfail(void)
{
  prepare_tables((PHYSTOP - KERNBASE) / PGSIZE);
  int pages = count_pages();

  CHECK(pages > 1000);
  CHECK(sbrk(PHYSTOP - KERNBASE) == SBRK_FAILED);
  IS(count_pages(), pages);
}

// Takes a page at a time until there is no more, says how many it got, and
// holds them until the reader's pipe ends.
static int report_pipe[2], hold_pipe[2];

static void take_all(long arg)
{
  int pages = 0;
  char byte;

  (void)arg;
  close(hold_pipe[1]);
  while (sbrk(PGSIZE) != SBRK_FAILED)
    pages++;
  IS(write(report_pipe[1], &pages, sizeof pages), sizeof pages);
  read(hold_pipe[0], &byte, 1);
}

// Several take all of memory at once. Together they get nearly all that one
// gets: no page lies where only some of them can reach it.
static void oom_together(void)
{
  enum { TAKERS = 3 };
  int total = 0;
  int alone = count_pages();

  IS(pipe(report_pipe), 0);
  IS(pipe(hold_pipe), 0);
  for (int i = 0; i < TAKERS; i++)
    spawn(take_all, 0);
  for (int i = 0; i < TAKERS; i++) {
    int pages;
    IS(read(report_pipe[0], &pages, sizeof pages), sizeof pages);
    total += pages;
  }
  CHECK(total <= alone && total > alone - 100 * TAKERS);
  close(hold_pipe[1]);
  expect_all_ok(TAKERS);
}

static void hold_forked(long fd)
{
  char byte;

  read(fd, &byte, 1);
}

// Forks of a large process until memory, and not the process table, is full.
static void oom_forks(void)
{
  int ends[2], children = 0;
  int size = (PHYSTOP - KERNBASE) / 16;

  IS(pipe(ends), 0);
  CHECK(sbrk(size) != SBRK_FAILED);
  for (int pid; (pid = fork()) >= 0; children++) {
    if (pid == 0) {
      close(ends[1]);
      hold_forked(ends[0]);
      exit(0);
    }
    CHECK(children < 20);
  }
  CHECK(children > 5);
  close(ends[1]);
  expect_all_ok(children);
}

const struct test big_tests[] = {
    {"sbrkmuch", sbrkmuch, 0},
    {"sbrkfail", sbrkfail, 0},
    {"oomtogether", oom_together, 0},
    {"oomforks", oom_forks, 0},
    {0},
};
