// The kernel round the student's kalloc.c, as far as an allocator can see it,
// compiled against the headers of the student's own tree: interrupts and
// their nesting, spinlocks, memory and text functions, and the hooks of gcc's
// instrumentation. All of it is passed on to the engine (host.h).
//
// Deliberately without the tree's defs.h: prototypes differ from year to year,
// and the calling convention is all that counts here.
// In older trees the order of headers matters.
// clang-format off
#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "riscv.h"
#include "spinlock.h"
#include "proc.h"
// clang-format on
#include "host.h"

#define PC() __builtin_return_address(0)
#define EXPORT __attribute__((visibility("default")))

static const struct ex_host *host;

// Part of what a schedule changes, so the engine restores it as well.
struct cpu cpus[NCPU];

// ---- which hart, and its interrupts ----------------------------------------

static struct cpu *here(void *pc)
{
  return &cpus[host->hart(EX_BY_KERNEL, pc)];
}

int cpuid(void)
{
  return host->hart(EX_BY_CPUID, PC());
}

struct cpu *mycpu(void)
{
  return &cpus[host->hart(EX_BY_MYCPU, PC())];
}

struct proc *myproc(void)
{
  return 0;
}

static void nest(void *pc)
{
  int were_on = host->interrupts();
  host->set_interrupts(0, pc);
  struct cpu *c = here(pc);
  if (c->noff == 0)
    c->intena = were_on;
  c->noff++;
}

static void unnest(void *pc)
{
  if (host->interrupts())
    host->panic("pop_off with interrupts on", pc);
  struct cpu *c = here(pc);
  if (c->noff < 1)
    host->panic("pop_off without push_off", pc);
  if (--c->noff == 0 && c->intena)
    host->set_interrupts(1, pc);
}

void push_off(void)
{
  nest(PC());
}

void pop_off(void)
{
  unnest(PC());
}

// ---- locks ------------------------------------------------------------------

static int held_here(struct spinlock *lk, void *pc)
{
  return lk->locked && lk->cpu == here(pc);
}

int holding(struct spinlock *lk)
{
  host->access(lk, sizeof *lk, EX_CHECK, PC());
  return held_here(lk, PC());
}

void initlock(struct spinlock *lk, char *name)
{
  host->access(lk, sizeof *lk, EX_CHECK, PC());
  *lk = (struct spinlock){.name = name};
  host->lock_init(lk, name, PC());
}

static void take(struct spinlock *lk, void *pc)
{
  host->access(lk, sizeof *lk, EX_CHECK, pc);
  nest(pc);
  if (held_here(lk, pc))
    host->panic("acquire of a lock that this hart holds", pc);
  host->lock(lk, &lk->locked, pc);
  lk->cpu = here(pc);
}

static void give(struct spinlock *lk, void *pc)
{
  host->access(lk, sizeof *lk, EX_CHECK, pc);
  if (!held_here(lk, pc))
    host->panic("release of a lock that this hart does not hold", pc);
  lk->cpu = 0;
  host->unlock(lk, &lk->locked, pc);
  unnest(pc);
}

void acquire(struct spinlock *lk)
{
  take(lk, PC());
}

void release(struct spinlock *lk)
{
  give(lk, PC());
}

// ---- text and memory --------------------------------------------------------

void panic(const char *why)
{
  host->panic(why, PC());
}

int printf(const char *fmt, ...)
{
  char line[128];
  va_list args;
  va_start(args, fmt);
  int len = host->text(line, sizeof line, fmt, args);
  va_end(args);
  return len;
}

int snprintf(char *dst, unsigned room, const char *fmt, ...)
{
  host->access(dst, room, EX_WRITE, PC());
  va_list args;
  va_start(args, fmt);
  int len = host->text(dst, room, fmt, args);
  va_end(args);
  return len;
}

void *memset(void *dst, int byte, unsigned n)
{
  host->fill(dst, byte, n, PC());
  return dst;
}

void *memmove(void *dst, const void *src, unsigned n)
{
  host->copy(dst, src, n, PC());
  return dst;
}

void *memcpy(void *dst, const void *src, unsigned n)
{
  host->copy(dst, src, n, PC());
  return dst;
}

int memcmp(const void *a, const void *b, unsigned n)
{
  const unsigned char *p = a, *q = b;
  host->access(a, n, EX_READ, PC());
  host->access(b, n, EX_READ, PC());
  for (unsigned i = 0; i < n; i++) {
    if (p[i] != q[i])
      return p[i] - q[i];
  }
  return 0;
}

