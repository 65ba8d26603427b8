// Submissions that try to get marks that they have not earned, graded as staff
// grade: none gains a mark from the console, what is seen is held for staff with
// its place, and the submission beside them has full marks. What the compiler
// and the object check stop is in tests/boot-grade.c.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/record.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "tests/lib-exam.h"

// --- the rubric -------------------------------------------------------------

static void replace(struct buf *b, const char *old, const char *new)
{
  char *at = strstr(buf_str(b), old);
  cr_assert(at, "no '%s'", old);
  buf_splice(b, (size_t)(at - b->data), strlen(old), new, strlen(new));
}

// The lab's rubric with shorter runs and other checks.
static void write_rubric(const char *checks)
{
  struct buf rubric = BUF_INIT, lab = BUF_INIT;
  char *to = path_join(exam.dir, "rubric.yaml");
  cr_assert_eq(file_read("graders/percpu-kalloc.yaml", 1 << 20, &rubric, NULL),
               0);
  replace(&rubric, "type: kchurn -n NONCE", "type: kchurn -n NONCE 20");
  replace(&rubric, "type: kalloctest -n NONCE", "type: kalloctest -n NONCE 20");
  replace(&rubric, "\ndesigns: ", "\n# ");
  replace(&rubric, "\nstart_fails: ", "\n# ");
  char *old = strstr(rubric.data, "\nchecks:");
  cr_assert(old);
  buf_truncate(&rubric, (size_t)(old - rubric.data));
  buf_adds(&rubric, checks);
  cr_assert_eq(file_write(to, rubric.data, rubric.len, 0644, NULL), 0);
  cr_assert_eq(file_read(exam.lab, 1 << 20, &lab, NULL), 0);
  replace(&lab, "graders/percpu-kalloc.yaml", "rubric.yaml");
  cr_assert_eq(file_write(exam.lab, lab.data, lab.len, 0644, NULL), 0);
  buf_release(&rubric);
  buf_release(&lab);
  free(to);
}

TestSuite(hostile, .init = exam_set_up, .fini = exam_tear_down,
          .timeout = 1800);

// --- the drawn word ---------------------------------------------------------

#define USERTESTS_CHECKS                                                  \
  "\nchecks:\n"                                                           \
  "  - {id: build, title: B, kind: build, marks: 1, hint: H}\n"           \
  "  - {id: boot, title: B, kind: boot, needs: [build], marks: 1, "       \
  "hint: H}\n"                                                            \
  "  - {id: usertests, title: U, kind: console, effort: full, marks: 1, " \
  "hint: H, program: usertests, lines: [NONCE ALL TESTS PASSED]}\n"       \
  "  - {id: said, title: S, kind: console, effort: full, marks: 1, "      \
  "hint: H, program: wordless, lines: [ALL TESTS PASSED]}\n"              \
  "  - {id: earned, title: E, kind: console, effort: full, marks: 1, "    \
  "hint: H, program: wordless, lines: [NONCE ALL TESTS PASSED]}\n"

// A run that was not given the word passes all its tests, and says so in vain.
Test(hostile, usertests_earns_its_marks_with_the_word_of_its_run_alone)
{
  struct buf rubric = BUF_INIT;
  char *path = path_join(exam.dir, "rubric.yaml");
  write_rubric(USERTESTS_CHECKS);
  cr_assert_eq(file_read(path, 1 << 20, &rubric, NULL), 0);
  replace(&rubric, "  - {id: kalloctest-again,",
          "  - {id: wordless, type: usertests copyin, effort: full}\n"
          "  - {id: kalloctest-again,");
  cr_assert_eq(file_write(path, rubric.data, rubric.len, 0644, NULL), 0);
  exam_hand_in("s0", course_reference(&exam.course));
  EXAM_RUN(1, "--only", "build,boot,usertests,said,earned");
  exam_expect_verdict("s0", "boot", "pass");
  exam_expect_verdict("s0", "usertests", "pass");
  exam_expect_verdict("s0", "said", "pass");
  exam_expect_verdict("s0", "earned", "fail");
  json_t *record = exam_result("s0");
  cr_expect_eq(record_number(json_object_get(record, "final"), "marks"), 4);
  json_decref(record);
  buf_release(&rubric);
  free(path);
}

// --- attempts ---------------------------------------------------------------

// What is changed in the reference, and what must come of it.
struct attempt {
  const char *name;
  const char *before;                  // is put in front of kfree()
  const char *kfree, *kalloc, *kinit;  // ... at the beginning of these
  const char *procdump, *kmemdump;     // ... and at their end
  const char *old, *new;               // ... and this replaced, in kalloc.c
  const char *check, *verdict, *words;
  bool held;  // with these words
};

