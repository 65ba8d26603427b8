// Objects: small C files are compiled by the real cross compiler and looked at.
#include "graders/object.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"

static const char *const names_defined[] = {"kalloc", "kfree"};
static const char *const names_used[] = {"acquire", "printf", "memset"};
static const char *const names_outside[] = {"printf"};
static const char *const names_spliced[] = {"procdump"};
static const char *const names_sections[] = {
    ".text", ".text.unlikely", ".rodata*", ".srodata*",
    ".data", ".sdata",         ".bss",     ".sbss"};
static const char *const names_devices[] = {"0x10000000-0x10008fff"};

#define TEXTS(array)                                        \
  {                                                         \
    (const char **)(array), sizeof(array) / sizeof *(array) \
  }
static const struct object_rules rules = {
    .definitions = TEXTS(names_defined),
    .references = TEXTS(names_used),
    .outside = TEXTS(names_outside),
    .spliced = TEXTS(names_spliced),
    .sections = TEXTS(names_sections),
    .devices = TEXTS(names_devices),
};
static const char *const reserved[] = {"acquire", "consputc", "scheduler"};

// What every source starts with.
#define KERNEL                                           \
  "void acquire(void *); int printf(const char *, ...);" \
  "void *memset(void *, int, unsigned);\n"
#define ALLOCATOR                                \
  "void *kalloc(void) { acquire(0); return 0; }" \
  "void kfree(void *p) { memset(p, 1, 4096); }\n"

static char *folder;

static void make_folder(void)
{
  cr_assert_eq(file_make_temp_dir(NULL, "object-", &folder, NULL), 0);
}

static void remove_folder(void)
{
  file_remove_tree(folder, NULL);
  free(folder);
}

static struct buf run(const char *const *argv)
{
  struct child_spec spec = {.argv = argv};
  struct child_result result = {0};

  cr_assert_eq(child_run(&spec, &result, NULL), 0);
  cr_assert_eq(result.status, 0, "%s", buf_str(&result.err));
  struct buf out = result.out;
  result.out = (struct buf){0};
  child_result_release(&result);
  return out;
}

// Compiles a source and returns the object's path; the caller owns it.
static char *compile(const char *source)
{
  static int number;
  char *from = path_join(folder, "a.c");
  char *to = xasprintf("%s/%d.o", folder, number++);

  cr_assert_eq(file_write(from, source, strlen(source), 0644, NULL), 0);
  struct buf out = run((const char *const[]){
      "riscv64-unknown-elf-gcc", "-O2", "-march=rv64imac_zicsr", "-mabi=lp64",
      "-mcmodel=medany", "-ffreestanding", "-fno-optimize-sibling-calls",
      "-fno-section-anchors", "-c", "-o", to, from, NULL});
  buf_release(&out);
  free(from);
  return to;
}

// The problems of a source's object.
static char *problems_of(const char *source)
{
  struct object_problems_run {
    struct binary object;
    struct buf disassembly, problems;
  } r = {0};
  char *path = compile(source);

  cr_assert_eq(object_read(path, &r.object, NULL), 0);
  r.disassembly = run(
      (const char *const[]){"riscv64-unknown-elf-objdump", "-d", path, NULL});
  object_check(&r.object, &rules, reserved, 3, buf_str(&r.disassembly),
               &r.problems);
  object_release(&r.object);
  buf_release(&r.disassembly);
  free(path);
  return buf_detach(&r.problems);
}

// Holds that the problems of ALLOCATOR with `more` are one that has `words`.
static void expect(const char *more, const char *words)
{
  char *source = xasprintf(KERNEL ALLOCATOR "%s", more);
  char *problems = problems_of(source);

  if (words == NULL)
    cr_assert_str_eq(problems, "");
  else
    cr_assert(strstr(problems, words) != NULL, "'%s' is not in: %s", words,
              problems);
  free(problems);
  free(source);
}

TestSuite(object, .init = make_folder, .fini = remove_folder, .timeout = 60);

Test(object, an_allocator_that_keeps_to_the_rules_has_no_problem)
{
  expect("", NULL);
}

