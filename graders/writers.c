// Finds, in a kernel's code, the calls into the student's file and out of it,
// and says what the plugin saw of them. What follows from it is judged
// elsewhere; graders/plugin/writer.h has the rule by which bytes are the
// kernel's own.
//
// Instructions are told apart as the RISC-V specification encodes them: the
// unprivileged part, and its extension C for those of two bytes.

#include "graders/writers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/run/argv.h"

// Of QEMU's machine "virt": its UART's register for bytes to send.
#define UART_ADDRESS 0x10000000
// Far more than an allocator has. Where it has more, bytes are counted all the
// same, and some are not traced to their line.
enum { CALLS_MAX = 512, STORES_MAX = 1024, CALLERS_MAX = 512 };

// ---- instructions ------------------------------------------------------------------

enum { OPCODE_LOAD = 0x03, OPCODE_STORE = 0x23, OPCODE_AUIPC = 0x17 };
enum { OPCODE_JALR = 0x67, OPCODE_JAL = 0x6f, RA = 1, SP = 2 };

struct code {
  const struct binary *kernel;
  uint64_t from, to;
};

struct insn {
  uint64_t at;
  uint32_t bits, before;  // of this, and of the instruction before it
  unsigned size;
};

// Goes on to the next instruction of the code; begins with a zeroed *i. False
// at the end.
static bool next_insn(const struct code *code, struct insn *i)
{
  uint64_t at = i->size ? i->at + i->size : code->from;
  const uint8_t *b = at < code->to ? object_bytes(code->kernel, at, 2) : NULL;

  if (b == NULL)
    return false;
  *i = (struct insn){
      .at = at, .before = i->bits, .size = 2, .bits = b[0] | b[1] << 8};
  if ((b[0] & 3) != 3)
    return true;
  b = object_bytes(code->kernel, at, 4);
  if (b == NULL)
    return false;
  i->size = 4;
  i->bits |= (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
  return true;
}

static unsigned opcode(uint32_t bits)
{
  return bits & 0x7f;
}

static unsigned rd(uint32_t bits)
{
  return bits >> 7 & 0x1f;
}

static unsigned rs1(uint32_t bits)
{
  return bits >> 15 & 0x1f;
}

// The bits from `low` on, `count` of them, moved to `to`.
static uint32_t part(uint32_t bits, int low, int count, int to)
{
  return (bits >> low & ((1u << count) - 1)) << to;
}

static int64_t sign(uint32_t value, int bit)
{
  return (int64_t)value - (value >> bit & 1 ? (int64_t)2 << bit : 0);
}

// Where a jump whose target is in its code goes; 0 for any other instruction.
// With *ret_links it is a call.
static uint64_t jump_target(const struct insn *i, bool *ret_links)
{
  uint32_t b = i->bits;
  int64_t offset;

  *ret_links = false;
  if (i->size == 2) {  // c.j
    if ((b & 0xe003) != 0xa001)
      return 0;
    offset = sign(part(b, 12, 1, 11) | part(b, 11, 1, 4) | part(b, 9, 2, 8) |
                      part(b, 8, 1, 10) | part(b, 7, 1, 6) | part(b, 6, 1, 7) |
                      part(b, 3, 3, 1) | part(b, 2, 1, 5),
                  11);
  } else if (opcode(b) == OPCODE_JAL) {
    *ret_links = rd(b) == RA;
    offset = sign(part(b, 31, 1, 20) | part(b, 21, 10, 1) | part(b, 20, 1, 11) |
                      part(b, 12, 8, 12),
                  20);
  } else if (opcode(b) == OPCODE_JALR && opcode(i->before) == OPCODE_AUIPC &&
             rd(i->before) == rs1(b)) {
    *ret_links = rd(b) == RA;
    offset = sign(b >> 20, 11) + (int32_t)(i->before & 0xfffff000) - 4;
  } else {
    return 0;
  }
  return i->at + (uint64_t)offset;
}

// A call or jump to an address in a register, but no return.
static bool is_indirect(const struct insn *i)
{
  bool links;

  if (i->size == 2)  // c.jr, c.jalr
    return (i->bits & 0xe07f) == 0x8002 && rd(i->bits) != 0 &&
           ((i->bits & 0x1000) != 0 || rd(i->bits) != RA);
  return opcode(i->bits) == OPCODE_JALR && jump_target(i, &links) == 0 &&
         (rd(i->bits) != 0 || rs1(i->bits) != RA);
}

static bool is_stack_access(const struct insn *i, unsigned op,
                            uint32_t short_op)
{
  return i->size == 2 ? (i->bits & 0xe003) == short_op
                      : opcode(i->bits) == op && rs1(i->bits) == SP;
}

static bool is_stack_store(const struct insn *i)
{
  return is_stack_access(i, OPCODE_STORE, 0xe002);  // c.sdsp
}

static bool is_stack_load(const struct insn *i)
{
  return is_stack_access(i, OPCODE_LOAD, 0x6002);  // c.ldsp
}

// A store that is not one to the stack.
static bool is_store(const struct insn *i)
{
  uint32_t short_op = i->bits & 0xe003;

  return i->size == 2 ? short_op == 0xc000 || short_op == 0xe000
                      : opcode(i->bits) == OPCODE_STORE && rs1(i->bits) != SP;
}

// ---- places ------------------------------------------------------------------------

static bool has(const struct code *code, uint64_t at)
{
  return at >= code->from && at < code->to;
}

// The symbol's code: as long as the symbol says, or `least` bytes.
static struct code code_of(const struct binary *kernel, const char *name,
                           uint64_t least)
{
  const struct object_symbol *s = object_find(kernel, name);
  uint64_t size = s && s->size_bytes ? s->size_bytes : least;

  return s ? (struct code){kernel, s->value, s->value + size}
           : (struct code){kernel, 0, 0};
}

static struct code students(const struct binary *kernel)
{
  const struct object_symbol *from = object_find(kernel, "watch_text_begin");
  const struct object_symbol *to = object_find(kernel, "watch_text_end");

  return (struct code){kernel, from ? from->value : 0, to ? to->value : 0};
}

static struct code all_code(const struct binary *kernel)
{
  for (size_t i = 0; i < kernel->section_count; i++) {
    const struct object_section *s = &kernel->sections[i];
    if (strcmp(s->name, ".text") == 0)
      return (struct code){kernel, s->address, s->address + s->size_bytes};
  }
  return (struct code){kernel, 0, 0};
}

static void add_place(struct buf *ret, const char *name, uint64_t address)
{
  buf_addf(ret, ",%s=%" PRIx64, name, address);
}

// Adds the first instruction of the code that matches. Whether there is one.
static bool add_first(const struct code *code, const char *name,
                      bool (*matches)(const struct insn *), struct buf *ret)
{
  for (struct insn i = {0}; next_insn(code, &i);)
    if (matches(&i)) {
      add_place(ret, name, i.at);
      return true;
    }
  return false;
}

// The code of a kernel that is not the student's.
struct outside {
  struct code all, mine;
};

// Goes on to the next instruction of it.
static bool next_outside(const struct outside *o, struct insn *i)
{
  bool more = next_insn(&o->all, i);

  while (more && has(&o->mine, i->at))
    more = next_insn(&o->all, i);
  return more;
}

// Adds where calls of a function return to. One that another function ends
// with, by a jump, returns to where that one does; `depth` bounds such chains.
static void add_returns(const struct outside *o, uint64_t function,
                        const char *back, int depth, struct buf *ret)
{
  bool links;

  for (struct insn i = {0}; next_outside(o, &i);) {
    if (jump_target(&i, &links) != function)
      continue;
    const struct object_symbol *f = object_function_at(o->all.kernel, i.at);
    if (links)
      add_place(ret, back, i.at + i.size);
    else if (f != NULL && f->value != function && depth > 0)
      add_returns(o, f->value, back, depth - 1, ret);
  }
}

// Adds the calls of code in `into`, and where they return to. How many there
// are.
static unsigned add_calls(const struct outside *o, const struct code *into,
                          const char *call, const char *back, struct buf *ret)
{
  enum { CHAIN_MAX = 8 };
  unsigned count = 0;
  bool links;

  for (struct insn i = {0}; next_outside(o, &i) && count < CALLERS_MAX;) {
    if (!has(into, jump_target(&i, &links)))
      continue;
    const struct object_symbol *f = object_function_at(o->all.kernel, i.at);
    if (!links && (f == NULL || has(into, f->value)))
      continue;
    add_place(ret, call, i.at);
    if (links)
      add_place(ret, back, i.at + i.size);
    else
      add_returns(o, f->value, back, CHAIN_MAX, ret);
    count++;
  }
  return count;
}

// A function that ends with a call of the student's may have been called
// through a pointer.
static void add_indirect_returns(const struct outside *o, struct buf *ret)
{
  for (struct insn i = {0}; next_outside(o, &i);)
    if (is_indirect(&i))
      add_place(ret, "leave", i.at + i.size);
}

static void add_own(const struct code *mine, struct buf *ret)
{
  unsigned calls = 0, stores = 0;
  bool links;

  for (struct insn i = {0}; next_insn(mine, &i);) {
    uint64_t target = jump_target(&i, &links);
    bool leads_out = target ? !has(mine, target) : is_indirect(&i);
    if (leads_out && calls++ < CALLS_MAX)
      add_place(ret, "call", i.at);
    if (is_store(&i) && stores++ < STORES_MAX)
      add_place(ret, "store", i.at);
  }
}

// What drivers call the functions that send bytes. Not uartinit: what it stores
// there is a divisor.
static bool add_driver(const struct binary *kernel, struct buf *ret)
{
  static const char *const names[] = {"uartputc", "uartputc_sync", "uartstart",
                                      "uartwrite"};
  bool any = false;

  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    struct code code = code_of(kernel, names[n], 0);
    for (struct insn i = {0}; next_insn(&code, &i);)
      if (is_store(&i)) {
        add_place(ret, "sends", i.at);
        any = true;
      }
  }
  return any;
}