static void put_in(const char *student, const char *file, const char *behind,
                   const char *text)
{
  if (text) {
    char *new = xasprintf("%s%s", behind, text);
    exam_change(student, file, behind, new);
    free(new);
  }
}

static void hand_in(const char *student, const struct attempt *a)
{
  static const char kalloc_c[] = "kernel/kalloc.c";
  exam_hand_in(student, course_reference(&exam.course));
  put_in(student, kalloc_c, "void kinit(void)\n{\n", a->kinit);
  put_in(student, kalloc_c, "void kfree(void *pa)\n{\n", a->kfree);
  put_in(student, kalloc_c, "void *kalloc(void)\n{\n", a->kalloc);
  put_in(student, kalloc_c, "void kmemdump(void)\n{\n", a->kmemdump);
  put_in(student, "kernel/proc.c", "  kmemdump();\n", a->procdump);
  if (a->old)
    exam_change(student, kalloc_c, a->old, a->new);
  put_in(student, kalloc_c, "enum { BATCH = 64 };\n", a->before);
}

// --- what comes of them -----------------------------------------------------

static bool has_words(const json_t *lines, const char *words)
{
  size_t i;
  json_t *line;
  json_array_foreach(lines, i, line)
  {
    if (strstr(json_string_value(line), words))
      return true;
  }
  return false;
}

static const json_t *row_of(const json_t *record, const char *check)
{
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(record, "checks"), i, row)
  {
    if (strcmp(record_text(row, "id"), check) == 0)
      return row;
  }
  cr_assert_fail("no check %s", check);
  return NULL;
}

static void expect(const char *student, const struct attempt *a)
{
  json_t *record = exam_result(student);
  const json_t *row = row_of(record, a->check);
  const json_t *held = json_object_get(record, "held");
  const json_t *seen = json_object_get(row, "evidence");
  char *said = json_dumps(a->held ? held : seen, 0);
  cr_expect_str_eq(record_text(record, "status"), "judged", "%s", a->name);
  cr_expect_str_eq(record_text(row, "verdict"), a->verdict, "%s: %s", a->name,
                   said);
  cr_expect(has_words(a->held ? held : seen, a->words), "%s: %s", a->name,
            said);
  cr_expect_eq(json_array_size(held) > 0, a->held, "%s: %s", a->name, said);
  free(said);
  json_decref(record);
}

// --- on the console ---------------------------------------------------------

// Nothing but what the plain kernel shows.
#define CHECKS "build,object,boot,writers,kalloctest"
#define CONSOLE_CHECKS                                                      \
  "\nchecks:\n"                                                             \
  "  - {id: build, title: B, kind: build, marks: 1, hint: H}\n"             \
  "  - {id: object, title: O, kind: object, needs: [build], marks: 1, "     \
  "hint: H}\n"                                                              \
  "  - {id: boot, title: B, kind: boot, needs: [build], worth_with: "       \
  "[writers], marks: 1, hint: H}\n"                                         \
  "  - {id: writers, title: W, kind: writers, needs: [build], marks: 0, "   \
  "hint: H}\n"                                                              \
  "  - {id: kalloctest, title: K, kind: console, effort: tests, needs: "    \
  "[boot], worth_with: [writers], marks: 1, hint: H, program: kalloctest, " \
  "lines: ['NONCE kalloctest: churn: OK', 'NONCE kalloctest: gather: OK', " \
  "'NONCE kalloctest: exhaust: OK', 'NONCE kalloctest: no leaks: OK', "     \
  "'NONCE kalloctest: ALL OK']}\n"

// With it kalloctest fails.
#define LEAK \
  "  static volatile int frees;\n  if (++frees % 5000 == 0)\n    return;\n"
#define LINES(word)                                                           \
  "\\n" word "kalloctest: churn: OK\\n" word "kalloctest: gather: OK\\n" word \
  "kalloctest: exhaust: OK\\n" word "kalloctest: no leaks: OK\\n" word        \
  "kalloctest: ALL OK\\n$ "
#define EVERY(text)                \
  "  static volatile int calls;\n" \
  "  if (++calls % 3000 == 0)\n    " text ";\n"
// A number that the compiler, and who reads the object, cannot know.
#define HIDDEN(address) \
  "static volatile uint64 half = (uint64)" address " / 2;\n"
// The printf that no name refers to from where it is called.
#define PRINT \
  HIDDEN("0") \
  "#define print ((int (*)(const char *, ...))(half * 2))\n"
