// Tests of a process's memory: what it may touch, how it grows and shrinks, and
// that what it gets is empty and its own. Running out of memory is for
// ut-oom.c.

#include "user/usertests.h"

// ---- what user mode may not do -------------------------------------------------

static void load_from(long at)
{
  (void)*(volatile char *)at;
}
static void store_to(long at)
{
  *(volatile char *)at = 1;
}
static void jump_to(long at)
{
  ((void (*)(void))at)();
}

// Must end in the kernel killing whoever does it.
static void must_kill(const char *what, void (*deed)(long), uint64 at)
{
  concerning(what, at);
  IS(fate(deed, at), -1);
  concerning(0, 0);
}

// Kernel memory, devices and the process's own trap frame are out of reach for
// reading: the user bit of a page-table entry keeps them so.
static void kernmem(void)
{
  for (int i = 0; i < BAD_ADDRESSES; i++)
    must_kill("load", load_from, bad_address(i));
  for (uint64 at = KERNBASE; at < PHYSTOP; at += (PHYSTOP - KERNBASE) / 8)
    must_kill("load", load_from, at);
}

// The same for writing; and the program's code, which can be read.
static void nowrite(void)
{
  for (int i = 0; i < BAD_ADDRESSES; i++)
    must_kill("store", store_to, bad_address(i));
}

// A program must not change code, its own included, since processes may come
// to share it.
static void textwrite(void)
{
  must_kill("store", store_to, (uint64)textwrite);
  must_kill("store", store_to, 0);
}

// Data cannot be run: neither what sbrk gives, nor the stack, nor variables;
// and there is no way into the kernel but the trap.
static void noexec(void)
{
  static uint32 data[] = {0x00008067};  // ret, so that running it would pass
  uint32 stack[] = {0x00008067};
  uint32 *heap = (uint32 *)page_align_end();

  CHECK(sbrk(PGSIZE) != SBRK_FAILED);
  *heap = 0x00008067;
  asm volatile("" : : "r"(stack), "r"(data) : "memory");
  must_kill("jump to data", jump_to, (uint64)data);
  must_kill("jump to the stack", jump_to, (uint64)stack);
  must_kill("jump to the heap", jump_to, (uint64)heap);
  must_kill("jump", jump_to, KERNBASE);
  must_kill("jump", jump_to, TRAMPOLINE);
  must_kill("jump", jump_to, MAXVA);
}

// Addresses that only differ above the bits that a page table looks at must
// not be taken for each other: bit by bit, over a variable that exists.
static void high_bits(void)
{
  static char here;

  for (int bit = 38; bit < 64; bit += 5) {
    uint64 at = (uint64)&here | 1UL << bit;
    must_kill("load", load_from, at);
    int fd = opened("ut-bits", O_CREATE | O_WRONLY);
    IS(write(fd, (char *)at, 1), -1);
    close(fd);
    unlink("ut-bits");
  }
}

static void run_instruction(long which)
{
  switch (which) {
  case 0:
    asm volatile(".word 0");
    break;
  case 1:
    asm volatile("csrr t0, sstatus" : : : "t0");
    break;
  case 2:
    asm volatile("csrw satp, zero");
    break;
  case 3:
    asm volatile("sret");
    break;
  case 4:
    asm volatile("wfi");
    break;
  case 5:
    asm volatile("csrr t0, mhartid" : : : "t0");
    break;
  case 6:
    asm volatile("ebreak");
    break;
  case 7:
    asm volatile("sfence.vma");
    break;
  }
}

// Instructions that only the kernel may use, and those that are none, end the
// process and nothing else.
static void privileged(void)
{
  for (int which = 0; which < 8; which++)
    must_kill("instruction", run_instruction, which);
}

static void dig(long depth)
{
  volatile char frame[256];

  frame[0] = depth;
  if (depth < 1000)
    dig(depth + 1);
  frame[1] = frame[0];
}

// Below the stack lies a page that nobody can use, so that a stack that grows
// too far is noticed before it writes over the program's data.
static void stackguard(void)
{
  must_kill("load", load_from, stack_guard() + PGSIZE - 1);
  must_kill("store", store_to, stack_guard() + PGSIZE - 1);
  must_kill("store", store_to, stack_guard());
  must_kill("recursion", dig, 0);
  load_from(stack_guard() + PGSIZE);
}

// ---- growing and shrinking -----------------------------------------------------

