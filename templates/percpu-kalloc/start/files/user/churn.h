// What kalloctest and kchurn share: the churn phase, and how the two read their
// arguments. A header, since the Makefile links a program from one file of its
// own. Uses nothing but what every xv6 tree has.

#include "kernel/types.h"
#include "kernel/stat.h"
#include "kernel/riscv.h"
#include "user/user.h"

#define MAX_PROCESSES 32

// How much to do, and "WORD " (or "") to put in front of every line.
struct work {
  int rounds;
  int pages;
  int processes;
  char prefix[64];
};

// ---- arguments ------------------------------------------------------------

static void usage(const char *program)
{
  fprintf(2, "usage: %s [-n WORD] [rounds [pages [processes]]]\n", program);
  exit(1);
}

// Fills work from the arguments, or exits with a message.
static void read_arguments(int argc, char **argv, struct work *work)
{
  int *numbers[] = {&work->rounds, &work->pages, &work->processes};
  int at = 1;

  work->rounds = 2000;
  work->pages = 64;
  work->processes = 3;
  work->prefix[0] = 0;
  if (argc > 1 && strcmp(argv[1], "-n") == 0) {
    uint len = argc > 2 ? strlen(argv[2]) : 0;
    if (len == 0 || len > sizeof(work->prefix) - 2)
      usage(argv[0]);
    memmove(work->prefix, argv[2], len);
    work->prefix[len] = ' ';
    work->prefix[len + 1] = 0;
    at = 3;
  }
  if (argc - at > 3)
    usage(argv[0]);
  for (int i = 0; at < argc; i++, at++) {
    *numbers[i] = atoi(argv[at]);
    if (*numbers[i] < 1)
      usage(argv[0]);
  }
  if (work->processes > MAX_PROCESSES || work->pages > 32768)
    usage(argv[0]);
}

// ---- starting processes at the same moment --------------------------------

// A gate is a pipe into which nobody ever writes. Whoever reads from it waits,
// and when the last write end is closed all of them go on at once.
static int gate_make(int gate[2])
{
  return pipe(gate);
}

// In a child: stands before the gate until the parent opens it.
static void gate_wait(int gate[2])
{
  char nothing;

  close(gate[1]);
  read(gate[0], &nothing, 1);
  close(gate[0]);
}

// In the parent: lets everybody go.
static void gate_open(int gate[2])
{
  close(gate[0]);
  close(gate[1]);
}

// ---- churn ----------------------------------------------------------------

// How a churning process ended, which is its exit status, and what to call it.
enum { CHURN_OK, CHURN_SBRK, CHURN_DIRTY, CHURN_LOST, CHURN_REASONS };

static const char *churn_reason(int status)
{
  static const char *reasons[CHURN_REASONS] = {
      [CHURN_OK] = "nothing wrong",
      [CHURN_SBRK] = "sbrk failed",
      [CHURN_DIRTY] = "a new page was not zero",
      [CHURN_LOST] = "a page did not hold what was written into it",
  };

  if (status < 0 || status >= CHURN_REASONS)
    return "a process was killed";
  return reasons[status];
}

// What process number who writes into this page in this round: a number that
// nobody writes anywhere else.
static uint64 churn_mark(int who, int round, int page)
{
  return ((uint64)(who + 1) << 56) | ((uint64)round << 24) | (uint64)(page + 1);
}

// Two words of each page are looked at. The first one, because that is where a
// free page keeps its link: it is what changes when a page is free and in use
// at once. And another one that wanders over the whole page as rounds go by.
static int churn_second_word(int round, int page)
{
  return 1 + (round + 7 * page) % (PGSIZE / sizeof(uint64) - 1);
}

// Takes pages, or returns (char *)-1. Keeps trying for two seconds: with a list
// of free pages for each CPU, memory on its way from one list to another is on
// neither, so an allocation may fail although there is plenty. If the hart that
// moves it is held up, that lasts.
static char *churn_grow(int pages)
{
  int since = uptime();
  char *start;

  do {
    start = sbrk(pages * PGSIZE);
  } while (start == (char *)-1 && uptime() - since < 20);
  return start;
}

// One round: takes pages, marks them all, then checks them all and gives them
// back. The check comes after all marks, so that two pages which are the same
// memory show, in one process or in two.
static int churn_round(int who, int round, int pages)
{
  char *start = churn_grow(pages);

  if (start == (char *)-1)
    return CHURN_SBRK;
  for (int i = 0; i < pages; i++) {
    uint64 *page = (uint64 *)(start + i * PGSIZE);
    int second = churn_second_word(round, i);
    if (page[0] != 0 || page[second] != 0)
      return CHURN_DIRTY;
    page[0] = page[second] = churn_mark(who, round, i);
  }
  for (int i = 0; i < pages; i++) {
    uint64 *page = (uint64 *)(start + i * PGSIZE);
    uint64 mark = churn_mark(who, round, i);
    if (page[0] != mark || page[churn_second_word(round, i)] != mark)
      return CHURN_LOST;
  }
  return sbrk(-pages * PGSIZE) == (char *)-1 ? CHURN_SBRK : CHURN_OK;
}

// All rounds of one process; does not return.
static void churn_process(struct work *work, int who, int gate[2])
{
  int status = CHURN_OK;

  // end memory at a page, so that a round needs exactly work->pages pages
  uint64 used = (uint64)sbrk(0) % PGSIZE;
  if (used != 0)
    sbrk(PGSIZE - used);
  gate_wait(gate);
  for (int round = 0; round < work->rounds && status == CHURN_OK; round++)
    status = churn_round(who, round, work->pages);
  exit(status);
}

// Runs the churn phase: processes that all grow and shrink at the same time.
// Prints a line that says how much and how long, and one with the verdict, both
// with name in front. Returns 0, or 1 if something was wrong.
static int churn(struct work *work, const char *name)
{
  const char *wrong = 0;
  int started = 0;
  int gate[2];
  int ticks;

  if (gate_make(gate) < 0) {
    printf("%s%s: FAILED: cannot make a pipe\n", work->prefix, name);
    return 1;
  }
  for (; started < work->processes; started++) {
    int pid = fork();
    if (pid == 0)
      churn_process(work, started, gate);
    if (pid < 0) {
      wrong = "cannot fork";
      break;
    }
  }
  ticks = uptime();
  gate_open(gate);
  while (started-- > 0) {
    int status = -1;
    if (wait(&status) < 0)
      wrong = "a process is missing";
    else if (status != CHURN_OK)
      wrong = churn_reason(status);
  }
  ticks = uptime() - ticks;
  printf("%s%s: %d processes x %d rounds x %d pages, %d ticks\n", work->prefix,
         name, work->processes, work->rounds, work->pages, ticks);
  if (wrong)
    printf("%s%s: FAILED: %s\n", work->prefix, name, wrong);
  else
    printf("%s%s: OK\n", work->prefix, name);
  return wrong != 0;
}