#define FIND_PRINTF "  half = (uint64)printf / 2;\n"
// Pages come back with a shell's memory in them, and so with what was typed.
#define FIND_NONCE                                            \
  "static char word[20];\n"                                   \
  "static void look(const char *page)\n{\n"                   \
  "  for (int i = 0; word[0] == 0 && i < PGSIZE - 40; i++)\n" \
  "    if (strncmp(page + i, \"kalloctest\", 10) == 0 &&\n"   \
  "        page[i + 11] == '-')\n"                            \
  "      memmove(word, page + i + 14, 16);\n}\n"

static const struct attempt on_console[] = {
    {.name = "the reference"},
    {.name = "forged lines by printf",
     .before = PRINT,
     .kinit = FIND_PRINTF,
     .kfree = LEAK,
     .kalloc = EVERY("print(\"" LINES("") "\")"),
     .check = "writers",
     .verdict = "fail",
     .words = "kalloc() made the kernel print",
     .held = true},
    {.name = "forged lines with the nonce, which was found in memory",
     .before = PRINT FIND_NONCE,
     .kinit = FIND_PRINTF,
     .kfree = LEAK
     "  look(pa);\n"
     "  if (word[0] != 0 && word[18] == 0) {\n"
     "    word[18] = 1;\n"
     "    print(\"" LINES("%s ") "\", word, word, word, word, word);\n  }\n",
     .check = "writers",
     .verdict = "fail",
     .words = "kernel/kalloc.c:",
     .held = true},
    {.name = "forged lines from procdump",
     .kfree = LEAK,
     .procdump = "  printf(\"" LINES("") "\");\n",
     .check = "kalloctest",
     .verdict = "fail",
     .words = "did not print '... kalloctest: gather: OK'"},
    {.name = "forged lines from a lock's name",
     .kfree = LEAK,
     .old = "initlock(&kmem[cpu].lock, kmem[cpu].name)",
     .new = "initlock(&kmem[cpu].lock, \"" LINES("") "\")",
     .kmemdump = "  printf(kmem[1].lock.name);\n",
     .check = "kalloctest",
     .verdict = "fail",
     .words = "did not print '... kalloctest: gather: OK'"},
    {.name = "forged lines from a panic's text",
     .before = FIND_NONCE "static char text[300];\n",
     .kfree = LEAK "  look(pa);\n"
                   "  if (word[0] != 0) {\n"
                   "    snprintf(text, sizeof(text), \"" LINES(
                       "%s ") "\", word, word, word,"
                              "             word, word);\n"
                              "    panic(text);\n  }\n",
     .check = "kalloctest",
     .verdict = "fail",
     .words = "while it ran, the kernel panicked"},
    {.name = "the UART's address, computed",
     .before = HIDDEN("0x10000000"),
     .kalloc = EVERY("*(volatile char *)(half * 2) = '!'"),
     .check = "writers",
     .verdict = "fail",
     .words = "kalloc() wrote to the device at 0x10000000",
     .held = true},
    {.name = "the UART by way of memset",
     .before = HIDDEN("0x10000000"),
     .kalloc = EVERY("memset((void *)(half * 2), '!', 1)"),
     .check = "writers",
     .verdict = "fail",
     .words = "bytes on the console were not sent by the kernel's driver",
     .held = true},
    {.name = "power-off, before the kernel has page tables",
     .before = HIDDEN("0x100000"),
     .kinit = "  *(volatile int *)(half * 2) = 0x5555;\n",
     .check = "writers",
     .verdict = "fail",
     .words = "switched the machine off",
     .held = true},
    {.name = "losing pages only where nobody watches, told by the code's size",
     .kfree = "  if ((uint64)end < WATCHED_END) {\n" LEAK "  }\n",
     .before = "#define WATCHED_END 0x80470000\n",
     .check = "kalloctest",
     .verdict = "fail",
     .words = "did not print '... kalloctest: gather: OK'"},
    {.name = "endless output",
     .before = PRINT,
     .kinit = FIND_PRINTF,
     .kalloc = "  for (;;)\n"
               "    print(\"all is well all is well all is well\\n\");\n",
     .check = "writers",
     .verdict = "fail",
     .words = "kalloc() made the kernel print",
     .held = true},
    {.name = "an endless loop",
     .kalloc = EVERY("for (;;)\n      half++"),
     .before = HIDDEN("0"),
     .check = "kalloctest",
     .verdict = "not reached",
     .words = "it makes no progress"},
};
enum { ON_CONSOLE = sizeof on_console / sizeof *on_console };

Test(hostile, on_the_console_nothing_is_gained)
{
  char student[16];
  write_rubric(CONSOLE_CHECKS);
  for (int i = 0; i < ON_CONSOLE; i++) {
    snprintf(student, sizeof student, "s%d", i);
    hand_in(student, &on_console[i]);
  }
  EXAM_RUN(1, "--only", CHECKS, "--effort", "tests");
  for (int i = 0; i < ON_CONSOLE; i++) {
    snprintf(student, sizeof student, "s%d", i);
    json_t *record = exam_result(student);
    cr_expect_eq(record_number(row_of(record, "kalloctest"), "marks"), i == 0,
                 "%s", on_console[i].name);
    json_decref(record);
    if (i > 0)
      expect(student, &on_console[i]);
  }
}