Test(object, reading_gives_symbols_relocations_and_sections)
{
  struct binary o = {0};
  char *path = compile(KERNEL ALLOCATOR);

  cr_assert_eq(object_read(path, &o, NULL), 0);
  const struct object_symbol *kalloc = object_find(&o, "kalloc");
  cr_assert(kalloc != NULL);
  cr_assert(kalloc->function && kalloc->global && kalloc->size_bytes > 0);
  cr_assert(object_find(&o, "acquire") == NULL, "acquire is not defined here");
  cr_assert_str_eq(o.sections[kalloc->section].name, ".text");
  bool calls = false;
  for (size_t i = 0; i < o.relocation_count; i++)
    calls = calls || strcmp(o.relocations[i].symbol, "acquire") == 0;
  cr_assert(calls, "kalloc calls acquire");
  object_release(&o);
  free(path);
}

Test(object, a_file_cut_off_anywhere_is_refused)
{
  struct buf bytes = {0};
  char *path = compile(KERNEL ALLOCATOR);

  cr_assert_eq(file_read(path, 1 << 20, &bytes, NULL), 0);
  // The section headers are at the end, so that every shorter file lacks some.
  for (size_t len = 0; len < bytes.len; len += 61) {
    struct binary o = {0};
    struct error err = {0};
    cr_assert_eq(file_write(path, bytes.data, len, 0644, NULL), 0);
    cr_assert_eq(object_read(path, &o, &err), LG_EINPUT, "%zu bytes", len);
    cr_assert(strstr(err.message, path) != NULL);
    cr_assert(o.symbols == NULL);
    error_release(&err);
  }
  buf_release(&bytes);
  free(path);
}

Test(object, a_missing_function_is_named)
{
  char *problems = problems_of(KERNEL "void *kalloc(void) { return 0; }");
  cr_assert_str_eq(problems, "does not define kfree\n");
  free(problems);
}

Test(object, a_reference_that_is_not_permitted_is_named)
{
  expect("void uartputc(int); void f(void) { uartputc(1); }", "uses uartputc");
}

Test(object, a_definition_of_a_kernel_name_is_named)
{
  expect("void consputc(int c) { (void)c; }", "defines consputc");
}

Test(object, code_in_an_odd_section_is_named)
{
  expect("__attribute__((section(\".text.entry\"))) void f(void) {}",
         "section .text.entry");
}

Test(object, printf_is_for_functions_that_the_allocator_does_not_call)
{
  expect("void dump(void) { printf(\"x\"); }", NULL);
  char *problems = problems_of(
      KERNEL
      "static __attribute__((noinline)) void say(void) { printf(\"x\"); }"
      "void *kalloc(void) { say(); return 0; } void kfree(void *p) {}");
  cr_assert(strstr(problems, "say() uses printf") != NULL, "%s", problems);
  free(problems);
}

Test(object, writing_a_control_register_is_named_and_reading_sstatus_is_not)
{
  expect("void f(void) { asm volatile(\"csrci sstatus, 2\"); }",
         "f() touches a control register");
  expect("void f(void) { asm volatile(\"csrw satp, zero\"); }",
         "f() touches a control register");
  expect(
      "long f(void) { long x; asm volatile(\"csrr %0, sstatus\" : \"=r\"(x));"
      " return x; }",
      NULL);
}

Test(object, reading_tp_is_named)
{
  expect(
      "long f(void) { long x; asm volatile(\"mv %0, tp\" : \"=r\"(x));"
      " return x; }",
      "f() uses tp itself");
}

Test(object, a_devices_address_is_named)
{
  expect("void f(void) { *(volatile char *)0x10000000 = 'x'; }",
         "holds a device's address");
  expect("long f(void) { return 0x12345000; }", NULL);
}

// ---- a student's procdump in the course's file -------------------------------------

// The course's file before procdump, procdump's beginning, and what is behind.
#define FILE_HEAD                                                           \
  "void acquire(void *); int printf(const char *, ...); void wakeup(void);" \
  "struct proc { int state, pid; } proc[8];"                                \
  "static int nextpid = 1;"                                                 \
  "void trapinit(void) { asm volatile(\"csrw stvec, zero\"); }\n"
#define FILE_PROCDUMP                                    \
  "void procdump(void) {"                                \
  "  static const char *const words[] = {\"a\", \"b\"};" \
  "  for (int i = 0; i < 8; i++)"                        \
  "    printf(\"%%d %%s\", proc[i].pid, words[proc[i].state]);\n"
#define FILE_TAIL                                                     \
  "}\n"                                                               \
  "__attribute__((noinline)) int allocpid(void) { static int calls; " \
  "acquire(&nextpid); calls++; "                                      \
  "return nextpid++ + calls; }\n"
