// kalloctest [-n WORD] [rounds [pages [processes]]]
//
// Tests the page allocator from outside, through sbrk, and passes with one list
// of free pages as with one for each CPU:
//   churn     processes grow and shrink at the same time, and the pages that
//             they get are new, and theirs alone;
//   gather    after that, one process can still get every free page;
//   exhaust   processes that allocate at the same time until nothing is left
//             get nearly everything between them;
//   no leaks  there are as many free pages at the end as at the start.
// Where the pages are, and who waited for which lock, it cannot see.

#include "user/churn.h"

// ---- how many pages are free? ---------------------------------------------

// Takes all memory that there is, up to step pages at a time, and returns how
// many pages that was. Steps that fail are halved, so that it ends with single
// pages and the number is the true maximum. It counts only pages that sbrk
// returned: the page tables that map them are on top.
static int take_all(int step)
{
  int pages = 0;

  while (step > 0) {
    if (sbrk(step * PGSIZE) == (char *)-1)
      step /= 2;
    else
      pages += step;
  }
  return pages;
}

// Number of pages that one process can get, or -1. The process is a child: it
// gives everything back, its page tables too, by ending, and has done so when
// wait returns. Only right while no other process allocates.
static int count_free(void)
{
  int report[2];
  int pages = -1;

  if (pipe(report) < 0)
    return -1;
  int pid = fork();
  if (pid == 0) {
    pages = take_all(64);
    write(report[1], &pages, sizeof(pages));
    exit(0);
  }
  close(report[1]);
  if (pid > 0 && read(report[0], &pages, sizeof(pages)) != sizeof(pages))
    pages = -1;
  close(report[0]);
  if (pid > 0)
    wait(0);
  return pages;
}

// ---- exhaust --------------------------------------------------------------

// How many of the free pages that one process can get several processes
// together may fail to get. Each of them has, besides what it takes here:
//   - what fork copied: as many pages as its memory has so far;
//   - a trap frame, a kernel stack if the kernel has one per process, and page
//     tables: a root, and a middle and a last one at the bottom and at the top
//     of its addresses; those are 7;
//   - a last table of its own that is not full (their number for full ones is
//     the same whoever has them) and at most one more middle one: 2;
//   - when its last sbrk failed, what another one had in its hands just then.
// The three pipes are 3 pages, one of which count_free had as well.
static int allowance(int processes)
{
  int image = ((uint64)sbrk(0) + PGSIZE - 1) / PGSIZE;

  return processes * (image + 7 + 2 + 8) + 3;
}

// One of the processes; does not return. Page by page, so that all of them come
// to the end of memory together. It holds its pages until the second gate
// opens.
static void exhaust_process(int start[2], int report[2], int release[2])
{
  int pages;

  close(report[0]);
  gate_wait(start);
  pages = take_all(1);
  write(report[1], &pages, sizeof(pages));
  close(report[1]);
  gate_wait(release);
  exit(0);
}

// Starts the processes, and returns how many pages they got together; or -1 and
// what went wrong.
static int exhaust_total(int processes, const char **ret_wrong)
{
  int start[2], report[2], release[2];
  int started, pages;
  int total = 0;
  int reports = 0;

  if (gate_make(start) < 0 || pipe(report) < 0 || gate_make(release) < 0) {
    *ret_wrong = "cannot make a pipe";
    return -1;
  }
  for (started = 0; started < processes; started++) {
    int pid = fork();
    if (pid == 0)
      exhaust_process(start, report, release);
    if (pid < 0)
      break;
  }
  gate_open(start);

  // The pipe ends when each process has closed it, by reporting or by dying.
  close(report[1]);
  while (read(report[0], &pages, sizeof(pages)) == sizeof(pages)) {
    total += pages;
    reports++;
  }
  close(report[0]);
  gate_open(release);
  for (int i = 0; i < started; i++)
    wait(0);

  if (started < processes)
    *ret_wrong = "cannot fork";
  else if (reports < processes)
    *ret_wrong = "a process was killed";
  return *ret_wrong ? -1 : total;
}

// ---- the phases -----------------------------------------------------------

// Prints the verdict on a phase: OK if wrong is 0, else what is wrong and, if
// pages is not 0, about how many pages. Returns 1 if it failed.
static int verdict(struct work *work, const char *phase, const char *wrong,
                   int pages)
{
  if (wrong == 0)
    printf("%skalloctest: %s: OK\n", work->prefix, phase);
  else if (pages == 0)
    printf("%skalloctest: %s: FAILED: %s\n", work->prefix, phase, wrong);
  else
    printf("%skalloctest: %s: FAILED: %d %s\n", work->prefix, phase, pages,
           wrong);
  return wrong != 0;
}

// The verdict on two counts that must be equal.
static int same_count(struct work *work, const char *phase, int now, int before)
{
  if (now < 0)
    return verdict(work, phase, "cannot count the free pages", 0);
  if (now < before)
    return verdict(work, phase, "pages missing", before - now);
  if (now > before)
    return verdict(work, phase, "pages too many", now - before);
  return verdict(work, phase, 0, 0);
}

// Each phase prints an information line and its verdict, which it returns.

static int gather(struct work *work, int before)
{
  int got = count_free();

  printf("%skalloctest: one process got %d free pages, %d at start\n",
         work->prefix, got, before);
  return same_count(work, "gather", got, before);
}

static int exhaust(struct work *work, int before)
{
  const char *wrong = 0;
  int total = exhaust_total(work->processes, &wrong);
  int allowed = allowance(work->processes);

  if (wrong)
    return verdict(work, "exhaust", wrong, 0);
  printf("%skalloctest: exhaust: %d processes got %d of %d free pages\n",
         work->prefix, work->processes, total, before);
  if (total > before)
    return verdict(work, "exhaust", "more pages than there are",
                   total - before);
  if (total < before - allowed)
    return verdict(work, "exhaust", "pages not found", before - total);
  return verdict(work, "exhaust", 0, 0);
}

static int leaks(struct work *work, int before)
{
  int after = count_free();

  printf("%skalloctest: free pages %d before, %d after\n", work->prefix, before,
         after);
  return same_count(work, "no leaks", after, before);
}

int main(int argc, char **argv)
{
  struct work work;
  int failed;
  int before;

  read_arguments(argc, argv, &work);
  before = count_free();
  if (before < 0) {
    printf("%skalloctest: FAILED: cannot count the free pages\n", work.prefix);
    exit(1);
  }
  failed = churn(&work, "kalloctest: churn");
  failed += gather(&work, before);
  failed += exhaust(&work, before);
  failed += leaks(&work, before);
  if (failed)
    printf("%skalloctest: FAILED: %d of 4 checks\n", work.prefix, failed);
  else
    printf("%skalloctest: ALL OK\n", work.prefix);
  exit(failed != 0);
}
