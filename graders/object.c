// Reads ELF files. What may be in one is object-rules.c's to say.
//
// Source of the format: the ELF-64 specification, and elf.h, which has its
// structures.

#include "graders/object.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

enum { MAX_OBJECT_BYTES = 64 << 20 };

// ---- reading -------------------------------------------------------------------

// The file while it is taken apart.
struct elf {
  const char *path;
  const char *bytes;
  size_t len;
  const Elf64_Shdr *headers;
  size_t header_count;
  struct error *err;
};

static int bad(const struct elf *e, const char *what)
{
  return error_set(e->err, LG_EINPUT, "%s: %s", e->path, what);
}

// `count` things of `size` bytes at `offset`, or NULL where the file is too
// short or the place is not aligned.
static const void *elf_at(const struct elf *e, uint64_t offset, uint64_t count,
                          size_t size)
{
  if (offset > e->len || offset % 8 != 0 || count > (e->len - offset) / size)
    return NULL;
  return e->bytes + offset;
}

// A string of a string table, "" where it does not end within it.
static const char *elf_string(const struct elf *e, const Elf64_Shdr *table,
                              uint64_t at)
{
  if (table->sh_offset > e->len || table->sh_size > e->len - table->sh_offset ||
      at >= table->sh_size)
    return "";
  const char *start = e->bytes + table->sh_offset + at;
  return memchr(start, 0, table->sh_size - at) ? start : "";
}

static int read_headers(struct elf *e, struct binary *o)
{
  const Elf64_Ehdr *file = elf_at(e, 0, 1, sizeof *file);

  if (file == NULL || memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 ||
      file->e_ident[EI_CLASS] != ELFCLASS64 || file->e_machine != EM_RISCV)
    return bad(e, "is no ELF file of a 64-bit RISC-V machine");
  e->header_count = file->e_shnum;
  e->headers = elf_at(e, file->e_shoff, file->e_shnum, sizeof *e->headers);
  if (e->headers == NULL || file->e_shstrndx >= file->e_shnum)
    return bad(e, "is cut off: its section headers lie outside of it");

  o->sections = xcalloc(e->header_count, sizeof *o->sections);
  o->section_count = e->header_count;
  for (size_t i = 0; i < e->header_count; i++) {
    const Elf64_Shdr *h = &e->headers[i];
    o->sections[i] = (struct object_section){
        elf_string(e, &e->headers[file->e_shstrndx], h->sh_name), h->sh_addr,
        h->sh_size, (h->sh_flags & SHF_ALLOC) != 0, NULL};
    if (h->sh_type != SHT_NOBITS && h->sh_offset <= e->len &&
        h->sh_size <= e->len - h->sh_offset)
      o->sections[i].bytes = e->bytes + h->sh_offset;
  }
  return 0;
}

static int read_symbols(const struct elf *e, const Elf64_Shdr *h,
                        struct binary *o)
{
  size_t count = h->sh_size / sizeof(Elf64_Sym);
  const Elf64_Sym *symbols = elf_at(e, h->sh_offset, count, sizeof *symbols);

  if (symbols == NULL || h->sh_link >= e->header_count)
    return bad(e, "is cut off: its symbols lie outside of it");
  o->symbols = xcalloc(count + 1, sizeof *o->symbols);
  o->symbol_count = count;
  const char *source = "";  // stands before the symbols of each file
  for (size_t i = 0; i < count; i++) {
    o->symbols[i] = (struct object_symbol){
        .name = elf_string(e, &e->headers[h->sh_link], symbols[i].st_name),
        .value = symbols[i].st_value,
        .size_bytes = symbols[i].st_size,
        .section = symbols[i].st_shndx,
        .defined = symbols[i].st_shndx != SHN_UNDEF,
        .global = ELF64_ST_BIND(symbols[i].st_info) != STB_LOCAL,
        .function = ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC,
        .source = source,
    };
    if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FILE)
      source = o->symbols[i].name;
  }
  return 0;
}

