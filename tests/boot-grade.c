// labgen grade, as it is run: real submissions, real kernels, and what hostile
// ones try.
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "graders/record.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"
#include "tests/lib-exam.h"

TestSuite(grade, .init = exam_set_up, .fini = exam_tear_down);

// --- without boots ----------------------------------------------------------

Test(grade, each_submission_gets_what_it_deserves_and_no_other_suffers)
{
  exam_hand_in("s0", course_reference(&exam.course));
  exam_hand_in("s1", course_reference(&exam.course));
  exam_change("s1", "kernel/kalloc.c", "void *kalloc(void)\n{",
              "void *kalloc(void)\n{ return MY_LIMIT;");
  exam_change("s1", "kernel/param.h", "#define NCPU",
              "#define MY_LIMIT 0\n#define NCPU");
  exam_put("s2/readme.txt", "nothing else\n");
  exam_put("s3.zip", "no archive\n");
  exam_put("stranger.zip", "x");
  EXAM_RUN(1, "--only", "object");
  exam_expect_verdict("s0", "object", "pass");
  exam_expect_verdict("s1", "build", "fail");
  exam_expect_text("s1", "result.json", "kernel/param.h: 'MY_LIMIT' comes from",
                   true);
  exam_expect_text("s2", "result.json", "the submission has no kernel/kalloc.c",
                   true);
  exam_expect_text("s3", "feedback.md", "no archive", true);
  exam_expect_text("", "report.html", "stranger.zip", true);
  exam_expect_text("", "gradebook.csv", "s4,'=cmd|x <b>4", true);
  exam_expect_text("", "report.html", "<b>4", false);
  exam_expect_text("", "junit.xml", "classname=\"percpu-kalloc.s1\"", true);
}

Test(grade, unchanged_submissions_are_not_graded_again_and_overrides_survive)
{
  exam_hand_in("s0", course_reference(&exam.course));
  EXAM_RUN(0, "--only", "object");
  exam_put("../results/only/overrides.yaml",
           "- {student: s0, check: object, marks: 2, reason: late talk}\n");
  struct ran ran = EXAM_RUN_WITH(NULL, "--only", "object");
  cr_assert(strstr(buf_str(&ran.text), "0 graded now, 1 unchanged"), "%s",
            buf_str(&ran.text));
  cr_assert_eq(ran.status, 1);
  buf_release(&ran.text);
  exam_expect_text("s0", "feedback.md", "Staff decided: late talk", true);
  EXAM_RUN(1, "--only", "object", "--again");
  exam_expect_text("s0", "feedback.md", "Staff decided: late talk", true);
  exam_expect_text("", "gradebook.csv", ",judged,4,5,", true);
}

// As Gradescope exports them, which says when each was handed in.
Test(grade, late_days_cost_what_the_lab_file_says_and_staff_stand_above_it)
{
  struct buf lab = BUF_INIT;
  cr_assert_eq(file_read(exam.lab, 1 << 20, &lab, NULL), 0);
  char *at = strstr(lab.data, "late_days: 3");
  cr_assert(at);
  buf_splice(&lab, (size_t)(at - lab.data), 12,
             "late_days: 3\n  late_penalty: 10", 31);
  cr_assert_eq(file_write(exam.lab, lab.data, lab.len, 0644, NULL), 0);
  exam_put("submission_metadata.yml",
           "submission_1:\n  :submitters:\n  - :sid: s0\n"
           "  :created_at: 2025-03-21 12:00:00 Z\n"
           "submission_2:\n  :submitters:\n  - :sid: s1\n"
           "  :created_at: 2025-03-23 12:00:00 Z\n"
           "submission_3:\n  :submitters:\n  - :sid: s2\n"
           "  :created_at: 2025-03-26 12:00:00 Z\n"
           "submission_4:\n  :submitters:\n  - :sid: s3\n"
           "  :created_at: 2025-03-26 12:00:00 Z\n");
  for (int i = 1; i <= 4; i++) {
    char *name = xasprintf("submission_%d", i);
    exam_hand_in(name, course_reference(&exam.course));
    free(name);
  }
  exam_put("../results/only/overrides.yaml",
           "- {student: s3, check: total, marks: 3, reason: was ill}\n");
  EXAM_RUN(1, "--only", "object");
  exam_expect_text("", "gradebook.csv", ",judged,5,5,0,0,,", true);
  exam_expect_text("", "gradebook.csv", ",judged,4,5,2,1,2 late", true);
  exam_expect_text("", "gradebook.csv", ",judged,0,5,5,5,5 days", true);
  exam_expect_text("", "gradebook.csv", ",judged,3,5,5,0,5 days", true);
  exam_expect_text("s1", "feedback.md", "takes 1 mark off the 5", true);
  exam_expect_text("s2", "result.json", "\"too_late\": true", true);
  exam_expect_text("s3", "feedback.md", "Marks: 3 of 5", true);
  buf_release(&lab);
}