static int all_zero(const char *bytes, int n)
{
  for (int i = 0; i < n; i += 8)
    if (*(const uint64 *)(bytes + i) != 0)
      return 0;
  return 1;
}

// Growing by any amount gives exactly that much, empty, behind what there was,
// and shrinking takes the same away.
static void sbrk_steps(void)
{
  const int steps[] = {
      1, 7,           8, PGSIZE - 16, PGSIZE, PGSIZE + 1, 3 * PGSIZE - 1,
      1, 100 * PGSIZE};
  char *start = (char *)page_align_end();
  char *end = start;

  for (int i = 0; i < COUNT(steps); i++) {
    concerning("grow", steps[i]);
    CHECK(sbrk(steps[i]) == end);
    IS(end[0], 0);
    IS(end[steps[i] - 1], 0);
    end[0] = end[steps[i] - 1] = i + 1;
    end += steps[i];
    CHECK(sbrk(0) == end);
  }
  for (int i = COUNT(steps) - 1; i >= 0; i--) {
    concerning("shrink", steps[i]);
    IS(end[-1], i + 1);
    CHECK(sbrk(-steps[i]) == end);
    end -= steps[i];
  }
  CHECK(sbrk(0) == start);
}

// A page stays as long as one byte of it belongs to the process, and goes with
// the last one: one early, and memory in use is lost; one late, and it leaks.
static void sbrk_edges(void)
{
  uint64 start = page_align_end();

  CHECK(sbrk(PGSIZE + 1) != SBRK_FAILED);
  store_to(start);
  store_to(start + PGSIZE);
  CHECK(sbrk(-1) != SBRK_FAILED);
  must_kill("load", load_from, start + PGSIZE);
  CHECK(sbrk(-(PGSIZE - 1)) != SBRK_FAILED);
  IS(*(char *)start, 1);  // the same page, and no fresh one in its place
  CHECK(sbrk(-1) != SBRK_FAILED);
  must_kill("load", load_from, start);

  // the page that was given up and taken again has nothing in it
  CHECK(sbrk(1) != SBRK_FAILED);
  IS(*(char *)start, 0);
}

// Taking away more than there is would wrap round; adding more than there is
// room for, as well. Either must fail and change nothing.
static void sbrk_limits(void)
{
  char *end = sbrk(0);
  const int steps[] = {-2147483647 - 1, -2147483647, -(1 << 30)};

  for (int i = 0; i < COUNT(steps); i++) {
    concerning("shrink", steps[i]);
    CHECK(sbrk(steps[i]) == SBRK_FAILED);
    CHECK(sbrklazy(steps[i]) == SBRK_FAILED);
    CHECK(sbrk(0) == end);
  }
  CHECK(sbrk(-(int)(uint64)end - 1) == SBRK_FAILED);
  CHECK(sbrk(2147483647) == SBRK_FAILED);  // more than the machine has
  CHECK(sbrk(0) == end);
}

static void leave_only(long bytes)
{
  volatile char on_stack;
  char *end = sbrk(0);

  // The code that runs here may be gone when this returns, or the stack.
  sbrk(bytes - (long)end);
  on_stack = 1;
  (void)on_stack;
}

// A process may give away the memory that it runs on. It dies of it; the kernel
// must not.
static void sbrk_all(void)
{
  IS(fate(leave_only, 0), -1);
  IS(fate(leave_only, 1), -1);
  IS(fate(leave_only, stack_guard()), -1);
  IS(fate(leave_only, stack_guard() + (USERSTACK + 1) * PGSIZE), 0);
}

// Whatever a page held before, its next owner finds zeros: after sbrk, after
// the first touch of reserved memory, and in the memory of a new program.
static void zeroed_pages(void)
{
  enum { SIZE = 200 * PGSIZE };
  char *start = (char *)page_align_end();

  for (int round = 0; round < 4; round++) {
    char *got = round % 2 ? sbrklazy(SIZE) : sbrk(SIZE);
    CHECK(got == start);
    for (int at = 0; at < SIZE; at += PGSIZE)
      CHECK(all_zero(start + at, PGSIZE));
    memset(start, 0xee, SIZE);
    CHECK(sbrk(-SIZE) != SBRK_FAILED);
  }
}

// ---- memory that is only reserved ------------------------------------------------