int strlen(const char *s)
{
  int n = 0;
  while (host->access(s + n, 1, EX_READ, PC()), s[n])
    n++;
  return n;
}

int strncmp(const char *a, const char *b, unsigned n)
{
  for (unsigned i = 0; i < n; i++) {
    host->access(a + i, 1, EX_READ, PC());
    host->access(b + i, 1, EX_READ, PC());
    if (a[i] != b[i] || !a[i])
      return (unsigned char)a[i] - (unsigned char)b[i];
  }
  return 0;
}

static char *put(char *dst, const char *src, int n, int pad, void *pc)
{
  int i = 0;
  for (; i < n && src[i]; i++)
    dst[i] = src[i];
  host->access(src, i + 1, EX_READ, pc);
  if (n > 0)
    host->access(dst, pad ? n : i + 1, EX_WRITE, pc);
  for (; pad && i < n; i++)
    dst[i] = 0;
  return dst;
}

char *strncpy(char *dst, const char *src, int n)
{
  return put(dst, src, n, 1, PC());
}

char *safestrcpy(char *dst, const char *src, int n)
{
  if (n <= 0)
    return dst;
  put(dst, src, n - 1, 0, PC());
  int len = 0;
  while (len < n - 1 && src[len])
    len++;
  dst[len] = 0;
  return dst;
}

// ---- RISC-V instructions (prelude.h) ----------------------------------------

unsigned long ex_reg;
unsigned ex_csr_number;
enum { SSTATUS = 0x100, SIE_BIT = 2 };

// Each thunk saves what a call may change: to the compiler the assembly round
// the call changes nothing but its operands.
#define THUNK(name)                                                           \
  __attribute__((used)) static void name##_c(void *pc);                       \
  asm(".hidden " #name "\n.globl " #name "\n" #name                           \
      ":\n"                                                                   \
      "  push %rax\n  push %rcx\n  push %rdx\n  push %rsi\n  push %rdi\n"     \
      "  push %r8\n  push %r9\n  push %r10\n  push %r11\n  push %rbp\n"       \
      "  mov %rsp, %rbp\n"                                                    \
      "  mov 80(%rsp), %rdi\n"                                                \
      "  and $-16, %rsp\n"                                                    \
      "  call " #name                                                         \
      "_c\n"                                                                  \
      "  mov %rbp, %rsp\n"                                                    \
      "  pop %rbp\n  pop %r11\n  pop %r10\n  pop %r9\n  pop %r8\n"            \
      "  pop %rdi\n  pop %rsi\n  pop %rdx\n  pop %rcx\n  pop %rax\n  ret\n"); \
  static void name##_c(void *pc)

THUNK(ex_thunk_tp)
{
  ex_reg = host->hart(EX_BY_TP, pc);
}

THUNK(ex_thunk_csr_read)
{
  (void)pc;
  ex_reg = ex_csr_number == SSTATUS && host->interrupts() ? SIE_BIT : 0;
}

THUNK(ex_thunk_csr_write)
{
  if (ex_csr_number == SSTATUS)
    host->set_interrupts((ex_reg & SIE_BIT) != 0, pc);
}

THUNK(ex_thunk_csr_set)
{
  if (ex_csr_number == SSTATUS && (ex_reg & SIE_BIT))
    host->set_interrupts(1, pc);
}

THUNK(ex_thunk_csr_clear)
{
  if (ex_csr_number == SSTATUS && (ex_reg & SIE_BIT))
    host->set_interrupts(0, pc);
}

// ---- hooks of gcc -fsanitize=thread -----------------------------------------

void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller_pc)
{
  host->enter(caller_pc);
}

void __tsan_func_exit(void)
{
  host->leave();
}

#define HOOK(name, bytes, kind)            \
  void __tsan_##name(void *addr)           \
  {                                        \
    host->access(addr, bytes, kind, PC()); \
  }
