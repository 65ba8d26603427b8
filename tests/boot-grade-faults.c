// labgen grade where the machine is at fault: tools that are missing or die, and
// disks that fill up. Nobody loses marks by it, what was judged stays, and a
// second run with the fault mended finishes.
//
// Tools are put in the place of others through PATH, which works without the
// sandbox alone: inside of it there are only the system's own.
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graders/record.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"
#include "tests/lib-exam.h"

#define QEMU "qemu-system-riscv64"
#define GDB "gdb-multiarch"
#define GCC "riscv64-unknown-elf-gcc"

static char *tools, *path;  // a folder, and the environment's PATH of it alone
static const char *env[4];

// Replaces the first `old` of a text.
static void replace(struct buf *text, const char *old, const char *new)
{
  char *at = strstr(text->data, old);
  cr_assert(at, "no '%s'", old);
  buf_splice(text, (size_t)(at - text->data), strlen(old), new, strlen(new));
}

// A rubric that asks for no more than a boot to the shell.
static void write_rubric(void)
{
  static const char checks[] =
      "checks:\n"
      "  - {id: build, title: It builds, kind: build, marks: 1, hint: none}\n"
      "  - {id: object, title: Its object, kind: object, marks: 1, hint: none, "
      "needs: [build]}\n"
      "  - {id: boot, title: It boots, kind: boot, marks: 1, hint: none, "
      "needs: [build]}\n";
  struct buf lab = BUF_INIT, rubric = BUF_INIT, all = BUF_INIT;
  char *to = path_join(exam.dir, "rubric.yaml");
  cr_assert_eq(file_read("graders/percpu-kalloc.yaml", 1 << 20, &all, NULL), 0);
  const char *begin = strstr(all.data, "\nobject:");
  const char *end = strstr(all.data, "\nchecks:");
  cr_assert(begin && end);
  buf_adds(&rubric, "title: Faults");
  buf_add(&rubric, begin, (size_t)(end - begin));
  buf_addf(&rubric, "\n%s", checks);
  cr_assert_eq(file_write(to, rubric.data, rubric.len, 0644, NULL), 0);
  cr_assert_eq(file_read(exam.lab, 1 << 20, &lab, NULL), 0);
  replace(&lab, "graders/percpu-kalloc.yaml", "rubric.yaml");
  cr_assert_eq(file_write(exam.lab, lab.data, lab.len, 0644, NULL), 0);
  buf_release(&lab);
  buf_release(&rubric);
  buf_release(&all);
  free(to);
}

// A folder with links to all of the system's programs.
static void set_up(void)
{
  exam_set_up();
  write_rubric();
  tools = path_join(exam.dir, "tools");
  path = xasprintf("PATH=%s", tools);
  cr_assert_eq(file_mkdirs(tools, NULL), 0);
  DIR *bin = opendir("/usr/bin");
  struct dirent *e;
  cr_assert(bin);
  while ((e = readdir(bin))) {
    char *from = path_join("/usr/bin", e->d_name);
    char *to = path_join(tools, e->d_name);
    if (*e->d_name != '.')
      cr_assert_eq(symlink(from, to), 0, "%s", to);
    free(from);
    free(to);
  }
  closedir(bin);
  env[0] = path;
  env[1] = "HOME=/nonexistent";
  env[2] = "LC_ALL=C";
}

static void tear_down(void)
{
  free(tools);
  free(path);
  exam_tear_down();
}

TestSuite(faults, .init = set_up, .fini = tear_down);

static void remove_tool(const char *name)
{
  char *tool = path_join(tools, name);
  cr_assert_eq(unlink(tool), 0, "%s", tool);
  free(tool);
}

// Puts a script in a tool's place; "$real" is the tool.
static void replace_tool(const char *name, const char *script)
{
  char *tool = path_join(tools, name);
  char *text = xasprintf("#!/bin/sh\nreal=/usr/bin/%s\n%s\n", name, script);
  unlink(tool);
  cr_assert_eq(file_write(tool, text, strlen(text), 0755, NULL), 0);
  free(tool);
  free(text);
}

static void mend_tool(const char *name)
{
  replace_tool(name, "exec $real \"$@\"");
}

#define BOOT(status, part)                                                 \
  exam_run_expecting(status, env, part,                                    \
                     (const char *const[]){"--effort", "quick", "-j", "1", \
                                           "--no-sandbox", NULL})

// With one result judged, a tool fails before anything else is.
static void expect_that_a_run_stops(const char *why)
{
  char *before = exam_read("s0", "result.json");
  BOOT(3, why);
  char *after = exam_read("s0", "result.json");
  cr_assert_str_eq(after, before);
  free(before);
  free(after);
}

