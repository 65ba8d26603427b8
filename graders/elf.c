// Reads ELF files of the guest. It does not disassemble, and knows relocations
// of no kind.
#include "graders/elf.h"

#include <string.h>

#include "labgen/base/file.h"

enum { FILE_MAX_BYTES = 64 << 20 };

// Finds the tables of the file, and checks that they and all sections lie
// inside it.
static int parse(struct elf *elf)
{
  static const unsigned char magic[] = {
      ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
  const struct buf *file = &elf->file;
  const Elf64_Ehdr *head = (const void *)file->data;

  if (file->len < sizeof(*head) || memcmp(file->data, magic, sizeof(magic)) ||
      head->e_machine != EM_RISCV || head->e_shentsize != sizeof(Elf64_Shdr) ||
      head->e_shoff % 8 != 0 || head->e_shoff > file->len ||
      head->e_shnum > (file->len - head->e_shoff) / sizeof(Elf64_Shdr))
    return -1;
  elf->sections = (const void *)(file->data + head->e_shoff);
  elf->section_count = head->e_shnum;

  for (size_t i = 0; i < elf->section_count; i++) {
    const Elf64_Shdr *s = &elf->sections[i];
    if (s->sh_type == SHT_NOBITS)
      continue;
    if (s->sh_offset > file->len || s->sh_size > file->len - s->sh_offset)
      return -1;
    if (s->sh_type != SHT_SYMTAB)
      continue;
    if (s->sh_entsize != sizeof(Elf64_Sym) ||
        s->sh_link >= elf->section_count || s->sh_offset % 8 != 0)
      return -1;
    const Elf64_Shdr *names = &elf->sections[s->sh_link];
    if (names->sh_type != SHT_STRTAB || names->sh_size == 0 ||
        names->sh_offset > file->len ||
        names->sh_size > file->len - names->sh_offset ||
        file->data[names->sh_offset + names->sh_size - 1] != 0)
      return -1;
    elf->symbols = (const void *)(file->data + s->sh_offset);
    elf->symbol_count = s->sh_size / sizeof(Elf64_Sym);
    elf->names = file->data + names->sh_offset;
    elf->names_len = names->sh_size;
  }
  return 0;
}

int elf_read(const char *path, struct elf *ret, struct error *err)
{
  struct elf elf = {0};
  int rc = file_read(path, FILE_MAX_BYTES, &elf.file, err);

  if (rc)
    return rc;
  if (parse(&elf) != 0) {
    elf_release(&elf);
    return error_set(err, LG_EINPUT,
                     "%s: not a 64-bit RISC-V ELF file, or damaged", path);
  }
  *ret = elf;
  return 0;
}

void elf_release(struct elf *elf)
{
  buf_release(&elf->file);
  *elf = (struct elf){0};
}

const char *elf_name(const struct elf *elf, const Elf64_Sym *symbol)
{
  return symbol->st_name < elf->names_len ? elf->names + symbol->st_name : "";
}

static bool is_code_or_data(const Elf64_Sym *s)
{
  unsigned type = ELF64_ST_TYPE(s->st_info);

  return s->st_shndx != SHN_UNDEF &&
         (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE);
}

const Elf64_Sym *elf_find(const struct elf *elf, const char *name)
{
  for (size_t i = 0; i < elf->symbol_count; i++) {
    const Elf64_Sym *s = &elf->symbols[i];
    if (ELF64_ST_BIND(s->st_info) != STB_LOCAL && is_code_or_data(s) &&
        strcmp(elf_name(elf, s), name) == 0)
      return s;
  }
  return NULL;
}

const Elf64_Sym *elf_at(const struct elf *elf, uint64_t address)
{
  for (size_t i = 0; i < elf->symbol_count; i++) {
    const Elf64_Sym *s = &elf->symbols[i];
    if (is_code_or_data(s) && ELF64_ST_TYPE(s->st_info) != STT_NOTYPE &&
        address >= s->st_value && address - s->st_value < s->st_size)
      return s;
  }
  return NULL;
}

const uint8_t *elf_bytes(const struct elf *elf, uint64_t address, size_t len)
{
  for (size_t i = 0; i < elf->section_count; i++) {
    const Elf64_Shdr *s = &elf->sections[i];
    if (!(s->sh_flags & SHF_ALLOC) || s->sh_type == SHT_NOBITS ||
        address < s->sh_addr || address - s->sh_addr > s->sh_size)
      continue;
    uint64_t offset = address - s->sh_addr;
    if (len <= s->sh_size - offset)
      return (const uint8_t *)elf->file.data + s->sh_offset + offset;
  }
  return NULL;
}

// Whether the object defines a function of that name, static or not as asked.
static bool defines(const struct elf *object, const char *name, bool is_static)
{
  for (size_t i = 0; i < object->symbol_count; i++) {
    const Elf64_Sym *s = &object->symbols[i];
    if (ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF &&
        (ELF64_ST_BIND(s->st_info) == STB_LOCAL) == is_static &&
        strcmp(elf_name(object, s), name) == 0)
      return true;
  }
  return false;
}

// The name of the source file that an object was compiled from.
static const char *source_of(const struct elf *object)
{
  for (size_t i = 0; i < object->symbol_count; i++)
    if (ELF64_ST_TYPE(object->symbols[i].st_info) == STT_FILE)
      return elf_name(object, &object->symbols[i]);
  return "";
}

void elf_each_function_of(const struct elf *program, const struct elf *object,
                          void (*visit)(void *arg, const Elf64_Sym *function),
                          void *arg)
{
  const char *source = source_of(object), *current = "";

  // In a symbol table, the static symbols of a file follow the file's name.
  for (size_t i = 0; i < program->symbol_count; i++) {
    const Elf64_Sym *s = &program->symbols[i];
    bool is_static = ELF64_ST_BIND(s->st_info) == STB_LOCAL;
    if (ELF64_ST_TYPE(s->st_info) == STT_FILE)
      current = elf_name(program, s);
    if (ELF64_ST_TYPE(s->st_info) != STT_FUNC ||
        (is_static && strcmp(current, source) != 0))
      continue;
    if (defines(object, elf_name(program, s), is_static))
      visit(arg, s);
  }
}
