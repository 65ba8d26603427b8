// Reads ELF files, and holds a student's object to the rules. What the code
// does when it runs is not judged here: the watchers see that.
//
// Source of the format: the ELF-64 specification, and elf.h, which has its
// structures.

#include "graders/object.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

#define RULES(member, doc_) \
  FIELD(struct object_rules, member, FIELD_TEXTS, .doc = doc_)

static const struct field rules_fields[] = {
    RULES(definitions, "functions that the file must define"),
    RULES(references, "names of the kernel that it may use"),
    RULES(outside, "of these, not to be used by the functions it must define"),
    RULES(sections, "sections it may have; NAME* is any that begins so"),
    RULES(devices, "addresses it must not hold, as FIRST-LAST"),
    FIELD_END,
};

const struct schema object_rules_schema = {
    .name = "object rules",
    .doc = "What a student's compiled file may be.",
    .size = sizeof(struct object_rules),
    .fields = rules_fields,
};

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

// ---- the rules -----------------------------------------------------------------

static bool listed(const struct texts *names, const char *name)
{
  for (size_t i = 0; i < names->count; i++) {
    size_t len = strlen(names->items[i]);
    bool beginning = len > 0 && names->items[i][len - 1] == '*';
    if (beginning ? strncmp(names->items[i], name, len - 1) == 0
                  : strcmp(names->items[i], name) == 0)
      return true;
  }
  return false;
}

static void check_sections(const struct binary *o,
                           const struct object_rules *rules, struct buf *b)
{
  for (size_t i = 0; i < o->section_count; i++) {
    const struct object_section *s = &o->sections[i];
    if (s->allocated && s->size_bytes > 0 && !listed(&rules->sections, s->name))
      buf_addf(b, "puts code or data into section %s\n", s->name);
  }
}

static int by_name(const void *key, const void *element)
{
  return strcmp(key, *(const char *const *)element);
}

static void check_symbols(const struct binary *o,
                          const struct object_rules *rules,
                          const char *const *reserved, size_t count,
                          struct buf *b)
{
  for (size_t i = 0; i < rules->definitions.count; i++)
    if (object_find(o, rules->definitions.items[i]) == NULL)
      buf_addf(b, "does not define %s\n", rules->definitions.items[i]);

  for (size_t i = 0; i < o->symbol_count; i++) {
    const struct object_symbol *s = &o->symbols[i];
    if (!s->global || *s->name == '\0')
      continue;
    if (!s->defined && !listed(&rules->references, s->name))
      buf_addf(b, "uses %s, which is not the allocator's to use\n", s->name);
    if (s->defined && !listed(&rules->definitions, s->name) && count > 0 &&
        bsearch(s->name, reserved, count, sizeof *reserved, by_name))
      buf_addf(b, "defines %s, a name of the rest of the kernel\n", s->name);
  }
}

// The function that a place in a section belongs to, or NULL.
static const struct object_symbol *owner(const struct binary *o, size_t section,
                                         uint64_t offset)
{
  for (size_t i = 0; i < o->symbol_count; i++) {
    const struct object_symbol *s = &o->symbols[i];
    if (s->function && s->defined && s->section == section &&
        offset >= s->value && offset - s->value < s->size_bytes)
      return s;
  }
  return NULL;
}

static const struct object_symbol *function_named(const struct binary *o,
                                                  const char *name)
{
  for (size_t i = 0; i < o->symbol_count; i++)
    if (o->symbols[i].function && o->symbols[i].defined &&
        strcmp(o->symbols[i].name, name) == 0)
      return &o->symbols[i];
  return NULL;
}

// Follows calls from one function and reports those of a name that only
// functions beside the allocator's own may use.
static void follow(const struct binary *o, const struct object_rules *rules,
                   const struct object_symbol *from, bool *seen, struct buf *b)
{
  if (seen[from - o->symbols])
    return;
  seen[from - o->symbols] = true;
  for (size_t i = 0; i < o->relocation_count; i++) {
    const struct object_relocation *r = &o->relocations[i];
    if (owner(o, r->section, r->offset) != from)
      continue;
    if (listed(&rules->outside, r->symbol))
      buf_addf(b, "%s() uses %s, which is for the Ctrl-P line only\n",
               from->name, r->symbol);
    const struct object_symbol *to = function_named(o, r->symbol);
    if (to != NULL)
      follow(o, rules, to, seen, b);
  }
}