// Reserving takes no pages, however much it is; touching takes one for each
// page touched, which arrives empty and stays.
static void lazy_touch(void)
{
  const long size = 1L << 30;
  char *start = (char *)page_align_end();

  CHECK(sbrklazy(size) == start);
  CHECK(sbrk(0) == start + size);
  for (long at = 0; at < size; at += size / 16) {
    IS(start[at], 0);
    start[at + 1] = at / (size / 16);
  }
  start[size - 1] = 99;
  for (long at = 0; at < size; at += size / 16)
    IS(start[at + 1], at / (size / 16));
  must_kill("load", load_from, (uint64)start + size);
  must_kill("store", store_to, (uint64)start + size);

  // Shrunk and reserved again, it has forgotten.
  CHECK(sbrk(-size) == start + size);
  must_kill("load", load_from, (uint64)start);
  CHECK(sbrklazy(size) == start);
  IS(start[1], 0);
  IS(start[size - 1], 0);
}

// The kernel, too, is the first to touch a reserved page, when a call reads
// from there or writes to it.
static void lazy_calls(void)
{
  char *start = (char *)page_align_end();
  int ends[2];

  CHECK(sbrklazy(20 * PGSIZE) == start);
  IS(pipe((int *)start), 0);
  memcpy(ends, start, sizeof ends);
  IS(write(ends[1], start + 2 * PGSIZE - 50, 100), 100);
  IS(read(ends[0], start + 4 * PGSIZE - 50, 100), 100);
  CHECK(all_zero(start + 3 * PGSIZE, 2 * PGSIZE));

  int fd = opened("/usertests", O_RDONLY);
  IS(fstat(fd, (struct stat *)(start + 6 * PGSIZE)), 0);
  IS(((struct stat *)(start + 6 * PGSIZE))->type, T_FILE);
  IS(read(fd, start + 8 * PGSIZE - 2, 4), 4);
  IS(start[8 * PGSIZE - 1], 'E');
  IS(start[8 * PGSIZE], 'L');

  int pid = fork();
  if (pid == 0)
    exit(5);
  IS(wait((int *)(start + 10 * PGSIZE)), pid);
  IS(*(int *)(start + 10 * PGSIZE), 5);

  IS(open(start + 12 * PGSIZE, O_RDONLY), -1);  // a string of no bytes
  IS(write(ends[1], start + 20 * PGSIZE, 1), -1);
  CHECK(write(ends[1], start + 20 * PGSIZE - 1, 2) <= 1);
}

// fork copies what was touched and leaves the rest reserved, on both sides.
static void lazy_fork(void)
{
  enum { PAGES = 3000 };
  char *start = (char *)page_align_end();

  CHECK(sbrklazy(PAGES * PGSIZE) == start);
  for (int page = 0; page < PAGES; page += 100)
    start[page * PGSIZE] = page / 100 + 1;
  int pid = fork();
  CHECK(pid >= 0);
  for (int page = 0; page < PAGES; page += 50) {
    char expected = page % 100 == 0 ? page / 100 + 1 : 0;
    CHECK(start[page * PGSIZE] == expected);
    start[page * PGSIZE] = pid == 0 ? 111 : 112;
  }
  for (int page = 0; page < PAGES; page += 50)
    IS(start[page * PGSIZE], pid == 0 ? 111 : 112);
  if (pid == 0)
    exit(0);
  expect_end(pid, 0);
}

// Pages taken at once may follow reserved ones, and the other way round, also
// within one page.
static void lazy_mixed(void)
{
  char *start = (char *)page_align_end();
  char *end = start;

  for (int i = 0; i < 40; i++) {
    char *got = i % 2 ? sbrk(1000) : sbrklazy(1000);
    CHECK(got == end);
    end += 1000;
  }
  CHECK(all_zero(start, end - start));
  memset(start, 7, end - start);
  for (int i = 0; i < 40; i++)
    CHECK(sbrklazy(-1000) == end - 1000 * i);
  CHECK(sbrk(0) == start);
}

// Reserving on and on ends at the pages that the kernel keeps at the top of
// each address space, and giving it all back takes no time to speak of.
static void lazy_limit(void)
{
  const int step = 1 << 30;
  uint64 end = (uint64)sbrk(0);

  while (end <= TRAPFRAME && sbrklazy(step) != SBRK_FAILED)
    end += step;
  CHECK(end <= TRAPFRAME && end + step > TRAPFRAME);
  CHECK((uint64)sbrk(0) == end);
  while (sbrklazy(PGSIZE * 512) != SBRK_FAILED)
    end += PGSIZE * 512;
  while (end <= TRAPFRAME && sbrklazy(PGSIZE) != SBRK_FAILED)
    end += PGSIZE;
  CHECK(end <= TRAPFRAME && end + PGSIZE > TRAPFRAME);
  store_to(end - 1);
  IS(*(volatile char *)(end - 1), 1);
  CHECK(sbrk(PGSIZE) == SBRK_FAILED);
  expect_end(spawn(store_to, end - PGSIZE), 0);
}

