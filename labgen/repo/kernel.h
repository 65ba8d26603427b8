// Kernels: each tree is compiled once, and a tree that differs from one that is
// built already by a few .c files takes over the rest.
#ifndef LABGEN_REPO_KERNEL_H
#define LABGEN_REPO_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "labgen/base/error.h"
#include "labgen/lab/labfile.h"
#include "labgen/lab/tree.h"
#include "labgen/repo/publish.h"

#define KERNEL_KEY_BYTES 33  // 32 hexadecimal digits and a NUL

struct kernels;  // a builder

struct kernel_options {
  struct publish *publish;  // kernels appear as kernels/KEY/ there
  const char *cache;        // folder for built trees, kept between runs
  int jobs;                 // compilations at once
  struct lab_limits limits;
  struct texts products;  // what `make` makes; none: kernel/kernel
  // Called once for every kernel that was asked for, when it is there (`words`
  // NULL) or when it does not compile (`words` is the compiler's output).
  void (*on_done)(void *arg, const char *label, const char *words);
  void *arg;
};

// Starts a builder; `options` is copied, what it points to is borrowed.
struct kernels *kernels_open(const struct kernel_options *options);

// Has the kernel of a tree made, with all jobs, waits for it, and keeps the
// built tree so that trees like it take over its objects. `label` says for
// people whose kernel it is. *ret_key is the kernel's name below kernels/: a
// hash (BLAKE2b, 16 bytes) of the sources, Makefile included, and of what the
// compiler says it is. Documents (*.md, *.yaml, *.yml) do not count. A kernel
// that does not compile is no error here. LG_EHARNESS when make or the
// compiler cannot be started, LG_EIO.
int kernels_warm(struct kernels *k, const struct tree *tree, const char *label,
                 char ret_key[KERNEL_KEY_BYTES], struct error *err);

// As kernels_warm(), but waits only while all jobs are taken, and keeps nothing
// but the kernel.
int kernels_add(struct kernels *k, const struct tree *tree, const char *label,
                char ret_key[KERNEL_KEY_BYTES], struct error *err);

// Waits for all that was added. LG_EHARNESS, LG_EIO.
int kernels_finish(struct kernels *k, struct error *err);

// Counts so far: compilations begun, and kernels that did not compile.
size_t kernels_compiled(const struct kernels *k);
size_t kernels_failed(const struct kernels *k);

// Ends what still runs, and frees the builder; NULL is allowed.
void kernels_close(struct kernels *k);

#endif
