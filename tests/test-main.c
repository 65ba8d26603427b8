// The program itself: finding commands, help, exit statuses.
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "labgen/run/child.h"

static struct child_result run(const char *const *argv)
{
  struct child_result r = {0};
  struct child_spec spec = {.argv = argv, .env = (const char *const *)environ};
  cr_assert_eq(child_run(&spec, &r, NULL), 0);
  cr_assert_eq(r.end, CHILD_EXITED);
  return r;
}

#define LABGEN LABGEN_BUILD "/labgen"
#define RUN(...) run((const char *const[]){LABGEN, __VA_ARGS__, NULL})

Test(labgen, help_lists_the_commands_and_the_exit_statuses)
{
  struct child_result r = RUN("--help"), again = RUN("help");
  cr_expect_eq(r.status, 0);
  cr_expect_not_null(strstr(buf_str(&r.out), "\n  help "));
  cr_expect_not_null(strstr(buf_str(&r.out), "\n  build "));
  cr_expect_not_null(strstr(buf_str(&r.out), "Exit status: 0"));
  cr_expect_eq(r.err.len, 0);
  cr_expect_str_eq(buf_str(&r.out), buf_str(&again.out));
  child_result_release(&r);
  child_result_release(&again);
}

Test(labgen, every_command_explains_itself)
{
  struct child_result all = RUN("--help");
  const char *at = strstr(buf_str(&all.out), "Commands");
  size_t seen = 0;
  for (at = strchr(at, '\n') + 1; *at == ' '; at = strchr(at, '\n') + 1) {
    char name[32] = "";
    sscanf(at, " %31s", name);
    struct child_result a = RUN(name, "--help"), b = RUN("help", name);
    char start[64];
    snprintf(start, sizeof start, "usage: labgen %s", name);
    cr_expect_eq(a.status, 0, "%s", name);
    cr_expect_eq(strncmp(buf_str(&a.out), start, strlen(start)), 0, "%s", name);
    cr_expect_str_eq(buf_str(&a.out), buf_str(&b.out));
    child_result_release(&a);
    child_result_release(&b);
    seen++;
  }
  cr_expect_geq(seen, 2);
  child_result_release(&all);
}

Test(labgen, says_its_version)
{
  struct child_result r = RUN("--version");
  cr_expect_eq(r.status, 0);
  const char *second = strchr(buf_str(&r.out), '\n');
  cr_assert_not_null(second);
  cr_expect_eq(strncmp(buf_str(&r.out), "labgen " LABGEN_VERSION "\n",
                       strlen("labgen " LABGEN_VERSION "\n")),
               0);
  cr_expect_eq(strncmp(second, "\nQEMU plugin: ", 14), 0, "%s", second);
  child_result_release(&r);
}

static void expect_misuse(struct child_result r, const char *message)
{
  cr_expect_eq(r.status, 2);
  cr_expect_eq(r.out.len, 0);
  cr_expect_str_eq(buf_str(&r.err), message);
  child_result_release(&r);
}

Test(labgen, misuse_is_status_2_and_says_where_help_is)
{
  expect_misuse(run((const char *const[]){LABGEN, NULL}),
                "labgen: no command; try 'labgen --help'\n");
  expect_misuse(RUN("frobnicate"),
                "labgen: there is no command 'frobnicate'; try 'labgen "
                "--help'\n");
  expect_misuse(RUN("help", "frobnicate"),
                "labgen help: there is no command 'frobnicate'\n"
                "Try 'labgen help --help'.\n");
  expect_misuse(RUN("help", "a", "b"),
                "labgen help: one command at a time\n"
                "Try 'labgen help --help'.\n");
}

Test(labgen, what_is_typed_comes_back_escaped)
{
  expect_misuse(RUN("x\x1b[2J"),
                "labgen: there is no command 'x\\x1b[2J'; try 'labgen "
                "--help'\n");
  expect_misuse(RUN("help", "x\x1b[2J"),
                "labgen help: there is no command 'x\\x1b[2J'\n"
                "Try 'labgen help --help'.\n");
}

Test(labgen, output_that_is_lost_is_a_failure)
{
  struct child_result r = run((const char *const[]){
      "/bin/sh", "-c", LABGEN " --help >/dev/full", NULL});
  cr_expect_eq(r.status, 3);
  cr_expect_str_eq(buf_str(&r.err),
                   "labgen: cannot write the output: No space left on "
                   "device\n");
  child_result_release(&r);
}
