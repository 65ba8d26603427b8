// labgen doctor, on machines that lack something: a PATH with some of the
// tools, or with ones that are too old.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graders/doctor.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"

static char *bin;  // the only folder of PATH
static struct part_result *results;
static size_t count;

// Links a tool of this machine into the folder.
static void link_tool(const char *name)
{
  char *paths = xstrdup(getenv("PATH")), *rest = paths, *folder;
  while ((folder = strsep(&rest, ":")) != NULL) {
    char *from = path_join(folder, name), *to = path_join(bin, name);
    if (access(from, X_OK) == 0 && access(to, F_OK) != 0)
      cr_assert_eq(symlink(from, to), 0);
    free(from);
    free(to);
  }
  free(paths);
}

static void write_tool(const char *name, const char *script)
{
  char *path = path_join(bin, name);
  unlink(path);
  cr_assert_eq(file_write(path, script, strlen(script), 0755, NULL), 0);
  free(path);
}

static void make_bin(void)
{
  static const char *const tools[] = {
      "riscv64-unknown-elf-gcc", "riscv64-unknown-elf-ld", "make", "gcc",
      "qemu-system-riscv64",     "gdb-multiarch",          "bwrap"};
  cr_assert_eq(file_make_temp_dir(NULL, "test-doctor", &bin, NULL), 0);
  for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
    link_tool(tools[i]);
  setenv("LABGEN_DATA", ".", 1);
}

static void remove_bin(void)
{
  part_results_release(results, count);
  file_remove_tree(bin, NULL);
  free(bin);
}

TestSuite(doctor, .init = make_bin, .fini = remove_bin);

static const struct part_result *look(const char *name)
{
  setenv("PATH", bin, 1);
  part_results_release(results, count);
  doctor_look(&results, &count);
  const struct part_result *found = NULL;
  for (size_t i = 0; i < count; i++) {
    if (strcmp(results[i].name, name) == 0)
      found = &results[i];
  }
  cr_assert_not_null(found, "there is no part '%s'", name);
  return found;
}

static void expect(const char *name, enum part_state state, const char *seen)
{
  const struct part_result *r = look(name);
  cr_expect_eq(r->state, state, "%s is %s: %s", name, part_state_word(r->state),
               buf_str(&r->seen));
  cr_expect_not_null(strstr(buf_str(&r->seen), seen), "%s: %s", name,
                     buf_str(&r->seen));
}

Test(doctor, the_tools_that_kernels_need_are_found_and_told_by_version)
{
  expect("compiler", PART_THERE, "gcc");
  expect("linker", PART_THERE, "GNU ld");
  expect("make", PART_THERE, "GNU Make");
  expect("host compiler", PART_THERE, "gcc");
  expect("QEMU", PART_THERE, "QEMU emulator version");
}

Test(doctor, with_no_tools_at_all_each_is_missing_and_has_a_package)
{
  file_remove_tree(bin, NULL);
  static const char *const needed[] = {"compiler",      "linker", "make",
                                       "host compiler", "QEMU",   "sandbox"};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    expect(needed[i], PART_MISSING, "in PATH");
    cr_expect_not_null(look(needed[i])->package);
    cr_expect_not_null(look(needed[i])->upstream);
  }
  expect("gdb", PART_LACKING, "no gdb-multiarch in PATH");
  expect("QEMU plugin", PART_LACKING, "");
}

Test(doctor, a_compiler_that_does_not_know_the_instruction_set_is_missing)
{
  write_tool("riscv64-unknown-elf-gcc",
             "#!/bin/sh\n[ \"$1\" = --version ] && echo old gcc 9.3.0\n");
  expect("compiler", PART_MISSING, "old gcc 9.3.0: does not take -march=");
  cr_expect_not_null(strstr(buf_str(&look("compiler")->mend), "GCC 11.1"));
}