Test(grade, a_wrong_override_is_an_error_with_its_line)
{
  exam_hand_in("s0", course_reference(&exam.course));
  exam_put("../results/only/overrides.yaml",
           "- {student: s0, check: nosuch, marks: 2, reason: x}\n"
           "- {student: s99, check: object, marks: 2, reason: x}\n");
  struct ran ran = EXAM_RUN_WITH(NULL, "--only", "object");
  cr_assert_eq(ran.status, 2);
  cr_assert(strstr(buf_str(&ran.text), "overrides.yaml:1:"), "%s",
            buf_str(&ran.text));
  buf_release(&ran.text);
}

Test(grade, a_second_run_on_one_folder_says_so)
{
  char *folder = path_join(exam.results, "only"),
       *lock = path_join(folder, ".lock");
  exam_hand_in("s0", course_reference(&exam.course));
  cr_assert_eq(file_mkdirs(folder, NULL), 0);
  cr_assert_eq(file_write(lock, "", 0, 0600, NULL), 0);
  FILE *held = fopen(lock, "r");
  cr_assert_eq(flock(fileno(held), LOCK_EX), 0);
  struct ran ran = EXAM_RUN_WITH(NULL, "--only", "object");
  cr_assert_eq(ran.status, 1);
  cr_assert(strstr(buf_str(&ran.text), "another labgen is at work"), "%s",
            buf_str(&ran.text));
  buf_release(&ran.text);
  fclose(held);
  free(folder);
  free(lock);
}

Test(grade, a_dry_run_shows_whose_is_what_and_makes_nothing)
{
  exam_hand_in("s0", course_reference(&exam.course));
  exam_put("stranger.zip", "x");
  struct ran ran = EXAM_RUN_WITH(NULL, "--dry-run");
  cr_assert_eq(ran.status, 1);
  cr_assert(strstr(buf_str(&ran.text), "s0\t"), "%s", buf_str(&ran.text));
  cr_assert(strstr(buf_str(&ran.text), "stranger.zip: nobody"));
  cr_assert_not(file_exists(exam.results));
  buf_release(&ran.text);
}

// Files of the host that the compiler must not be able to show.
Test(grade, the_compiler_reads_no_secrets_of_the_host)
{
  char *secret = path_join(exam.dir, "secret.h");
  cr_assert_eq(file_write(secret, "TOP-SECRET !\n", 13, 0644, NULL), 0);
  char *include = xasprintf("#include \"%s\"", secret);
  char *incbin = xasprintf(
      "asm(\".section .rodata\\n.incbin \\\"%s\\\"\\n"
      ".text\");",
      secret);
  exam_hand_in_changed("s0", include, "");
  exam_hand_in_changed("s1", incbin, "");
  exam_hand_in_changed("s2", "#include \"/etc/passwd\"", "");
  EXAM_RUN(1, "--only", "object");
  for (int i = 0; i < 3; i++) {
    char id[16];
    snprintf(id, sizeof(id), "s%d", i);
    exam_expect_verdict(id, "build", "fail");
    exam_expect_text(id, "result.json", "TOP-SECRET", false);
    exam_expect_text(id, "result.json", "root:", false);
  }
  free(secret);
  free(include);
  free(incbin);
}

// A thousand million terms.
#define HUGE_SUM                                                \
  "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(x)))\n" \
  "#define C(x) B(B(B(x)))\nint many[] = {C(1 +) 0};"

Test(grade, a_compile_that_eats_memory_or_output_costs_itself_alone)
{
  exam_hand_in_changed("s0", "char huge[1ull << 60] = {1};", "");
  exam_hand_in_changed("s1", HUGE_SUM, "");
  exam_hand_in("s2", course_reference(&exam.course));
  EXAM_RUN(1, "--only", "object");
  exam_expect_verdict("s0", "build", "fail");
  exam_expect_verdict("s1", "build", "fail");
  exam_expect_verdict("s2", "object", "pass");
}

