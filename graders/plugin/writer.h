// Who writes to the console and to devices. A byte on the console is the
// kernel's when its driver sends it while the hart is not in a call into the
// code under watch (a student's file). Such a call may print when it is part of
// what Ctrl-P asks for, or a panic.
//
// Whether a hart is in such a call is exact: the instructions that call into the
// code, and those to which the calls return, are watched; and what an interrupt
// breaks off is remembered by the stack on which the trap keeps its registers,
// since the thread may go on elsewhere.
#ifndef LABGEN_PLUGIN_WRITER_H
#define LABGEN_PLUGIN_WRITER_H

#include <stdbool.h>
#include <stdint.h>

// The register to which bytes for the console go.
void writer_set_uart(uint64_t address);

// Addresses from first to last are devices. False when there are too many.
bool writer_add_device(uint64_t first, uint64_t last);

// A hart is about to make, or is back from, a call into the code under watch;
// or one to the function that answers Ctrl-P; or it begins to panic.
void writer_enters(unsigned id, uint64_t pc);
void writer_leaves(unsigned id);
void writer_is_asked(unsigned id);
void writer_has_answered(unsigned id);
void writer_panics(unsigned id);

// An instruction of the code under watch is about to call or jump elsewhere, or
// has stored.
void writer_calls(unsigned id, uint64_t pc);
void writer_stores(unsigned id, uint64_t pc, uint64_t address);

// The kernel was interrupted, or goes on, with its registers at `stack`.
void writer_is_interrupted(unsigned id, uint64_t stack);
void writer_goes_on(unsigned id, uint64_t stack);

// The kernel's driver has stored at `address`.
void writer_sends(unsigned id, uint64_t address);

#endif