static int read_relocations(const struct elf *e, const Elf64_Shdr *h,
                            struct binary *o)
{
  size_t count = h->sh_size / sizeof(Elf64_Rela);
  const Elf64_Rela *from = elf_at(e, h->sh_offset, count, sizeof *from);

  if (from == NULL || h->sh_info >= e->header_count)
    return bad(e, "is cut off: its relocations lie outside of it");
  o->relocations = xreallocarray(
      o->relocations, o->relocation_count + count + 1, sizeof *o->relocations);
  for (size_t i = 0; i < count; i++) {
    size_t symbol = ELF64_R_SYM(from[i].r_info);
    if (symbol >= o->symbol_count)
      return bad(e, "has a relocation for a symbol that is not there");
    o->relocations[o->relocation_count++] = (struct object_relocation){
        h->sh_info, from[i].r_offset, o->symbols[symbol].name};
  }
  return 0;
}

int object_read(const char *path, struct binary *ret, struct error *err)
{
  struct binary o = {0};
  int rc = file_read(path, MAX_OBJECT_BYTES, &o.bytes, err);
  struct elf e = {path, o.bytes.data, o.bytes.len, NULL, 0, err};

  if (rc == 0)
    rc = read_headers(&e, &o);
  for (size_t i = 0; rc == 0 && i < e.header_count; i++)
    if (e.headers[i].sh_type == SHT_SYMTAB && o.symbols == NULL)
      rc = read_symbols(&e, &e.headers[i], &o);
  for (size_t i = 0; rc == 0 && i < e.header_count; i++)
    if (e.headers[i].sh_type == SHT_RELA)
      rc = read_relocations(&e, &e.headers[i], &o);
  if (rc != 0) {
    object_release(&o);
    return rc;
  }
  *ret = o;
  return 0;
}

void object_release(struct binary *o)
{
  buf_release(&o->bytes);
  free(o->sections);
  free(o->symbols);
  free(o->relocations);
  *o = (struct binary){0};
}

const struct object_symbol *object_find(const struct binary *o,
                                        const char *name)
{
  for (size_t i = 0; i < o->symbol_count; i++)
    if (o->symbols[i].defined && o->symbols[i].global &&
        strcmp(o->symbols[i].name, name) == 0)
      return &o->symbols[i];
  return NULL;
}

const struct object_symbol *object_function_at(const struct binary *o,
                                               uint64_t address)
{
  for (size_t i = 0; i < o->symbol_count; i++) {
    const struct object_symbol *s = &o->symbols[i];
    if (s->function && s->defined && address >= s->value &&
        address - s->value < s->size_bytes)
      return s;
  }
  return NULL;
}

const void *object_bytes(const struct binary *o, uint64_t address, size_t len)
{
  for (size_t i = 0; i < o->section_count; i++) {
    const struct object_section *s = &o->sections[i];
    if (s->allocated && s->bytes && address >= s->address &&
        address - s->address <= s->size_bytes &&
        len <= s->size_bytes - (address - s->address))
      return s->bytes + (address - s->address);
  }
  return NULL;
}

// Whether `part` defines the function that a linked file has as `f`.
static bool defines(const struct binary *part, const struct object_symbol *f)
{
  for (size_t i = 0; i < part->symbol_count; i++) {
    const struct object_symbol *s = &part->symbols[i];
    if (s->function && s->defined && s->global == f->global &&
        (s->global || strcmp(s->source, f->source) == 0) &&
        strcmp(s->name, f->name) == 0)
      return true;
  }
  return false;
}

void object_each_function_of(
    const struct binary *program, const struct binary *part,
    void (*visit)(void *arg, const struct object_symbol *f), void *arg)
{
  for (size_t i = 0; i < program->symbol_count; i++)
    if (program->symbols[i].function && program->symbols[i].defined &&
        defines(part, &program->symbols[i]))
      visit(arg, &program->symbols[i]);
}