Test(grade, the_lab_file_bounds_compilers_of_submissions)
{
  static const char limits[] =
      "limits: {compile_seconds: 1, compile_memory_mib: 65536}\n";
  struct buf lab = BUF_INIT;
  cr_assert_eq(file_read(exam.lab, 1 << 20, &lab, NULL), 0);
  cr_assert_null(strstr(lab.data, "\nlimits:"));
  buf_adds(&lab, limits);
  cr_assert_eq(file_write(exam.lab, lab.data, lab.len, 0644, NULL), 0);
  exam_hand_in_changed("s0", HUGE_SUM, "");
  exam_hand_in("s1", course_reference(&exam.course));
  EXAM_RUN(1, "--only", "object");
  exam_expect_verdict("s0", "build", "fail");
  exam_expect_text("s0", "result.json", "CPU time", true);
  exam_expect_verdict("s1", "object", "pass");
  buf_release(&lab);
}

Test(grade, what_the_object_shows_is_held_for_staff)
{
  exam_hand_in_changed("s0", "", "  *(volatile char *)0x10000000 = 'x';");
  exam_hand_in_changed("s1", "", "  *(volatile int *)0x100000 = 0x5555;");
  exam_hand_in_changed("s2",
                       "__attribute__((section(\".trampsec\"))) int odd(void)\n"
                       "{\n  return 1;\n}\n",
                       "");
  exam_hand_in_changed("s3",
                       "int ticks_of_mine(void) { return 1; }\nint nproc = 1;\n"
                       "void procdump(void) {}\n",
                       "");
  exam_hand_in_changed("s4", "", "  printf(\"ALL TESTS PASSED\\n\");");
  exam_hand_in_changed("s5", "", "  asm volatile(\"csrw sscratch, zero\");");
  EXAM_RUN(1, "--only", "object");
  for (int i = 0; i < 6; i++) {
    char id[16];
    snprintf(id, sizeof(id), "s%d", i);
    json_t *record = exam_result(id);
    bool built = strcmp(exam_verdict(record, "build"), "pass") == 0;
    cr_expect_str_neq(exam_verdict(record, "object"), "pass", "%s", id);
    cr_expect(!built || json_array_size(json_object_get(record, "held")) > 0,
              "%s is not held", id);
    json_decref(record);
  }
}

// One that only a RISC-V compiler takes, and one that ends the process of this
// host that runs it (exit_group), which it knows by its few pages.
Test(grade, what_cannot_be_explored_is_no_pass_and_is_held_for_staff)
{
  exam_hand_in_changed("s0", "",
                       "  asm volatile(\"add t0, t0, zero\" ::: \"t0\");");
  exam_hand_in_changed(
      "s1", "",
      "  if (PHYSTOP - (uint64)end < (4 << 20))\n"
      "    asm volatile(\".byte 0xb8,231,0,0,0,0x31,0xff,0x0f,5,0x90,0x90,"
      "0x90\");");
  exam_hand_in("s2", course_reference(&exam.course));
  EXAM_RUN(1, "--only", "build,traffic-shared", "--effort", "quick");
  for (int i = 0; i < 3; i++) {
    char id[16];
    snprintf(id, sizeof(id), "s%d", i);
    json_t *record = exam_result(id);
    cr_expect_str_eq(record_text(record, "status"), "judged", "%s", id);
    cr_expect_str_eq(exam_verdict(record, "build"), "pass", "%s", id);
    cr_expect_str_eq(exam_verdict(record, "traffic-shared"),
                     i == 2 ? "pass" : "not reached", "%s", id);
    cr_expect_eq(json_array_size(json_object_get(record, "held")) > 0, i != 2,
                 "%s", id);
    json_decref(record);
  }
  exam_expect_text("s0", "feedback.md", "cannot run this file", true);
  exam_expect_text("s0", "feedback.md", "kalloc.c:", true);
  exam_expect_text("s1", "feedback.md", "ended the explorer", true);
}

Test(grade, what_students_write_injects_nothing)
{
  static const char evil[] = "<script>alert(1)</script>";
  exam_hand_in_changed("s0", "#error <script>alert(1)</script> \x1b[2J ]]>",
                       "");
  char *name = xasprintf("s0/kernel/%s.c", "<img src=x>");
  exam_put(name, "");
  EXAM_RUN(1, "--only", "object");
  exam_expect_text("", "report.html", evil, false);
  exam_expect_text("", "report.html", "<img", false);
  exam_expect_text("", "junit.xml", evil, false);
  exam_expect_text("", "junit.xml", "]]>", false);
  exam_expect_text("s0", "feedback.md", "\x1b", false);
  exam_expect_text("", "report.html", "\x1b", false);
  exam_expect_text("", "report.html", "&lt;script&gt;alert(1)", true);
  free(name);
}

