// usertests: shows that what is built on the kernel's allocator works. This
// file chooses tests, runs each in a process of its own under a time limit, and
// counts the free pages around it. The tests themselves are in ut-*.c.
//
//   usertests [-n WORD] [-l | -q | NAME]
//
// The exit status is 0 if everything passed, 1 if not, 2 for wrong arguments.

#include "user/usertests.h"

// In ticks. No test needs a tenth of it on a machine that has nothing else to
// do; it is there to end those that wait for something that never comes.
enum { LIMIT_QUICK = 300, LIMIT_SLOW = 900 };

static const struct test *const themes[] = {
    arg_tests,  mem_tests, proc_tests, exec_tests, pipe_tests,
    file_tests, dir_tests, oom_tests,  big_tests,
};

// ---- free pages -----------------------------------------------------------------

// Counting takes as long as there are free pages. So a process holds all of
// them but this many, which is plenty for most tests, while these run.
enum { ENOUGH_PAGES = 4096 };
static struct hog reserve;

static void hold_reserve(void)
{
  hog_start(&reserve);
  hog_release(&reserve, ENOUGH_PAGES);
}

static void drop_reserve(void)
{
  if (reserve.pid != 0)
    hog_end(&reserve);
  reserve.pid = 0;
}

// Processes that a test has left to init may still be on their way out when the
// test has ended, so a number other than the expected one gets time to change.
static int settled_pages(int expected)
{
  int pages = count_pages();

  for (int tries = 0; pages != expected && tries < 15; tries++) {
    pause(1);
    pages = count_pages();
  }
  return pages;
}

// ---- one test -------------------------------------------------------------------

// Waits until the child has ended or the ticks are over. Returns 1 with its
// status, or 0. Other children that end, left behind by a test that could not
// be stopped, do not count.
static int ends_within(int pid, int ticks, int *ret_status)
{
  int dog = fork();
  int status, ended, in_time = 0;

  if (dog == 0) {
    pause(ticks);
    exit(0);
  }
  // Without memory for a dog there is no limit.
  while ((ended = wait(&status)) >= 0 && ended != dog) {
    if (ended != pid)
      continue;
    in_time = 1;
    *ret_status = status;
    if (dog < 0)
      break;
    kill(dog);
  }
  return in_time;
}

// How a test ended.
enum outcome { PASSED, BROKEN, TOO_LONG };

static enum outcome attempt(const struct test *test)
{
  enum { TO_DIE = 20 };
  int status;
  int pid = fork();

  if (pid == 0) {
    if (reserve.pid != 0) {
      close(reserve.orders);
      close(reserve.answers);
    }
    test->body();
    exit(0);
  }
  if (pid < 0)
    return BROKEN;
  if (ends_within(pid, test->slow ? LIMIT_SLOW : LIMIT_QUICK, &status))
    return status == 0 ? PASSED : BROKEN;
  kill(pid);
  ends_within(pid, TO_DIE, &status);
  return TOO_LONG;
}

// Runs a test and tells how it went. *pages is the number of free pages; what
// is counted afterwards takes its place, so that each test answers for itself.
static int run(const struct test *test, int *pages)
{
  // What the kernel says about a process that it kills comes between the name
  // and the verdict. With a prefix a line is written whole, at the end.
  int whole = test_prefix[0] != '\0';
  if (!whole)
    printf("test %s: ", test->name);

  enum outcome outcome = attempt(test);
  int before = *pages;
  *pages = settled_pages(before);

  if (whole)
    printf("%stest %s: ", test_prefix, test->name);
  if (outcome == TOO_LONG)
    printf("FAILED -- no end in sight\n");
  else if (*pages < before)
    printf("FAILED -- lost %d free pages\n", before - *pages);
  else if (*pages > before)
    printf("FAILED -- gained %d free pages\n", *pages - before);
  else
    printf(outcome == BROKEN ? "FAILED\n" : "OK\n");
  return outcome == PASSED && *pages == before;
}

// ---- all of them ----------------------------------------------------------------

// What was asked for.
struct choice {
  int list;          // -l
  int quick;         // -q
  const char *name;  // one test only, or 0
};

static int chosen(const struct test *test, const struct choice *choice)
{
  if (choice->name != 0)
    return strcmp(choice->name, test->name) == 0;
  return !(choice->quick && test->slow);
}

// Runs the tests of a theme that were chosen, or prints their names. Returns
// how many there were, and adds those that failed to *failed.
static int go_through(const struct test *test, const struct choice *choice,
                      int *failed)
{
  int pages = -1;
  int seen = 0;

  for (; test->name != 0; test++) {
    if (!chosen(test, choice))
      continue;
    seen++;
    if (choice->list) {
      printf("%s%s\n", test_prefix, test->name);
      continue;
    }
    if (pages < 0)
      pages = settled_pages(count_pages());
    *failed += !run(test, &pages);
  }
  return seen;
}

// Reads the arguments. Returns 0, or -1 if they make no sense.
static int parse(int argc, char **argv, struct choice *ret_choice)
{
  struct choice choice = {0};

  test_prefix = line_prefix(&argc, argv);
  if (argc > 2)
    return -1;
  if (argc == 2) {
    choice.list = strcmp(argv[1], "-l") == 0;
    choice.quick = strcmp(argv[1], "-q") == 0;
    if (!choice.list && !choice.quick)
      choice.name = argv[1];
    if (choice.name != 0 && choice.name[0] == '-')
      return -1;
  }
  *ret_choice = choice;
  return 0;
}

int main(int argc, char **argv)
{
  struct choice choice;
  int failed = 0, seen = 0;

  if (parse(argc, argv, &choice) < 0) {
    fprintf(2, "usage: usertests [-n WORD] [-l | -q | NAME]\n");
    exit(2);
  }
  if (!choice.list) {
    printf("%susertests starting\n", test_prefix);
    prepare_tables((PHYSTOP - KERNBASE) / PGSIZE);
    hold_reserve();
  }
  for (int i = 0; i < COUNT(themes); i++) {
    if (themes[i] == big_tests)
      drop_reserve();
    seen += go_through(themes[i], &choice, &failed);
  }
  if (seen == 0) {
    fprintf(2, "%susertests: no test is named %s; -l lists them\n", test_prefix,
            choice.name);
    exit(2);
  }
  if (!choice.list)
    printf("%s%s\n", test_prefix,
           failed > 0 ? "SOME TESTS FAILED" : "ALL TESTS PASSED");
  exit(failed > 0);
}