// A page that is there but forbidden must not be taken for one that is still
// to come: a store to code is no first touch.
static void lazy_forbidden(void)
{
  CHECK(sbrklazy(10 * PGSIZE) != SBRK_FAILED);
  must_kill("store", store_to, 0);
  must_kill("store", store_to, stack_guard());
  IS(read(opened("/usertests", O_RDONLY), (char *)stack_guard(), 10), -1);
}

// ---- fork ------------------------------------------------------------------------

static char shared_data[PGSIZE];

// After fork nothing that one of the two writes is seen by the other, in data,
// heap and stack.
static void fork_private(void)
{
  char on_stack[64];
  char *heap = (char *)page_align_end();
  int to_child[2], to_parent[2];
  char byte;

  CHECK(sbrk(PGSIZE) != SBRK_FAILED);
  char *places[] = {shared_data, shared_data + PGSIZE - 1, on_stack, heap,
                    heap + PGSIZE - 1};
  for (int i = 0; i < COUNT(places); i++)
    *places[i] = 'a' + i;
  IS(pipe(to_child), 0);
  IS(pipe(to_parent), 0);
  int pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    for (int i = 0; i < COUNT(places); i++) {
      IS(*places[i], 'a' + i);
      *places[i] = 'A';
    }
    IS(write(to_parent[1], "x", 1), 1);
    IS(read(to_child[0], &byte, 1), 1);
    for (int i = 0; i < COUNT(places); i++)
      IS(*places[i], 'A');
    exit(0);
  }
  IS(read(to_parent[0], &byte, 1), 1);
  for (int i = 0; i < COUNT(places); i++) {
    IS(*places[i], 'a' + i);
    *places[i] = 'z';
  }
  IS(write(to_child[1], "x", 1), 1);
  expect_end(pid, 0);
}

// The rights of a page are copied with it.
static void store_and_jump(long at)
{
  must_kill("store in a child's child", store_to, (uint64)fork_private);
  must_kill("jump in a child's child", jump_to, at);
  must_kill("guard in a child's child", load_from, stack_guard());
}

static void fork_rights(void)
{
  *(uint32 *)shared_data = 0x00008067;
  IS(fate(store_and_jump, (long)shared_data), 0);
}

// malloc and free, over sbrk: blocks do not overlap, and what was freed can be
// had again without the process growing for ever.
static void heap_blocks(void)
{
  enum { BLOCKS = 50 };
  char *blocks[BLOCKS];
  char *end = 0;

  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < BLOCKS; i++) {
      blocks[i] = malloc(1 + i * 37);
      CHECK(blocks[i] != 0);
      fill(blocks[i], 1 + i * 37, 0, i);
    }
    for (int i = BLOCKS - 1; i >= 0; i--) {
      CHECK(filled(blocks[i], 1 + i * 37, 0, i));
      free(blocks[i]);
    }
    if (round == 0)
      end = sbrk(0);
    CHECK(sbrk(0) == end);
  }
}

const struct test mem_tests[] = {
    {"kernmem", kernmem, 0},          {"nowrite", nowrite, 0},
    {"textwrite", textwrite, 0},      {"noexec", noexec, 0},
    {"highbits", high_bits, 0},       {"privileged", privileged, 0},
    {"stackguard", stackguard, 0},    {"sbrksteps", sbrk_steps, 0},
    {"sbrkedge", sbrk_edges, 0},      {"sbrklimit", sbrk_limits, 0},
    {"sbrkall", sbrk_all, 0},         {"zeroed", zeroed_pages, 0},
    {"lazytouch", lazy_touch, 0},     {"lazycalls", lazy_calls, 0},
    {"lazyfork", lazy_fork, 0},       {"lazymixed", lazy_mixed, 0},
    {"lazylimit", lazy_limit, 0},     {"lazyforbidden", lazy_forbidden, 0},
    {"forkprivate", fork_private, 0}, {"forkrights", fork_rights, 0},
    {"heap", heap_blocks, 0},         {0},
};
