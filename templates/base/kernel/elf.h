// The parts of an ELF file that exec reads: 64-bit, little-endian, RISC-V.
// Names and layout are those of the System V ABI, chapters 4 and 5.
#ifndef ELF_H
#define ELF_H

#include "types.h"

#define ELF_IDENT "\177ELF\2\1"  // magic, 64-bit class, little-endian
#define ELF_IDENT_LEN 6
#define ET_EXEC 2     // e_type: a program at fixed addresses
#define EM_RISCV 243  // e_machine
#define PT_LOAD 1     // p_type: belongs into memory
#define PF_X 1        // p_flags
#define PF_W 2

// At the start of the file.
struct elfheader {
  uchar e_ident[16];
  uint16 e_type;
  uint16 e_machine;
  uint32 e_version;
  uint64 e_entry;  // address of the first instruction
  uint64 e_phoff;  // where in the file the segment headers are
  uint64 e_shoff;
  uint32 e_flags;
  uint16 e_ehsize;
  uint16 e_phentsize;  // bytes in one segment header
  uint16 e_phnum;      // and how many there are
  uint16 e_shentsize;
  uint16 e_shnum;
  uint16 e_shstrndx;
};

// Says which bytes of the file go where in memory.
struct elfsegment {
  uint32 p_type;
  uint32 p_flags;
  uint64 p_offset;  // in the file
  uint64 p_vaddr;   // in memory
  uint64 p_paddr;
  uint64 p_filesz;  // bytes that come from the file
  uint64 p_memsz;   // bytes in memory; those beyond p_filesz are zero
  uint64 p_align;
};

#endif
