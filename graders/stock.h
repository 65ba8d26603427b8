// The course's kernel tree, compiled once with the watchers and kept in a cache.
#ifndef GRADERS_STOCK_H
#define GRADERS_STOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labgen/base/buf.h"
#include "labgen/base/error.h"
#include "labgen/lab/labfile.h"
#include "labgen/lab/tree.h"
#include "labgen/run/argv.h"

// What a submission brings, by the names that the course's Makefile has.
#define STUDENT_FILE "kernel/kalloc.c"
#define STUDENT_OBJECT "kernel/kalloc.o"
#define SHARED_FILE "kernel/proc.c"
#define SHARED_OBJECT "kernel/proc.o"
#define STOCK_COUNTED_LOCKS "counted-locks.o"
// With that, an object says by name which variables it uses.
#define STOCK_SHARED_OPTION "-fno-section-anchors"
#define SHARED_HEADER "kernel/defs.h"
// What a kernel that counts has another form of.
#define LOCKS_FILE "kernel/spinlock.c"
#define LOCKS_OBJECT "kernel/spinlock.o"

struct stock {
  char *key;     // owned; names what it was made of
  char *cache;   // owned; absolute path of the cache
  char *dir;     // owned; absolute path of the compiled tree
  char *watch;   // owned; absolute path of the watchers' files in `dir`
  char *shared;  // owned; SHARED_FILE's object, STOCK_SHARED_OPTION given
  struct argv compile;  // the tree's own command for kernel/kalloc.c
  struct argv link;     // ... and for kernel/kernel
  char **reserved;  // owned, sorted: global names of the kernel's other files
  size_t reserved_count;
  bool sandbox;              // compile students' files in one
  struct lab_limits limits;  // on compilers of students' files; set by whoever
                             // has a lab file, as usual when zero
};

// Compiles the course's tree, or finds it in the cache, a folder that is made
// where it is missing. Entries are named by a hash of what went into them and
// put there whole, so that runs at the same time and killed runs do no harm.
// LG_EBUILD with the compiler's words, LG_EHARNESS, LG_EIO.
int stock_open(const char *cache, const struct tree *tree, bool sandbox,
               struct stock *ret, struct error *err);

// Safe on a zeroed struct.
void stock_close(struct stock *c);

// Appends the course's command for compiling kernel/kalloc.c, for another file.
// `added` (ends with NULL) are more options.
void stock_compile_command(const struct stock *c, const char *const *added,
                           const char *from, const char *to, struct argv *ret);

// Appends the name of another tool of the course's compiler, such as "objdump".
void stock_tool(const struct stock *c, const char *tool, struct argv *ret);

// One run of a compiler, linker or make.
struct tool_run {
  const char *dir;       // working directory
  const char *writable;  // folder that it may write to in a sandbox, or NULL
  const struct stock *stock;  // whose sandbox and limits; NULL: none, since
                              // it runs the course's own files
};

// Runs it; what it prints goes to *ret_out unless that is NULL. LG_EBUILD with
// the tool's words when it fails.
int tool_run(const struct tool_run *run, const struct argv *argv,
             struct buf *ret_out, struct error *err);

// Keys of the cache: begin with the parts, in hexadecimal at the end. Each part
// is text with its length. The caller owns the result.
struct key_part {
  const void *bytes;
  size_t len;
};
char *cache_key(const struct key_part *parts, size_t count);

// Gives a folder made aside its place in the cache. One that is there already
// stays, and the new one is removed. LG_EIO.
int cache_place(const char *made, const char *place, struct error *err);

#endif
