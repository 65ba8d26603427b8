// A QEMU plugin that watches a kernel from outside, without a change to it: it
// counts what each hart does with spinlocks, and knows at any time who holds
// and who waits for what. Here are its arguments and its hooks; hart.c counts,
// writer.c follows who writes to the console, report.c tells.
//
// It does not look at guest code or symbols. graders/plugin.c reads the
// kernel's ELF file and says where the instructions are that matter, as
// arguments NAME=HEX or NAME=HEX-HEX, each as often as needed:
//
//   out=PATH       where the lines of report.h go
//   attempt=A      amoswap of a lock in acquire
//   taken=A        first instruction that runs once the lock is had
//   released=A     store or amoswap that frees a lock
//   interval=A     ends an interval when it runs (the entry of procdump)
//   atomic=A       atomic instruction of the code under watch
//   enter=A        call into the code under watch
//   leave=A        instruction to which such a call returns
//   asked=A        call of procdump
//   answered=A     instruction to which that returns
//   panic=A        first instruction of panic
//   trapped=A      store that keeps the first register of an interrupted kernel
//   resumed=A      load that gets it back
//   sends=A        store of the driver that may send a byte to the console
//   call=A         call or jump that leads out of the code under watch
//   store=A        store of the code under watch
//   uart=A         where bytes for the console go
//   device=A-B     A to B, both included, are devices
//   quiet=A-B      locks in [A, B) count as no work
//   user=A-B       where programs run; the default is [0, 0x80000000)
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/plugin/hart.h"
#include "graders/plugin/qemu-api.h"
#include "graders/plugin/report.h"
#include "graders/plugin/writer.h"

PLUGIN_EXPORT int qemu_plugin_version = PLUGIN_API;

// ---- what happens when watched code runs ------------------------------------

// With one hart, QEMU makes an atomic of a load and a store; with several it is
// one access that is both. A store is in it once either way. (The filter that
// the interface has for this lets loads through in QEMU 7.2.)

static void on_attempt(unsigned vcpu, qemu_plugin_meminfo_t info,
                       uint64_t address, void *unused)
{
  (void)unused;
  if (qemu_plugin_mem_is_store(info))
    hart_tries(vcpu, address);
}

static void on_released(unsigned vcpu, qemu_plugin_meminfo_t info,
                        uint64_t address, void *unused)
{
  (void)unused;
  if (qemu_plugin_mem_is_store(info))
    hart_releases(vcpu, address);
}

static void on_atomic(unsigned vcpu, qemu_plugin_meminfo_t info,
                      uint64_t address, void *unused)
{
  (void)unused;
  if (qemu_plugin_mem_is_store(info))
    hart_atomic(vcpu, address);
}

static void on_sends(unsigned vcpu, qemu_plugin_meminfo_t info,
                     uint64_t address, void *unused)
{
  (void)unused, (void)info;
  writer_sends(vcpu, address);
}

static void on_store(unsigned vcpu, qemu_plugin_meminfo_t info,
                     uint64_t address, void *pc)
{
  (void)info;
  writer_stores(vcpu, (uintptr_t)pc, address);
}

static void on_trapped(unsigned vcpu, qemu_plugin_meminfo_t info,
                       uint64_t address, void *unused)
{
  (void)unused, (void)info;
  writer_is_interrupted(vcpu, address);
}

static void on_resumed(unsigned vcpu, qemu_plugin_meminfo_t info,
                       uint64_t address, void *unused)
{
  (void)unused, (void)info;
  writer_goes_on(vcpu, address);
}

static void on_enter(unsigned vcpu, void *pc)
{
  writer_enters(vcpu, (uintptr_t)pc);
}

static void on_leave(unsigned vcpu, void *unused)
{
  (void)unused;
  writer_leaves(vcpu);
}

static void on_asked(unsigned vcpu, void *unused)
{
  (void)unused;
  writer_is_asked(vcpu);
}

static void on_answered(unsigned vcpu, void *unused)
{
  (void)unused;
  writer_has_answered(vcpu);
}

static void on_panic(unsigned vcpu, void *unused)
{
  (void)unused;
  writer_panics(vcpu);
}

static void on_call(unsigned vcpu, void *pc)
{
  writer_calls(vcpu, (uintptr_t)pc);
}

static void on_taken(unsigned vcpu, void *unused)
{
  (void)unused;
  hart_takes(vcpu);
}

static void on_interval(unsigned vcpu, void *unused)
{
  (void)vcpu, (void)unused;
  report_interval();
}

// A block of a program, with its number of instructions.
static void on_user_block(unsigned vcpu, void *instructions)
{
  add(&harts[vcpu].user_instructions, (uintptr_t)instructions);
}

// ---- where watched code is --------------------------------------------------