#define STUDENTS                                            \
  "void acquire(void *); struct { int n; } kmem[8];"        \
  "void kmemdump(void) {} void kfree(void *p) { (void)p; }" \
  "void *kalloc(void) { acquire(kmem); return 0; }"

// The problems of procdump with `more` at its end and `before` ahead of it.
static char *splice_problems(const char *before, const char *more)
{
  char *text =
      xasprintf(FILE_HEAD "%s\n" FILE_PROCDUMP "%s\n" FILE_TAIL, before, more);
  char *paths[] = {compile(FILE_HEAD FILE_PROCDUMP FILE_TAIL), compile(text),
                   compile(STUDENTS)};
  struct binary o[3] = {0};
  struct buf problems = BUF_INIT;

  for (int i = 0; i < 3; i++)
    cr_assert_eq(object_read(paths[i], &o[i], NULL), 0);
  struct buf disassembly = run((const char *const[]){
      "riscv64-unknown-elf-objdump", "-d", paths[1], NULL});
  struct object_splice s = {&o[0], &o[1], &o[2], buf_str(&disassembly)};
  object_check_splice(&s, &rules, &problems);
  for (int i = 0; i < 3; i++) {
    object_release(&o[i]);
    free(paths[i]);
  }
  buf_release(&disassembly);
  free(text);
  return buf_detach(&problems);
}

static void expect_splice(const char *before, const char *more,
                          const char *words)
{
  char *problems = splice_problems(before, more);
  cr_expect(strstr(problems, words) != NULL, "'%s' is not in: %s", words,
            problems);
  free(problems);
}

Test(object, a_procdump_that_prints_what_kalloc_declares_has_no_problem)
{
  static const char *const bodies[][2] = {
      {"", ""},
      {"void kmemdump(void);", "kmemdump();"},
      {"extern struct { int n; } kmem[8];\n"
       "static __attribute__((noinline)) int total(void)"
       "{ static int calls; calls++; int sum = calls;"
       "  for (int i = 0; i < 8; i++) sum += kmem[i].n; return sum; }\n"
       "static const char *const names[] = {\"kmem0\", \"kmem1\"};",
       "static int calls = 3; int copy[40] = {0};"
       "for (int i = 0; i < 40; i++) copy[i] += kmem[i % 8].n * calls++;"
       "printf(\"%s %d %d\", names[proc[0].pid % 2], total(), copy[3]);"},
  };
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    char *problems = splice_problems(bodies[i][0], bodies[i][1]);
    cr_expect_str_eq(problems, "");
    free(problems);
  }
}

Test(object, what_procdump_and_its_helpers_may_not_use_is_named)
{
  expect_splice("", "acquire(&proc);", "procdump() uses acquire");
  expect_splice("", "proc[0].pid = nextpid;", "procdump() uses nextpid");
  expect_splice("int allocpid(void);", "allocpid();",
                "procdump() uses allocpid");
  expect_splice("void *kalloc(void);", "kalloc();", "procdump() uses kalloc");
  expect_splice(
      "static __attribute__((noinline)) void wake(void)"
      "{ wakeup(); printf(\"x\"); }",
      "wake();", "wake() uses wakeup");
  expect_splice("void (*const table[])(void) = {wakeup};",
                "table[proc[0].pid % 1]();", "a table uses wakeup");
}

Test(object, what_procdump_and_its_helpers_may_not_do_is_named)
{
  expect_splice("", "asm volatile(\"csrsi sstatus, 2\");",
                "procdump() touches a control register");
  expect_splice(
      "static __attribute__((noinline)) long hart(void)"
      "{ long x; asm volatile(\"mv %0, tp\" : \"=r\"(x)); return x; }",
      "printf(\"%d\", (int)hart());", "hart() uses tp itself");
  expect_splice("", "*(volatile char *)0x10000000 = 'x';",
                "procdump() holds a device's address");
  expect_splice("__attribute__((section(\".text.entry\"))) void f(void) {}", "",
                "section .text.entry");
}

Test(object, a_function_of_the_course_that_a_macro_changes_is_named)
{
  expect_splice("", "\n#define acquire(lock) (void)(lock)\n",
                "changes allocpid(): it no longer uses acquire");
  expect_splice("", "\n#define acquire(lock) (wakeup(), acquire(lock))\n",
                "changes allocpid(): it uses wakeup");
}