Test(doctor, a_compiler_of_another_usual_prefix_will_do)
{
  char *from = path_join(bin, "riscv64-unknown-elf-gcc");
  char *to = path_join(bin, "riscv64-linux-gnu-gcc");
  cr_assert_eq(rename(from, to), 0);
  free(from);
  free(to);
  expect("compiler", PART_THERE, "gcc");
  expect("linker", PART_MISSING, "no riscv64-linux-gnu-ld in PATH");
}

Test(doctor, a_linker_without_the_option_that_kernels_need_is_missing)
{
  write_tool("riscv64-unknown-elf-ld", "#!/bin/sh\necho GNU ld 2.38\n");
  expect("linker", PART_MISSING, "does not take --no-warn-rwx-segments");
}

Test(doctor, a_QEMU_that_is_too_old_is_missing)
{
  write_tool("qemu-system-riscv64",
             "#!/bin/sh\necho QEMU emulator version 6.2.0\n");
  expect("QEMU", PART_MISSING, "6.2.0");
  cr_expect_not_null(strstr(buf_str(&look("QEMU")->mend), "7.2"));
}

Test(doctor, a_plugin_that_QEMU_refuses_only_takes_something_away)
{
  setenv("LABGEN_PLUGIN", "tests/guest.S", 1);
  expect("QEMU plugin", PART_LACKING, "this QEMU does not take it");
}

Test(doctor, a_sandbox_that_is_forbidden_is_missing_and_says_why)
{
  write_tool("bwrap",
             "#!/bin/sh\n[ \"$1\" = --version ] && echo bubblewrap 0.8.0 && "
             "exit\necho No permissions to create new namespace\nexit 1\n");
  expect("sandbox", PART_MISSING, "No permissions to create new namespace");
  cr_expect_not_null(
      strstr(buf_str(&look("sandbox")->mend), "user namespaces"));
}

Test(doctor, students_need_no_sandbox)
{
  char *data = path_join(bin, "data");
  char *templates = path_join(data, "templates");
  char *graders = path_join(data, "graders"), *bwrap = path_join(bin, "bwrap");
  cr_assert_eq(file_mkdirs(templates, NULL), 0);
  cr_assert_eq(file_mkdirs(graders, NULL), 0);
  unlink(bwrap);
  setenv("LABGEN_DATA", data, 1);
  expect("sandbox", PART_LACKING, "no bwrap");
  free(data);
  free(templates);
  free(graders);
  free(bwrap);
}

Test(doctor, a_disk_that_is_full_or_not_there_is_missing)
{
  setenv("TMPDIR", "/nonexistent", 1);
  expect("disk", PART_MISSING, "0 MiB free in /nonexistent");
}

// ---- the command -------------------------------------------------------------

static struct child_result command(const char *option)
{
  struct child_result r = {0};
  const char *const argv[] = {LABGEN_BUILD "/labgen", "doctor", option, NULL};
  struct child_spec spec = {.argv = argv, .merge_stderr = true};
  cr_assert_eq(child_run(&spec, &r, NULL), 0);
  cr_assert_eq(r.end, CHILD_EXITED);
  return r;
}

Test(doctor, the_command_ends_with_1_and_one_line_that_installs_what_is_missing)
{
  file_remove_tree(bin, NULL);
  setenv("PATH", bin, 1);
  struct child_result r = command(NULL);
  cr_expect_eq(r.status, 1, "%s", buf_str(&r.out));
  cr_expect_not_null(strstr(buf_str(&r.out), "missing"), "%s", buf_str(&r.out));
  if (doctor_has_apt())
    cr_expect_not_null(
        strstr(buf_str(&r.out),
               "sudo apt-get update && sudo apt-get install "
               "gcc-riscv64-unknown-elf binutils-riscv64-unknown-elf make gcc "
               "qemu-system-misc gdb-multiarch bubblewrap\n"),
        "%s", buf_str(&r.out));
  child_result_release(&r);
}

Test(doctor, the_command_takes_no_argument)
{
  struct child_result r = command("--quickly");
  cr_expect_eq(r.status, 2);
  cr_expect_not_null(strstr(buf_str(&r.out), "--quickly"));
  child_result_release(&r);
}