// A kind of place: one of the two callbacks is set. At one address, kinds come
// in this order: a hart leaves one call before it makes the next.
static const struct kind {
  const char *name;
  qemu_plugin_mem_cb on_memory;
  qemu_plugin_exec_cb on_run;
} kinds[] = {
    {"attempt", on_attempt, 0},   {"taken", 0, on_taken},
    {"released", on_released, 0}, {"interval", 0, on_interval},
    {"atomic", on_atomic, 0},     {"sends", on_sends, 0},
    {"store", on_store, 0},       {"trapped", on_trapped, 0},
    {"resumed", on_resumed, 0},   {"leave", 0, on_leave},
    {"enter", 0, on_enter},       {"answered", 0, on_answered},
    {"asked", 0, on_asked},       {"panic", 0, on_panic},
    {"call", 0, on_call},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), PLACES_MAX = 4096 };

// Sorted by address once all arguments are read; an address may have several.
static struct place {
  uint64_t address;
  const struct kind *kind;
} places[PLACES_MAX];
static unsigned place_count;

static uint64_t user_from, user_to = 0x80000000;

static int by_address(const void *a, const void *b)
{
  const struct place *x = a, *y = b;

  if (x->address != y->address)
    return x->address > y->address ? 1 : -1;
  return (x->kind > y->kind) - (x->kind < y->kind);
}

// The index of the first place that is not below an address.
static unsigned first_place(uint64_t address)
{
  unsigned from = 0, to = place_count;

  while (from < to) {
    unsigned middle = (from + to) / 2;
    if (places[middle].address < address)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

// Blocks are translated anew again and again, so nothing is kept of one: what a
// callback needs is in its argument.
static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
  uint64_t start = qemu_plugin_tb_vaddr(tb);
  size_t count = qemu_plugin_tb_n_insns(tb);

  (void)id;
  if (start >= user_from && start < user_to) {
    qemu_plugin_register_vcpu_tb_exec_cb(
        tb, on_user_block, QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)count);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
    uint64_t address = qemu_plugin_insn_vaddr(insn);
    void *pc = (void *)(uintptr_t)address;
    for (unsigned p = first_place(address);
         p < place_count && places[p].address == address; p++) {
      const struct kind *kind = places[p].kind;
      if (kind->on_memory)
        qemu_plugin_register_vcpu_mem_cb(insn, kind->on_memory,
                                         QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_RW, pc);
      else
        qemu_plugin_register_vcpu_insn_exec_cb(insn, kind->on_run,
                                               QEMU_PLUGIN_CB_NO_REGS, pc);
    }
  }
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *unused)
{
  (void)id, (void)unused;
  report_end();
}

// ---- arguments --------------------------------------------------------------

static bool add_place(const char *name, uint64_t address)
{
  for (unsigned k = 0; k < KINDS; k++) {
    if (strcmp(kinds[k].name, name) != 0)
      continue;
    if (place_count == PLACES_MAX)
      return false;
    places[place_count].address = address;
    places[place_count++].kind = &kinds[k];
    return true;
  }
  return false;
}

// Takes one NAME=VALUE apart and does what it says; false if it says nothing
// that is known.
static bool take_argument(const char *argument)
{
  char name[16];
  const char *equals = strchr(argument, '=');

  if (!equals || (size_t)(equals - argument) >= sizeof(name))
    return false;
  memcpy(name, argument, (size_t)(equals - argument));
  name[equals - argument] = 0;
  if (strcmp(name, "out") == 0) {
    if (report_open(equals + 1))
      return true;
    fprintf(stderr, "labgen plugin: %s: %s\n", equals + 1, strerror(errno));
    return false;
  }

  char *rest;
  uint64_t from = strtoull(equals + 1, &rest, 16), to = 0;
  if (rest == equals + 1)
    return false;
  if (*rest == '-') {
    char *digits = rest + 1;
    to = strtoull(digits, &rest, 16);
  }
  if (*rest != 0)
    return false;
  if (strcmp(name, "quiet") == 0) {
    hart_set_quiet(from, to);
  } else if (strcmp(name, "uart") == 0) {
    writer_set_uart(from);
  } else if (strcmp(name, "device") == 0) {
    return writer_add_device(from, to);
  } else if (strcmp(name, "user") == 0) {
    user_from = from;
    user_to = to;
  } else {
    return to == 0 && add_place(name, from);
  }
  return true;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                        char **argv)
{
  // For the Makefile, which wants to know whether this QEMU takes the plugin.
  if (argc == 1 && strcmp(argv[0], "probe=on") == 0) {
    fprintf(stderr, "labgen plugin: accepted\n");
    return 1;
  }
  if (!info->system_emulation || info->system.smp_vcpus > HARTS_MAX) {
    fprintf(stderr, "labgen plugin: needs a machine of at most %d harts\n",
            HARTS_MAX);
    return 1;
  }
  hart_count = (unsigned)info->system.smp_vcpus;
  bool has_output = false;
  for (int i = 0; i < argc; i++) {
    if (!take_argument(argv[i])) {
      fprintf(stderr, "labgen plugin: bad argument '%s'\n", argv[i]);
      return 1;
    }
    has_output = has_output || strncmp(argv[i], "out=", 4) == 0;
  }
  if (!has_output || !report_start(PLUGIN_API)) {
    fprintf(stderr, "labgen plugin: no out=PATH, or no thread\n");
    return 1;
  }
  qsort(places, place_count, sizeof(places[0]), by_address);
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, 0);
  return 0;
}