Test(faults, without_qemu_a_run_stops_and_one_with_it_finishes)
{
  exam_hand_in("s0", course_reference(&exam.course));
  BOOT(0, "1 graded now");
  exam_hand_in("s1", course_reference(&exam.course));
  remove_tool(QEMU);
  expect_that_a_run_stops("labgen doctor");
  replace_tool(QEMU, "echo 'no such machine' >&2; exit 1");
  expect_that_a_run_stops("no such machine");
  replace_tool(QEMU, "kill -SEGV $$");
  expect_that_a_run_stops("killed by signal 11");
  mend_tool(QEMU);
  BOOT(0, "1 graded now, 1 unchanged");
  exam_expect_verdict("s1", "boot", "pass");
}

// QEMU dies in each boot of one student's kernel, which it knows by a name among
// its symbols.
Test(faults, a_qemu_that_dies_costs_one_result_until_the_next_run)
{
  exam_hand_in_changed("s0", "", "  int die_here = 1;\n  (void)die_here;");
  exam_hand_in("s1", course_reference(&exam.course));
  replace_tool(QEMU,
               "for word; do\n"
               "  if [ \"$before\" = -kernel ] && grep -q die_here \"$word\"\n"
               "  then sleep 0.2; kill -KILL $$; fi\n"
               "  before=$word\n"
               "done\n"
               "exec $real \"$@\"");
  BOOT(3, "1 not judged");
  exam_expect_text("s0", "result.json", "\"status\": \"not judged\"", true);
  exam_expect_text("s0", "feedback.md", "you lose nothing by it", true);
  exam_expect_text("", "gradebook.csv", ",not judged,,", true);
  exam_expect_verdict("s1", "boot", "pass");
  mend_tool(QEMU);
  BOOT(0, "1 graded now, 1 unchanged");
  exam_expect_verdict("s0", "boot", "pass");
}

// The hang is judged; only its report is missing, and says so.
static void expect_hang_without_report(const char *why)
{
  exam_hand_in_changed("s0", "", "  for (;;)\n    ;");
  BOOT(1, "1 judged");
  exam_expect_text("s0", "evidence.json", why, true);
  exam_expect_verdict("s0", "boot", "fail");
}

Test(faults, without_gdb_a_hang_is_judged_all_the_same)
{
  remove_tool(GDB);
  expect_hang_without_report("no report on the hang: ");
}

Test(faults, with_a_gdb_that_crashes_a_hang_is_judged_all_the_same)
{
  replace_tool(GDB, "kill -SEGV $$");
  expect_hang_without_report(
      "no report on the hang: gdb-multiarch was killed by signal 11");
}

// As it is by default: gdb sees the kernel and the socket, and works.
Test(faults, the_hang_report_comes_from_a_gdb_in_the_sandbox)
{
  exam_hand_in_changed("s0", "", "  for (;;)\n    ;");
  EXAM_RUN(1, "--effort", "quick");
  exam_expect_text("s0", "evidence.json", "hart 0:", true);
  exam_expect_text("s0", "evidence.json", "kalloc()", true);
  exam_expect_text("s0", "evidence.json", "cpus[0]: noff", true);
}

// The submission does not compile, and nothing else would either.
Test(faults, a_compiler_that_fails_is_not_the_students_fault)
{
#define OBJECT(status, part) \
  exam_run_expecting(        \
      status, env, part,     \
      (const char *const[]){"--only", "object", "--no-sandbox", NULL})
  exam_hand_in_changed("s0", "// no other has this line", "");
  OBJECT(0, "1 judged");
  // Kernels outlive a test in the cache, so this one must be new.
  char *new = xasprintf("int broken; // %s", exam.dir);
  exam_hand_in_changed("s1", new, "");
  free(new);
  replace_tool(GCC,
               "case \"$*\" in\n"
               "*student/kalloc.c*) echo 'No space left' >&2; exit 1;;\n"
               "esac\nexec $real \"$@\"");
  OBJECT(3, "1 not judged");
  exam_expect_text("s1", "result.json", "nothing can be compiled here", true);
  exam_expect_verdict("s0", "object", "pass");
  mend_tool(GCC);
  OBJECT(0, "1 graded now, 1 unchanged");
#undef OBJECT
}

// Adds a check that asks the explorer, and boots nothing more.
static void ask_explorer(void)
{
  static const char check[] =
      "  - {id: explored, title: E, kind: traffic, marks: 1, hint: none, "
      "needs: [build], findings: [explorer/deadlock]}\n";
  struct buf rubric = BUF_INIT;
  char *to = path_join(exam.dir, "rubric.yaml");
  cr_assert_eq(file_read(to, 1 << 20, &rubric, NULL), 0);
  buf_adds(&rubric, check);
  cr_assert_eq(file_write(to, rubric.data, rubric.len, 0644, NULL), 0);
  buf_release(&rubric);
  free(to);
}

Test(faults, without_the_hosts_compiler_what_asks_the_explorer_is_not_judged)
{
#define EXPLORE(status, part)                                                \
  exam_run_expecting(                                                        \
      status, env, part,                                                     \
      (const char *const[]){"--only", "build,explored", "--effort", "quick", \
                            "-j", "1", "--no-sandbox", NULL})
  ask_explorer();
  exam_hand_in("s0", course_reference(&exam.course));
  replace_tool("gcc", "echo no memory left >&2; exit 1");
  EXPLORE(3, "1 not judged");
  exam_expect_verdict("s0", "build", "pass");
  exam_expect_verdict("s0", "explored", "not judged");
  exam_expect_text("s0", "result.json", "no memory left", true);
  exam_expect_text("s0", "result.json", "\"held\": []", true);
  mend_tool("gcc");
  EXPLORE(0, "1 judged");
  exam_expect_verdict("s0", "explored", "pass");
#undef EXPLORE
}

