// Tests of exec: that a program starts with its arguments, its files and clean
// memory, and that a file which is no sound program changes nothing.

#include <stddef.h>

#include "user/usertests.h"

#include "kernel/elf.h"

// ---- programs that start -----------------------------------------------------------

// Runs echo with the arguments and returns what it printed, in buffer.
static char *echoed(char **argv)
{
  int ends[2], n, at = 0;

  IS(pipe(ends), 0);
  int pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    close(1);
    IS(dup(ends[1]), 1);
    close(ends[0]);
    close(ends[1]);
    exec("/echo", argv);
    exit(100);
  }
  close(ends[1]);
  while ((n = read(ends[0], buffer + at, sizeof buffer - 1 - at)) > 0)
    at += n;
  buffer[at] = '\0';
  close(ends[0]);
  expect_end(pid, 0);
  return buffer;
}

// The arguments arrive: none, some, an empty one, as many as there may be, and
// one nearly as long as the stack.
static void exec_arguments(void)
{
  static char long_one[PGSIZE - 200];
  char *some[] = {"echo", "a", "bc", "", "d", 0};
  char *many[MAXARG + 1];
  char *one[] = {"echo", long_one, 0};

  IS(strcmp(echoed(some), "a bc  d\n"), 0);
  for (int i = 0; i < MAXARG; i++)
    many[i] = "x";
  many[MAXARG] = 0;
  echoed(many);
  IS(strlen(buffer), 2 * (MAXARG - 1));
  memset(long_one, 'l', sizeof long_one - 1);
  echoed(one);
  IS(strlen(buffer), sizeof long_one);
  IS(buffer[sizeof long_one - 2], 'l');
}

static char untouched[5 * PGSIZE];

// Variables without a value are zero in a new program, whatever the pages that
// they got were used for before.
static void exec_zeroed(void)
{
  for (int i = 0; i < COUNT(untouched); i++)
    CHECK(untouched[i] == 0);
}

// A program that starts gives up the memory of the one before, however that
// memory was made. Again and again, with the process the same.
static void exec_repeated(void)
{
  char *argv[] = {"kill", 0};

  close(2);
  CHECK(sbrk(100 * PGSIZE) != SBRK_FAILED);
  char *lazy = sbrklazy(1 << 30);
  CHECK(lazy != SBRK_FAILED);
  lazy[1 << 29] = 1;
  for (int i = 0; i < 40; i++)
    CHECK(try_exec("/kill", argv) >= 0);
}

// A relative name is looked for in the process's folder.
static void exec_relative(void)
{
  char *argv[] = {"kill", 0};

  close(2);
  IS(mkdir("ut-exec"), 0);
  IS(link("/kill", "ut-exec/prog"), 0);
  IS(chdir("ut-exec"), 0);
  CHECK(try_exec("prog", argv) >= 0);
  CHECK(try_exec("../ut-exec/./prog", argv) >= 0);
  IS(try_exec("kill", argv), -1);
  IS(unlink("prog"), 0);
  IS(chdir("/"), 0);
  IS(unlink("ut-exec"), 0);
}

// ---- files that are no programs -----------------------------------------------------

// What is not a file, or is not there, or is text.
static void exec_no_program(void)
{
  char *argv[] = {"x", 0};
  const char *names[] = {"/", "/nowhere", "/echo/x", "", ".", "ut-text"};
  char *end = sbrk(0);

  make_file("ut-text", 5000, 1);
  for (int i = 0; i < COUNT(names); i++) {
    concerning(names[i], i);
    IS(exec(names[i], argv), -1);
  }
  CHECK(sbrk(0) == end);
  IS(unlink("ut-text"), 0);
}

static uint64 segment_offset;  // of the first segment header of echo

static int at_most_buffer(int n)
{
  return n < (int)sizeof buffer ? n : (int)sizeof buffer;
}

// Copies the first n bytes of echo to ut-prog, with width bytes at the offset
// replaced by value.
static void make_program(int n, uint offset, int width, uint64 value)
{
  int from = opened("/echo", O_RDONLY);
  int to = opened("ut-prog", O_CREATE | O_TRUNC | O_WRONLY);
  struct elfheader *head = (struct elfheader *)buffer;
  int part = read(from, buffer, at_most_buffer(n));

  if (n >= (int)sizeof *head)
    segment_offset = head->e_phoff;
  if (width > 0)
    memcpy(buffer + offset, &value, width);
  while (part > 0) {
    IS(write(to, buffer, part), part);
    n -= part;
    part = read(from, buffer, at_most_buffer(n));
  }
  close(from);
  close(to);
}

