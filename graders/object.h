// A compiled file: its sections, symbols and relocations, and whether it keeps
// to what a student's file may be.
#ifndef GRADERS_OBJECT_H
#define GRADERS_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labgen/base/buf.h"
#include "labgen/base/error.h"
#include "labgen/lab/schema.h"

struct object_section {
  const char *name;
  uint64_t address, size_bytes;
  bool allocated;     // it is there when the program runs
  const char *bytes;  // size_bytes of them; NULL when the file has none
};

struct object_symbol {
  const char *name;
  uint64_t value, size_bytes;
  size_t section;  // index; meaningless when not defined
  bool defined, global, function;
  const char *source;  // of a symbol that is not global: its source file
};

struct object_relocation {
  size_t section;   // that is patched
  uint64_t offset;  // in it
  const char *symbol;
};

// An ELF file of a 64-bit RISC-V machine: an object or a linked kernel. Names
// are borrowed from `bytes`.
struct binary {
  struct buf bytes;
  struct object_section *sections;
  size_t section_count;
  struct object_symbol *symbols;
  size_t symbol_count;
  struct object_relocation *relocations;
  size_t relocation_count;
};

// Reads the file. Every offset in it is checked against its size. LG_EINPUT
// when it is no such ELF file, or as file_read(). *ret is untouched on failure.
int object_read(const char *path, struct binary *ret, struct error *err);

// Safe on a zeroed struct.
void object_release(struct binary *o);

// The global symbol of that name that the file defines, or NULL; borrowed.
const struct object_symbol *object_find(const struct binary *o,
                                        const char *name);

// The function whose code holds an address (of a linked file), or NULL.
const struct object_symbol *object_function_at(const struct binary *o,
                                               uint64_t address);

// The `len` bytes at an address of a linked file; borrowed. NULL when not all of
// them are in the file (those of .bss are not).
const void *object_bytes(const struct binary *o, uint64_t address, size_t len);

// Calls visit() for each function of the linked file `program` that came from
// the object file `part`, static ones too.
void object_each_function_of(
    const struct binary *program, const struct binary *part,
    void (*visit)(void *arg, const struct object_symbol *f), void *arg);

// What a student's object may be; from the rubric.
struct object_rules {
  struct place at;
  struct texts definitions;  // functions that it must define
  struct texts references;   // names of the kernel that it may use
  struct texts outside;      // of these, not from the functions above
  struct texts spliced;      // functions that it may bring for another file
  struct texts sections;     // names; one that ends in '*' is a beginning
  struct texts devices;      // addresses that it must not hold: "FIRST-LAST"
};

extern const struct schema object_rules_schema;

// Adds a line to *ret_problems for each thing in the object that the rules do
// not permit; none is an object that keeps to them. `reserved` are global names
// of the rest of the kernel (sorted, borrowed), which a student's file must not
// define. `disassembly` is the output of objdump -d.
void object_check(const struct binary *o, const struct object_rules *rules,
                  const char *const *reserved, size_t reserved_count,
                  const char *disassembly, struct buf *ret_problems);

// A file of the course's with functions of a student's put in, as objects that
// were compiled with the same options (without section anchors, which hide what
// is used).
struct object_splice {
  const struct binary *course;   // without them
  const struct binary *spliced;  // with them
  const struct binary *student;  // the student's own file
  const char *disassembly;       // of `spliced`
};

// As object_check(), for the functions that the rules name as spliced and for
// all that the course's file lacks. They may use what the spliced functions use
// in the course's file, names that the rules have as `outside`, and what the
// student's file defines beside the functions it must define. The file's other
// functions must use what they used before.
void object_check_splice(const struct object_splice *s,
                         const struct object_rules *rules,
                         struct buf *ret_problems);

#endif