Test(faults, a_results_folder_that_fills_up_keeps_what_was_judged)
{
  char *script = xasprintf(
      "grade() {\n"
      "  %s grade -c %s -o %s/small/r -j 2 --cache %s --only object \\\n"
      "    --no-sandbox %s; echo status $?\n"
      "  echo have $(ls -d %s/small/r/only/s*/result.json | wc -l)\n"
      "}\n"
      "dd if=/dev/zero of=%s/small/fill bs=1k count=%d 2>&1\n"
      "grade\n"
      "rm %s/small/fill\n"
      "grade\n",
      exam.program, exam.lab, exam.dir, exam.cache, exam.work, exam.dir,
      exam.dir, 4096 - 150, exam.dir);
  char *small = path_join(exam.dir, "small");
  const char *argv[] = {"bwrap", "--bind",  "/",      "/",       "--dev-bind",
                        "/dev",  "/dev",    "--size", "4194304", "--tmpfs",
                        small,   "/bin/sh", "-c",     script,    NULL};
  struct child_spec spec = {.argv = argv, .merge_stderr = true};
  struct child_result result = {0};
  for (int i = 0; i < 20; i++) {
    char *id = xasprintf("s%d", i);
    exam_hand_in(id, course_reference(&exam.course));
    free(id);
  }
  cr_assert_eq(file_mkdirs(small, NULL), 0);
  cr_assert_eq(child_run(&spec, &result, NULL), 0);
  const char *text = buf_str(&result.out);
  const char *full = strstr(text, "status 3");
  cr_assert(full && strstr(text, "No space left on device"), "%s", text);
  int kept = 0;
  cr_assert_eq(sscanf(full, "status 3\nhave %d", &kept), 1, "%s", text);
  cr_assert(kept > 0 && kept < 20, "%d: %s", kept, text);
  char *rest = xasprintf("%d graded now, %d unchanged", 20 - kept, kept);
  cr_assert(strstr(full, rest), "no '%s' in %s", rest, text);
  cr_assert(strstr(full, "status 0\nhave 20"), "%s", text);
  child_result_release(&result);
  free(rest);
  free(small);
  free(script);
}

// --- what results depend on -------------------------------------------------

// A copy of the graders' data, which a test may change.
static char *copy_data(void)
{
  const char *data;
  cr_assert_eq(data_dir(&data, NULL), 0);
  char *copy = path_join(exam.dir, "data");
  char *script = xasprintf(
      "mkdir %s && cp -R %s/graders %s/ && ln -s %s/build %s/templates "
      "%s/solutions %s/",
      copy, data, copy, data, data, data, copy);
  const char *argv[] = {"/bin/sh", "-c", script, NULL};
  struct child_spec spec = {.argv = argv, .merge_stderr = true};
  struct child_result result = {0};
  cr_assert_eq(child_run(&spec, &result, NULL), 0);
  cr_assert_eq(result.status, 0, "%s", buf_str(&result.out));
  child_result_release(&result);
  free(script);
  return copy;
}

static void append(const char *folder, const char *name)
{
  char *file = path_join(folder, name);
  FILE *f = fopen(file, "a");
  cr_assert(f, "%s", file);
  cr_assert_gt(fputs("#define ANOTHER_LINE\n", f), 0);
  fclose(f);
  free(file);
}

Test(faults, another_file_that_judges_regrades_and_no_other_file_does)
{
  static const char *const judging[] = {"graders/percpu-kalloc-explore.yaml",
                                        "graders/hang.py",
                                        "graders/explore/rt/host.h"};
  char *data = copy_data(), *named = xasprintf("LABGEN_DATA=%s", data);
  const char *const options[] = {"--only", "object", NULL};
  char *usual = xasprintf("PATH=%s", getenv("PATH"));
  const char *const all[] = {usual, env[1], env[2], named, NULL};
  exam_hand_in("s0", course_reference(&exam.course));
  exam_run_expecting(0, all, "1 graded now", options);
  for (size_t i = 0; i < sizeof(judging) / sizeof(judging[0]); i++) {
    exam_run_expecting(0, all, "0 graded now, 1 unchanged", options);
    append(data, judging[i]);
    exam_run_expecting(0, all, "1 graded now, 0 unchanged", options);
  }
  append(exam.dir, "rubric.yaml");
  exam_run_expecting(0, all, "1 graded now, 0 unchanged", options);
  append(data, "graders/README.md");
  append(exam.dir, "lab.yaml");
  exam_run_expecting(0, all, "0 graded now, 1 unchanged", options);
  free(data);
  free(usual);
  free(named);
}
