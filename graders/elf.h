// ELF files of the guest: symbols, and the bytes at an address. 64 bit, little
// endian, as RISC-V compilers make them.
#ifndef GRADERS_ELF_H
#define GRADERS_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labgen/base/buf.h"
#include "labgen/base/error.h"

// A file in memory; every table was checked to lie inside it.
struct elf {
  struct buf file;  // owned
  const Elf64_Shdr *sections;
  size_t section_count;
  const Elf64_Sym *symbols;  // the symbol table; NULL when it is stripped
  size_t symbol_count;
  const char *names;  // of symbols; ends with a NUL
  size_t names_len;
};

// Reads a file. LG_EINPUT when it is no ELF file of that kind or is damaged,
// LG_ENOTFOUND, LG_EIO.
int elf_read(const char *path, struct elf *ret, struct error *err);

// Safe on a zeroed struct.
void elf_release(struct elf *elf);

// A symbol's name, borrowed, "" when it has none.
const char *elf_name(const struct elf *elf, const Elf64_Sym *symbol);

// The global function or variable of a name, borrowed, or NULL. A file's own
// (static) symbols are not looked at: several files can have the same.
const Elf64_Sym *elf_find(const struct elf *elf, const char *name);

// The function or variable that an address of a linked program lies in,
// borrowed, or NULL.
const Elf64_Sym *elf_at(const struct elf *elf, uint64_t address);

// The bytes of a linked program at an address; borrowed. NULL when not all of
// them are in the file (.bss is not).
const uint8_t *elf_bytes(const struct elf *elf, uint64_t address, size_t len);

// Calls visit() for each function of the linked program `program` that came
// from the object file `object`, static ones too.
void elf_each_function_of(const struct elf *program, const struct elf *object,
                          void (*visit)(void *arg, const Elf64_Sym *function),
                          void *arg);

#endif