static bool find_places(const struct binary *kernel, struct buf *ret)
{
  struct outside o = {all_code(kernel), students(kernel)};
  struct code dump = code_of(kernel, "procdump", 2);
  struct code panic = code_of(kernel, "panic", 2);
  struct code vector = code_of(kernel, "kernelvec", 128);

  if (o.mine.from >= o.mine.to || panic.from == 0 || !add_driver(kernel, ret) ||
      !add_first(&vector, "trapped", is_stack_store, ret) ||
      !add_first(&vector, "resumed", is_stack_load, ret) ||
      add_calls(&o, &o.mine, "enter", "leave", ret) == 0 ||
      add_calls(&o, &dump, "asked", "answered", ret) == 0)
    return false;
  add_indirect_returns(&o, ret);
  add_place(ret, "panic", panic.from);
  add_own(&o.mine, ret);
  buf_addf(ret, ",uart=%x", UART_ADDRESS);
  return true;
}

bool writers_known(const struct binary *kernel)
{
  struct buf places = BUF_INIT;
  bool known = find_places(kernel, &places);

  buf_release(&places);
  return known;
}

void writers_places(const struct binary *kernel, const struct texts *devices,
                    struct buf *ret)
{
  struct buf places = BUF_INIT;

  if (find_places(kernel, &places)) {
    buf_add(ret, places.data, places.len);
    for (size_t i = 0; i < devices->count; i++)
      buf_addf(ret, ",device=%s", devices->items[i]);
  }
  buf_release(&places);
}

