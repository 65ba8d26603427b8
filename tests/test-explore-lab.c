// graders/explore/lab: the data of a lab.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graders/explore/lab.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

static char *dir, *path;

static void setup(void)
{
  cr_assert_eq(file_make_temp_dir(NULL, "explore-lab-", &dir, NULL), 0);
  path = path_join(dir, "lab.yaml");
}

static void teardown(void)
{
  file_remove_tree(dir, NULL);
  free(dir);
  free(path);
}

TestSuite(explore_lab, .init = setup, .fini = teardown);

static const char start[] =
    "file: kernel/kalloc.c\n"
    "interface:\n"
    "  init: {name: setup}\n"
    "  alloc: {name: get, arguments: [0, 3]}\n"
    "  free: {name: put}\n"
    "harts: [[0, 1, 2]]\n";

static void refuse(const char *rest, const char *words)
{
  struct ex_lab lab = {.programs = 99};
  struct error err = {0};
  char *text = xasprintf("%s%s", start, rest);
  cr_assert_eq(file_write(path, text, strlen(text), 0644, NULL), 0);
  cr_assert_eq(ex_lab_read(path, &lab, &err), LG_EINPUT);
  cr_assert_not_null(strstr(err.message, words), "%s", err.message);
  cr_assert_eq(lab.programs, 99);
  error_release(&err);
  free(text);
}

Test(explore_lab, everything_is_read)
{
  struct ex_lab lab;
  struct error err = {0};
  char *text = xasprintf(
      "%sprograms:\n  - name: p\n    pages: 5\n    bound: 1\n"
      "    before: [[alloc 2]]\n    harts: [[], [free, give 2], [take]]\n",
      start);
  cr_assert_eq(file_write(path, text, strlen(text), 0644, NULL), 0);
  cr_assert_eq(ex_lab_read(path, &lab, &err), 0, "%s", err.message);
  cr_assert_str_eq(lab.alloc.name, "get");
  cr_assert_eq(lab.alloc.args, 2);
  cr_assert_eq(lab.alloc.arg[1], 3);
  cr_assert_eq(lab.max_pages, 5);
  const struct ex_program *p = &lab.program[0];
  cr_assert_eq(p->bound, 1);
  cr_assert_eq(p->before[0].op[0].number, 2);
  cr_assert_eq(p->thread[0].count, 0);
  cr_assert_eq(p->thread[1].op[0].kind, OP_FREE);
  cr_assert_eq(p->thread[1].op[0].number, 1);
  cr_assert_eq(p->thread[1].op[1].kind, OP_GIVE);
  cr_assert_eq(p->thread[2].op[0].kind, OP_TAKE);
  ex_lab_release(&lab);
  free(text);
}

Test(explore_lab, what_is_wrong_is_said_with_its_place)
{
  refuse("progams: []\n", "lab.yaml:7:1: unknown key 'progams'");
  refuse("programs:\n  - {name: p, pages: 5, harts: [[alok]]}\n",
         ":8:34: unknown operation 'alok'");
  refuse("programs:\n  - {name: p, pages: 5, harts: [[give]]}\n",
         "a number must follow 'give'");
  refuse("programs:\n  - {name: p, pages: 5, harts: [[give 3]]}\n",
         "the number must be 0 to 2 in 'give 3'");
  refuse("programs:\n  - {name: p, pages: x}\n", "'x' is no number");
  refuse("programs:\n  - {name: p}\n", "needs a name and 'pages'");
  refuse("judged: [dead]\n", "there is no finding or note 'dead'");
  refuse("programs: [\n", "lab.yaml:8:");
  refuse("programs: []\n", "must not be empty");
}

Test(explore_lab, the_lab_of_this_repository_is_good)
{
  struct ex_lab lab;
  struct error err = {0};
  const char *data;
  cr_assert_eq(data_dir(&data, &err), 0);
  char *real = path_join(data, "graders/percpu-kalloc-explore.yaml");
  cr_assert_eq(ex_lab_read(real, &lab, &err), 0, "%s", err.message);
  cr_assert_geq(lab.programs, 15);
  ex_lab_release(&lab);
  free(real);
}
