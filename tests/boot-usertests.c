// usertests on real boots: the kernel as it is passes, and kernels with a fault
// (tests/kernel-faults) fail the test that the fault's file names.
//
// A fault is a patch with a head of three lines: "Fault:" says what is wrong,
// "Test:" which test must find it, "Shows:" what must come on the console after
// that test's name. Without LABGEN_FAULTS=all (`make kernel-faults`) those that
// make a test wait for its time limit are left out.
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/boot.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"

#define TREE "build/kernel/start"
#define FAULTS "tests/kernel-faults"
#define WORK "build/kernel-faults"
// Ends a test that would hang, on the slowest host.
#define STEP_MS 300000

#define HANGS "FAILED -- no end in sight"

// Boots a kernel and works through the steps. Returns the console's text, which
// the caller owns, and fails the test if the script was not completed.
static char *console_of(const char *kernel, const struct boot_step *steps,
                        size_t count)
{
  struct error err = {0};
  struct boot *boot = NULL;
  int rc = boot_run(&(struct boot_spec){.kernel = kernel,
                                        .steps = steps,
                                        .step_count = count,
                                        .timeout_ms = 2 * STEP_MS,
                                        .panic_text = ""},
                    &boot, &err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");

  char *text = xstrdup(buf_str(&boot_console(boot)->text));
  cr_expect_eq(boot_verdict(boot), BOOT_COMPLETED, "it %s (%s), after:\n%s",
               boot_verdict_words(boot_verdict(boot)), boot_detail(boot), text);
  boot_release(boot);
  return text;
}

// The same for one command, up to the prompt behind it; "" as `last` waits for
// nothing else.
static char *console_of_command(const char *kernel, const char *command,
                                const char *last)
{
  const struct boot_step steps[] = {
      {BOOT_WAIT_LINE, "$ ", 0, STEP_MS},
      {BOOT_SEND, command, 0, 0},
      {BOOT_WAIT_LINE, last, 0, STEP_MS},
      {BOOT_WAIT_LINE, "$ ", 0, STEP_MS},
  };
  return console_of(kernel, steps, sizeof(steps) / sizeof(steps[0]));
}

// --- The kernel as it is --------------------------------------------------------

Test(usertests, the_start_kernel_passes_the_quick_tests)
{
  char *text = console_of_command(TREE "/kernel/kernel", "usertests -q\n",
                                  "ALL TESTS PASSED\n");
  cr_expect_null(strstr(text, "FAILED"), "%s", text);
  cr_expect_not_null(strstr(text, "\nusertests starting\ntest copyin: OK\n"));
  free(text);
}

Test(usertests, names_are_listed_and_each_line_can_have_a_word_in_front)
{
  char *text = console_of_command(TREE "/kernel/kernel", "usertests -n W -l\n",
                                  "W oomforks\n");
  cr_expect_not_null(strstr(text, "\nW copyin\nW copyout\n"), "%s", text);
  cr_expect_null(strstr(text, "usertests starting"), "%s", text);
  free(text);

  text = console_of_command(TREE "/kernel/kernel", "usertests -n W kernmem\n",
                            "W ALL TESTS PASSED\n");
  cr_expect_not_null(strstr(text, "\nW usertests starting\n"), "%s", text);
  cr_expect_not_null(strstr(text, "\nusertrap(): unexpected scause 0xd pid="),
                     "%s", text);
  cr_expect_not_null(strstr(text, "\nW test kernmem: OK\n"), "%s", text);
  free(text);
}

Test(usertests, a_name_that_no_test_has_is_said_so)
{
  char *text =
      console_of_command(TREE "/kernel/kernel", "usertests copyyn\n",
                         "usertests: no test is named copyyn; -l lists them\n");
  cr_expect_null(strstr(text, "PASSED"), "%s", text);
  free(text);
}

// --- Kernels with a fault -------------------------------------------------------

// A row holds no pointers, since the tests run in other processes.
struct row {
  char patch[96];
};

struct fault {
  char what[200], test[40], shows[80];
};

// Takes the line that starts with `key` from the text into `ret` of that size.
static void head_line(const char *text, const char *key, char *ret, size_t size)
{
  const char *at = strstr(text, key);
  cr_assert_not_null(at, "there is no line '%s'", key);
  at += strlen(key);
  snprintf(ret, size, "%.*s", (int)strcspn(at, "\n"), at);
}

static struct fault read_fault(const char *patch)
{
  struct buf text = {0};
  struct error err = {0};
  struct fault fault = {0};
  int rc = file_read(patch, 1 << 20, &text, &err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
  head_line(buf_str(&text), "Fault: ", fault.what, sizeof(fault.what));
  head_line(buf_str(&text), "Test: ", fault.test, sizeof(fault.test));
  head_line(buf_str(&text), "Shows: ", fault.shows, sizeof(fault.shows));
  buf_release(&text);
  return fault;
}

static void run(const char *const *argv)
{
  struct error err = {0};
  struct child_result result = {0};
  int rc = child_run(&(struct child_spec){.argv = argv,
                                          .merge_stderr = true,
                                          .deadline_ms = clock_ms() + STEP_MS},
                     &result, &err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
  cr_assert_eq(result.status, 0, "%s:\n%s", argv[0], buf_str(&result.out));
  child_result_release(&result);
}

// Builds the start kernel with the fault, in a folder of the fault's own.
static void build_fault(const char *patch, const char *tree)
{
  run((const char *const[]){"mkdir", "-p", WORK, NULL});
  run((const char *const[]){"rm", "-rf", tree, NULL});
  run((const char *const[]){"cp", "-a", TREE, tree, NULL});
  run((const char *const[]){"patch", "-s", "-p1", "-d", tree, "-i", patch,
                            NULL});
  run((const char *const[]){"make", "-s", "-C", tree, NULL});
}

ParameterizedTestParameters(usertests, a_fault_fails_the_test_that_it_names)
{
  static struct row rows[100];
  const char *which = getenv("LABGEN_FAULTS");
  size_t count = 0;
  glob_t found;

  if (glob(FAULTS "/*.patch", 0, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc && count < 100; i++) {
      struct fault fault = read_fault(found.gl_pathv[i]);
      if ((which && strcmp(which, "all") == 0) ||
          strcmp(fault.shows, HANGS) != 0)
        snprintf(rows[count++].patch, sizeof(rows[0].patch), "%s",
                 found.gl_pathv[i]);
    }
    globfree(&found);
  }
  return cr_make_param_array(struct row, rows, count);
}

ParameterizedTest(struct row *row, usertests,
                  a_fault_fails_the_test_that_it_names)
{
  struct fault fault = read_fault(row->patch);
  char name[96], tree[200], kernel[240], command[80], begins[80];
  char *patch = realpath(row->patch, NULL);
  cr_assert_not_null(patch);

  snprintf(name, sizeof(name), "%s", strrchr(row->patch, '/') + 1);
  name[strcspn(name, ".")] = '\0';
  snprintf(tree, sizeof(tree), WORK "/%s", name);
  snprintf(kernel, sizeof(kernel), "%s/kernel/kernel", tree);
  snprintf(command, sizeof(command), "usertests %s\n", fault.test);
  snprintf(begins, sizeof(begins), "test %s: ", fault.test);
  build_fault(patch, tree);

  const struct boot_step steps[] = {
      {BOOT_WAIT_LINE, "$ ", 0, STEP_MS},
      {BOOT_SEND, command, 0, 0},
      {BOOT_WAIT_LINE, begins, 0, STEP_MS},
      {BOOT_WAIT, fault.shows, 0, STEP_MS},
  };
  free(console_of(kernel, steps, sizeof(steps) / sizeof(steps[0])));
  run((const char *const[]){"rm", "-rf", tree, NULL});
  free(patch);
}