// --- killed runs ------------------------------------------------------------

enum { KILL_STUDENTS = 6 };

static char *kill_student(int i)
{
  return xasprintf("s%d", i);
}

// Starts a run and kills it after so many milliseconds.
static void run_and_kill(int64_t after_ms)
{
  const char *argv[] = {exam.program, "grade",      "-c",     exam.lab,
                        "-o",         exam.results, "-j",     "2",
                        "--cache",    exam.cache,   "--only", "object",
                        exam.work,    NULL};
  struct child_spec spec = {.argv = argv, .merge_stderr = true};
  struct child *child = NULL;
  cr_assert_eq(child_start(&spec, &child, NULL), 0);
  int64_t until = clock_ms() + after_ms;
  while (!child_ended(child) && clock_ms() < until)
    cr_assert_eq(children_poll(&child, 1, until, NULL), 0);
  kill(child_pid(child), SIGKILL);
  child_release(child);
}

// Results that are there are whole, and what was there stays. Returns their
// number.
static int look_at_results(char *const *whole, bool *there)
{
  int count = 0;
  for (int i = 0; i < KILL_STUDENTS; i++) {
    struct buf b = BUF_INIT;
    char *id = kill_student(i), *path = exam_place(id, "result.json");
    if (file_read(path, 1 << 20, &b, NULL) == 0) {
      json_t *record = record_read(path);
      cr_assert_str_eq(record_text(record, "status"), "judged", "%s", id);
      json_t *last = json_loads(whole[i], 0, NULL);
      cr_assert_str_eq(record_text(record, "key"), record_text(last, "key"));
      json_decref(last);
      json_decref(record);
      there[i] = true;
      count++;
    }
    cr_assert(file_exists(path) || !there[i], "%s was lost", id);
    buf_release(&b);
    free(path);
    free(id);
  }
  return count;
}

// Kills the run again and again at moments that differ; what is there in the
// end is what a run that nobody killed leaves. `make kill-points` does it for
// longer.
Test(grade, a_killed_run_goes_on_where_it_stopped)
{
  const char *named = getenv("LABGEN_KILLS");
  int kills = named ? atoi(named) : 20;
  char *whole[KILL_STUDENTS];
  bool there[KILL_STUDENTS] = {0};
  cr_assert_gt(kills, 0);
  for (int i = 0; i < KILL_STUDENTS; i++) {
    char *id = kill_student(i);
    exam_hand_in_changed(id, "", i % 2 ? "" : "  printf(\"x\");");
    free(id);
  }
  EXAM_RUN(1, "--only", "object");  // the course's kernels are there then
  cr_assert_eq(file_remove_tree(exam.results, NULL), 0);
  int64_t start_ms = clock_ms();
  EXAM_RUN(1, "--only", "object");
  int64_t whole_ms = clock_ms() - start_ms;
  char *gradebook = exam_read("", "gradebook.csv");
  for (int i = 0; i < KILL_STUDENTS; i++) {
    char *id = kill_student(i);
    whole[i] = exam_read(id, "result.json");
    free(id);
  }
  cr_assert_eq(file_remove_tree(exam.results, NULL), 0);
  unsigned draw = 12345;
  for (int i = 0; i < kills; i++) {
    draw = draw * 1103515245 + 12345;
    run_and_kill(20 + (draw >> 16) % whole_ms);
    // Where nothing is left to do, it begins anew.
    if (look_at_results(whole, there) == KILL_STUDENTS && i + 1 < kills) {
      cr_assert_eq(file_remove_tree(exam.results, NULL), 0);
      memset(there, 0, sizeof there);
    }
  }
  EXAM_RUN(1, "--only", "object");
  for (int i = 0; i < KILL_STUDENTS; i++) {
    char *id = kill_student(i), *resumed = exam_read(id, "result.json");
    cr_assert_str_eq(resumed, whole[i]);
    free(resumed);
    free(whole[i]);
    free(id);
  }
  char *resumed = exam_read("", "gradebook.csv");
  cr_assert_str_eq(resumed, gradebook);
  free(gradebook);
  free(resumed);
}