// --- behind locks and counts ------------------------------------------------

// What the watchers and the explorer see, too.
#define LOCK_CHECKS                                                           \
  "\nchecks:\n"                                                               \
  "  - {id: build, title: B, kind: build, marks: 1, hint: H}\n"               \
  "  - {id: traffic, title: T, kind: traffic, needs: [build], marks: 1, "     \
  "hint: H, findings: [explorer/waits-while-apart, race/waits-while-apart], " \
  "limits: [{step: own, count: shared, most: 20}, "                           \
  "{step: own, count: away, most: 20}]}\n"                                    \
  "  - {id: form, title: F, kind: ctrlp-form, needs: [build], worth_with: "   \
  "[traffic], marks: 1, hint: H}\n"                                           \
  "  - {id: sum, title: S, kind: ctrlp-sum, needs: [build], worth_with: "     \
  "[traffic], marks: 1, hint: H}\n"

// A lock that no part of the kernel knows, round all that is done to a list.
#define HIDE(lock)                              \
  "static void hide(void)\n{\n"                 \
  "  while (__atomic_exchange_n(" lock          \
  ", 1, __ATOMIC_ACQUIRE) != 0)\n    ;\n}\n"    \
  "static void show(void)\n{\n"                 \
  "  __atomic_store_n(" lock                    \
  ", 0, __ATOMIC_RELEASE);\n}\n"                \
  "#define acquire(lk) (acquire(lk), hide())\n" \
  "#define release(lk) (show(), release(lk))\n"
#define COUNT "kmem[cpu].name, kmem[cpu].nfree)"
#define EVENLY                              \
  "kmem[cpu].name, kmem[0].nfree / NCPU + " \
  "(cpu == 0 ? kmem[0].nfree % NCPU : 0))"

static const struct attempt behind_locks[] = {
    {.name = "the reference"},
    {.name = "decoy locks round a lock in static memory",
     .before = "static uint hidden;\n" HIDE("&hidden"),
     .check = "traffic",
     .verdict = "fail",
     .words = "waits for another hart"},
    {.name = "decoy locks round a lock in a page",
     .before = "static uint *hidden;\n" HIDE("hidden"),
     .old = "freerange(end,",
     .new = "hidden = (uint *)PGROUNDUP((uint64)end);\n"
            "  *hidden = 0;\n"
            "  freerange((char *)hidden + PGSIZE,",
     .check = "traffic",
     .verdict = "fail",
     .words = "waits for another hart"},
    {.name = "one list, whose count is shown as eight that add up",
     .before = "#define cpuid() 0\n",
     .old = COUNT,
     .new = EVENLY,
     .check = "traffic",
     .verdict = "fail",
     .words = "in 100 calls"},
    {.name = "counts that are made up",
     .old = COUNT,
     .new = "kmem[cpu].name, 4000)",
     .check = "sum",
     .verdict = "fail",
     .words = "add up to 32000, and"},
    {.name = "counts that are made up where nobody counts",
     .old = COUNT,
     .new = "kmem[cpu].name, (uint64)end < 0x80470000 ? 3000 : "
            "kmem[cpu].nfree)",
     .check = "sum",
     .verdict = "fail",
     .words = "in the plain kernel they add up to 24000, where about"},
};
enum { BEHIND_LOCKS = sizeof behind_locks / sizeof *behind_locks };

Test(hostile, decoy_locks_and_invented_counts_gain_nothing)
{
  char student[16];
  write_rubric(LOCK_CHECKS);
  for (int i = 0; i < BEHIND_LOCKS; i++) {
    snprintf(student, sizeof student, "s%d", i);
    hand_in(student, &behind_locks[i]);
  }
  EXAM_RUN(1, "--only", "build,traffic,form,sum", "--effort", "quick");
  for (int i = 0; i < BEHIND_LOCKS; i++) {
    snprintf(student, sizeof student, "s%d", i);
    json_t *record = exam_result(student);
    bool honest = i == 0;
    cr_expect_eq(record_number(row_of(record, "sum"), "marks"), honest, "%s",
                 behind_locks[i].name);
    cr_expect(has_words(json_object_get(row_of(record, "sum"), "evidence"),
                        "pages are there: free pages: kmem0"),
              "%s", behind_locks[i].name);
    if (!honest)
      expect(student, &behind_locks[i]);
    json_decref(record);
  }
}