// A program that was cut off, anywhere.
static void exec_truncated(void)
{
  const int lengths[] = {0, 1, 4, 20, 63, 64, 65, 119, 120, 175, 300, 1024};
  char *argv[] = {"x", 0};

  for (int i = 0; i < COUNT(lengths); i++) {
    concerning("length", lengths[i]);
    make_program(lengths[i], 0, 0, 0);
    IS(try_exec("ut-prog", argv), -1);
  }
  make_program(1 << 20, 0, 0, 0);
  CHECK(try_exec("ut-prog", argv) != -1);
  IS(unlink("ut-prog"), 0);
}

// Each field of the headers that exec relies on, with values that would lead it
// outside the file, outside the address space, into the kernel's own pages, or
// round the end of the numbers.
struct spoiled {
  const char *what;
  int segment;  // the offset counts from this segment's header; -1: from 0
  uint offset;
  int width;
  uint64 value;
};

#define HEAD(field, value)                            \
  {                                                   \
#field, -1, offsetof(struct elfheader, field),    \
        sizeof(((struct elfheader *)0)->field), value \
  }
#define FIELD_OF(segment, field, value)                  \
  {                                                      \
#field, segment, offsetof(struct elfsegment, field), \
        sizeof(((struct elfsegment *)0)->field), value   \
  }
#define SEGMENT(field, value) FIELD_OF(0, field, value)

static const struct spoiled spoiled[] = {
    HEAD(e_ident[0], 'X'),
    HEAD(e_machine, 62),
    HEAD(e_phoff, 1L << 40),
    HEAD(e_phoff, -8L),
    HEAD(e_phnum, 65535),
    SEGMENT(p_vaddr, 1),
    SEGMENT(p_vaddr, PGSIZE - 8),
    SEGMENT(p_vaddr, KERNBASE),
    SEGMENT(p_vaddr, TRAPFRAME),
    SEGMENT(p_vaddr, TRAMPOLINE),
    SEGMENT(p_vaddr, MAXVA),
    SEGMENT(p_vaddr, -(uint64)PGSIZE),
    SEGMENT(p_memsz, 1),
    SEGMENT(p_memsz, 1L << 30),
    SEGMENT(p_memsz, TRAPFRAME),
    SEGMENT(p_memsz, MAXVA),
    SEGMENT(p_memsz, -1L),
    SEGMENT(p_memsz, -(uint64)PGSIZE + 1),
    SEGMENT(p_filesz, 1L << 32),
    SEGMENT(p_filesz, -1L),
    SEGMENT(p_offset, 1L << 31),
    SEGMENT(p_offset, 1L << 32),
    SEGMENT(p_offset, -1L),
    // the second segment starts at a higher address, so that its end can come
    // out at 0
    FIELD_OF(1, p_vaddr, 0),
    FIELD_OF(1, p_memsz, 0x3fffffe000),
    FIELD_OF(1, p_memsz, -0x2000L),
    FIELD_OF(1, p_memsz, -0x1000L),
};

static void exec_spoiled(void)
{
  char *argv[] = {"x", 0};

  make_program(100, 0, 0, 0);
  for (int i = 0; i < COUNT(spoiled); i++) {
    const struct spoiled *s = &spoiled[i];
    concerning(s->what, s->value);
    uint64 from = s->segment < 0
                      ? 0
                      : segment_offset + s->segment * sizeof(struct elfsegment);
    make_program(1 << 20, from + s->offset, s->width, s->value);
    IS(try_exec("ut-prog", argv), -1);
  }
  IS(unlink("ut-prog"), 0);
}

static void start_spoiled(long arg)
{
  char *argv[] = {"x", 0};

  (void)arg;
  exec("ut-prog", argv);
}

// A program may say that it starts anywhere. exec need not know better, but the
// program must not get there.
static void exec_entry(void)
{
  const uint64 entries[] = {KERNBASE, TRAMPOLINE, MAXVA - 2, -2L, 0x3ffff000};

  for (int i = 0; i < COUNT(entries); i++) {
    concerning("entry", entries[i]);
    make_program(1 << 20, offsetof(struct elfheader, e_entry), 8, entries[i]);
    int status = fate(start_spoiled, 0);
    CHECK(status == -1 || status == 0);  // killed, or refused
  }
  IS(unlink("ut-prog"), 0);
}

const struct test exec_tests[] = {
    {"execargs", exec_arguments, 0},
    {"execzero", exec_zeroed, 0},
    {"execrepeat", exec_repeated, 0},
    {"execrelative", exec_relative, 0},
    {"execnoprog", exec_no_program, 0},
    {"exectruncated", exec_truncated, 0},
    {"execspoiled", exec_spoiled, 0},
    {"execentry", exec_entry, 0},
    {0},
};