// ---- words -------------------------------------------------------------------------

// Appends "FILE:LINE: FUNCTION()" of an instruction.
static void add_where(const struct binary *kernel, const char *path,
                      const struct stock *stock, uint64_t pc, struct buf *ret)
{
  const struct object_symbol *f = object_function_at(kernel, pc);
  struct buf out = BUF_INIT;
  struct argv command = {0};
  char *folder = xstrdup(path);

  *strrchr(folder, '/') = '\0';
  stock_tool(stock, "addr2line", &command);
  argv_add(&command, "-e");
  argv_add(&command, path);
  argv_addf(&command, "0x%" PRIx64, pc);
  int rc =
      tool_run(&(struct tool_run){folder, NULL, stock}, &command, &out, NULL);
  const char *place = buf_str(&out);
  place += strncmp(place, "./", 2) == 0 ? 2 : 0;
  size_t len = strcspn(place, " \n");
  if (rc == 0 && len > 0 && *place != '?')
    buf_addf(ret, "%.*s: ", (int)len, place);
  buf_addf(ret, "%s()", f ? f->name : "the student's code");
  buf_release(&out);
  argv_release(&command);
  free(folder);
}

void writers_tell(const struct plugin_report *report,
                  const struct binary *kernel, const char *kernel_path,
                  const struct stock *stock, uint64_t bytes, struct buf *ret)
{
  for (size_t i = 0; i < report->foreign_count; i++) {
    const struct foreign_use *u = &report->foreign[i];
    add_where(kernel, kernel_path, stock, u->pc, ret);
    if (u->address == 0)
      buf_addf(ret,
               " made the kernel print %" PRIu64
               " bytes; only Ctrl-P and panic() may\n",
               u->times);
    else
      buf_addf(ret, " wrote to the device at 0x%" PRIx64 " %" PRIu64 " times\n",
               u->address, u->times);
  }
  // Only when the plugin had its last word are both counts of the same moment.
  if (report->ended && bytes > report->sent && writers_known(kernel))
    buf_addf(ret,
             "%" PRIu64
             " bytes on the console were not sent by the kernel's driver\n",
             bytes - report->sent);
}