static void check_outside(const struct binary *o,
                          const struct object_rules *rules, struct buf *b)
{
  bool *seen = xcalloc(o->symbol_count + 1, sizeof *seen);

  for (size_t i = 0; i < rules->definitions.count; i++) {
    const struct object_symbol *s = object_find(o, rules->definitions.items[i]);
    if (s != NULL)
      follow(o, rules, s, seen, b);
  }
  free(seen);
}

// ---- the code ------------------------------------------------------------------

// Instructions that have no place in an allocator, by how they begin.
static const struct {
  const char *start;
  const char *problem;
} forbidden[] = {
    {"csr", "touches a control register itself"},
    {"rdtime", "reads the clock"},
    {"rdcycle", "reads a counter"},
    {"rdinstret", "reads a counter"},
    {"ecall", "makes an environment call"},
    {"ebreak", "has a breakpoint"},
    {"mret", "returns from a trap"},
    {"sret", "returns from a trap"},
    {"wfi", "waits for an interrupt"},
    {"sfence", "changes the page tables' cache"},
};

static bool starts(const char *s, const char *with)
{
  return strncmp(s, with, strlen(with)) == 0;
}

// Reading whether interrupts are on is no harm, however it is written.
static bool harmless_read(const char *operation, const char *operands)
{
  size_t register_len = strcspn(operands, ",");
  return starts(operation, "csrr\t") &&
         strcmp(operands + register_len, ",sstatus") == 0;
}

static bool has_operand(const char *operands, const char *name)
{
  size_t len = strlen(name);
  for (const char *at = operands; (at = strstr(at, name)) != NULL; at += len) {
    bool begins = at == operands || strchr(",( \t", at[-1]) != NULL;
    if (begins && (at[len] == '\0' || strchr(",) \t", at[len]) != NULL))
      return true;
  }
  return false;
}

static bool is_device(const struct texts *devices, uint64_t address)
{
  for (size_t i = 0; i < devices->count; i++) {
    char *rest;
    uint64_t first = strtoull(devices->items[i], &rest, 0);
    uint64_t last = *rest == '-' ? strtoull(rest + 1, NULL, 0) : first;
    if (address >= first && address <= last)
      return true;
  }
  return false;
}

// One instruction: `operation` is "mnemonic\toperands".
static void check_instruction(const char *function, const char *operation,
                              const struct object_rules *rules, struct buf *b)
{
  const char *tab = strchr(operation, '\t');
  const char *operands = tab != NULL ? tab + 1 : "";

  for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
    if (starts(operation, forbidden[i].start) &&
        !harmless_read(operation, operands))
      buf_addf(b, "%s() %s (%.*s %s)\n", function, forbidden[i].problem,
               (int)strcspn(operation, "\t"), operation, operands);
  if (has_operand(operands, "tp"))
    buf_addf(b, "%s() uses tp itself in place of cpuid() (%.*s %s)\n", function,
             (int)strcspn(operation, "\t"), operation, operands);
  if (starts(operation, "lui\t")) {
    uint64_t page = strtoull(operands + strcspn(operands, ",") + 1, NULL, 0);
    if (is_device(&rules->devices, page << 12))
      buf_addf(b, "%s() holds a device's address (0x%" PRIx64 ")\n", function,
               page << 12);
  }
}

// Walks objdump's lines: "ADDRESS <FUNCTION>:", and
// "ADDRESS:\tBYTES\tMNEMONIC\tOPERANDS".
static void check_code(const char *disassembly,
                       const struct object_rules *rules, struct buf *b)
{
  char function[64] = "?";

  for (const char *line = disassembly; *line != '\0';) {
    size_t len = strcspn(line, "\n");
    char *text = xstrndup(line, len);
    char *open = strchr(text, '<'), *tab = strchr(text, '\t');
    if (tab == NULL && open != NULL && len > 2 &&
        strcmp(text + len - 2, ">:") == 0) {
      snprintf(function, sizeof function, "%.*s", (int)strcspn(open + 1, ">"),
               open + 1);
    } else if (tab != NULL && (tab = strchr(tab + 1, '\t')) != NULL) {
      char *comment = strstr(tab, " # ");
      if (comment != NULL)
        *comment = '\0';
      check_instruction(function, tab + 1, rules, b);
    }
    free(text);
    line += len + (line[len] == '\n');
  }
}

void object_check(const struct binary *o, const struct object_rules *rules,
                  const char *const *reserved, size_t reserved_count,
                  const char *disassembly, struct buf *ret_problems)
{
  check_sections(o, rules, ret_problems);
  check_symbols(o, rules, reserved, reserved_count, ret_problems);
  check_outside(o, rules, ret_problems);
  check_code(disassembly, rules, ret_problems);
}
