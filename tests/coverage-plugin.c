// A QEMU plugin that notes which kernel instructions run: one flag for each
// block of code, set when the block is entered. Its one argument is out=PATH;
// when QEMU ends it writes there, in hexadecimal and one a line, the addresses
// of all instructions of the blocks that ran. What they are in terms of files
// and lines is for tool-coverage.c.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/plugin/qemu-api.h"

#define KERNEL_START 0x80000000u

PLUGIN_EXPORT int qemu_plugin_version = PLUGIN_API;

// QEMU translates the same code again and again, and cuts it into blocks in
// different ways, so a block is known by its address and its length.
struct block {
  struct block *next;
  uint64_t address;
  size_t count;
  volatile bool ran;
  uint64_t instructions[];
};

#define BUCKETS 4096

static struct block *blocks[BUCKETS];  // by address; `lock` must be held
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *out_path;

// The block, which is made if it is new. NULL without memory.
static struct block *block_of(const struct qemu_plugin_tb *tb)
{
  uint64_t address = qemu_plugin_tb_vaddr(tb);
  size_t count = qemu_plugin_tb_n_insns(tb);
  struct block **bucket = &blocks[address / 2 % BUCKETS];
  struct block *b;

  for (b = *bucket; b; b = b->next)
    if (b->address == address && b->count == count)
      return b;
  b = calloc(1, sizeof(*b) + count * sizeof(b->instructions[0]));
  if (!b)
    return NULL;
  b->address = address;
  b->count = count;
  for (size_t i = 0; i < count; i++)
    b->instructions[i] = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i));
  b->next = *bucket;
  *bucket = b;
  return b;
}

static void on_entered(unsigned vcpu, void *block)
{
  (void)vcpu;
  ((struct block *)block)->ran = true;
}

static void on_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
  (void)id;
  if (qemu_plugin_tb_vaddr(tb) < KERNEL_START)
    return;
  pthread_mutex_lock(&lock);
  struct block *b = block_of(tb);
  pthread_mutex_unlock(&lock);
  if (b)
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_entered, QEMU_PLUGIN_CB_NO_REGS,
                                         b);
}

static void on_qemu_exit(qemu_plugin_id_t id, void *unused)
{
  (void)id, (void)unused;
  FILE *out = fopen(out_path, "w");

  if (!out) {
    perror(out_path);
    return;
  }
  for (size_t i = 0; i < BUCKETS; i++)
    for (const struct block *b = blocks[i]; b; b = b->next)
      for (size_t j = 0; b->ran && j < b->count; j++)
        fprintf(out, "%llx\n", (unsigned long long)b->instructions[j]);
  fclose(out);
}

PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
                                      const qemu_info_t *info, int argc,
                                      char **argv)
{
  (void)info;
  // For the Makefile, as in graders/plugin/plugin.c.
  if (argc == 1 && strcmp(argv[0], "probe=on") == 0) {
    fputs("labgen plugin: accepted\n", stderr);
    return 1;
  }
  if (argc != 1 || strncmp(argv[0], "out=", 4) != 0) {
    fputs("coverage plugin: usage: out=PATH\n", stderr);
    return -1;
  }
  out_path = strdup(argv[0] + 4);
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
  qemu_plugin_register_atexit_cb(id, on_qemu_exit, NULL);
  return 0;
}