#define HOOKS(bytes)                                             \
  HOOK(read##bytes, bytes, EX_READ)                              \
  HOOK(write##bytes, bytes, EX_WRITE)                            \
  HOOK(unaligned_read##bytes, bytes, EX_READ)                    \
  HOOK(unaligned_write##bytes, bytes, EX_WRITE)                  \
  HOOK(volatile_read##bytes, bytes, EX_READ | EX_SYNC)           \
  HOOK(volatile_write##bytes, bytes, EX_WRITE | EX_SYNC)         \
  HOOK(unaligned_volatile_read##bytes, bytes, EX_READ | EX_SYNC) \
  HOOK(unaligned_volatile_write##bytes, bytes, EX_WRITE | EX_SYNC)
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

void __tsan_read_range(void *addr, unsigned long bytes)
{
  host->access(addr, bytes, EX_READ, PC());
}

void __tsan_write_range(void *addr, unsigned long bytes)
{
  host->access(addr, bytes, EX_WRITE, PC());
}

// Only one hart runs at a time, so plain operations are atomic here.
#define MODIFY(type, bits, name, expr)                                \
  type __tsan_atomic##bits##_##name(type *p, type v, int order)       \
  {                                                                   \
    (void)order;                                                      \
    host->access(p, sizeof *p, EX_WRITE | EX_SYNC | EX_ATOMIC, PC()); \
    type was = *p;                                                    \
    *p = (type)(expr);                                                \
    host->atomic_done(p, *p != was);                                  \
    return was;                                                       \
  }
#define SWAP_IF(type, bits, strength)                                 \
  int __tsan_atomic##bits##_compare_exchange_##strength(              \
      type *p, type *expected, type v, int order, int failure_order)  \
  {                                                                   \
    (void)order;                                                      \
    (void)failure_order;                                              \
    host->access(p, sizeof *p, EX_WRITE | EX_SYNC | EX_ATOMIC, PC()); \
    type was = *p;                                                    \
    int same = was == *expected;                                      \
    if (same)                                                         \
      *p = v;                                                         \
    else                                                              \
      *expected = was;                                                \
    host->atomic_done(p, same &&v != was);                            \
    return same;                                                      \
  }
#define ATOMICS(type, bits)                                           \
  type __tsan_atomic##bits##_load(const type *p, int order)           \
  {                                                                   \
    (void)order;                                                      \
    host->access(p, sizeof *p, EX_READ | EX_SYNC, PC());              \
    return *p;                                                        \
  }                                                                   \
  void __tsan_atomic##bits##_store(type *p, type v, int order)        \
  {                                                                   \
    (void)order;                                                      \
    host->access(p, sizeof *p, EX_WRITE | EX_SYNC | EX_ATOMIC, PC()); \
    type was = *p;                                                    \
    *p = v;                                                           \
    host->atomic_done(p, was != v);                                   \
  }                                                                   \
  MODIFY(type, bits, exchange, v)                                     \
  MODIFY(type, bits, fetch_add, was + v)                              \
  MODIFY(type, bits, fetch_sub, was - v)                              \
  MODIFY(type, bits, fetch_and, was &v)                               \
  MODIFY(type, bits, fetch_or, was | v)                               \
  MODIFY(type, bits, fetch_xor, was ^ v)                              \
  MODIFY(type, bits, fetch_nand, ~(was & v))                          \
  SWAP_IF(type, bits, strong)                                         \
  SWAP_IF(type, bits, weak)
ATOMICS(unsigned char, 8)
ATOMICS(unsigned short, 16)
ATOMICS(unsigned, 32)
ATOMICS(unsigned long, 64)

void __tsan_atomic_thread_fence(int order)
{
  (void)order;
}

void __tsan_atomic_signal_fence(int order)
{
  (void)order;
}

// ---- hook of gcc -fsanitize=bounds ------------------------------------------

// What the compiler passes: laid out as in gcc's ubsan.c.
struct source_place {
  const char *file;
  unsigned line, column;
};

struct type_name {
  unsigned short kind, info;
  char name[];
};

struct bounds_data {
  struct source_place place;
  struct type_name *array, *index;
};

void __ubsan_handle_out_of_bounds(struct bounds_data *data, unsigned long i)
{
  host->index(data->place.file, data->place.line, (long)i, data->array->name,
              PC());
}

// ---- for the engine ---------------------------------------------------------

static int *noff_of(int hart)
{
  return &cpus[hart].noff;
}

static int *intena_of(int hart)
{
  return &cpus[hart].intena;
}

static char *name_of(void *lock)
{
  return ((struct spinlock *)lock)->name;
}

static void attach(const struct ex_host *to)
{
  host = to;
}

EXPORT struct ex_guest ex_guest = {
    .ncpu = NCPU,
    .page_bytes = PGSIZE,
    .phystop = PHYSTOP,
    .lock_bytes = sizeof(struct spinlock),
    .cpus = (char *)cpus,
    .cpu_bytes = sizeof(struct cpu),
    .noff = noff_of,
    .intena = intena_of,
    .name_of = name_of,
    .attach = attach,
    .push_off = push_off,
    .pop_off = pop_off,
    .acquire = (void (*)(void *))acquire,
    .release = (void (*)(void *))release,
};
