// Boots a kernel in QEMU, works through a script on its console, and says how
// it went.
//
// The machine: qemu-system-riscv64 -machine virt, no firmware, no network, no
// disk, no monitor, its serial port on our pipes. A guest that resets the
// machine ends it. QEMU gets TERM first, so that a plugin can write its last
// words.
#ifndef GRADERS_BOOT_H
#define GRADERS_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "graders/console.h"
#include "labgen/base/buf.h"
#include "labgen/base/error.h"
#include "labgen/run/child.h"
#include "labgen/run/sandbox.h"

// Steps of a script. Waits look at the console behind what the wait before them
// found. What is sent comes back as an echo, on a line that starts with the
// prompt: to wait for a command's own output, wait at the start of a line.
enum boot_step_kind {
  BOOT_SEND,       // the bytes go to the console, at once
  BOOT_WAIT,       // until the bytes have come, anywhere
  BOOT_WAIT_LINE,  // until the bytes have come at the start of a line; a prompt
                   // needs no newline behind it
  BOOT_WAIT_END,   // until the guest has switched the machine off
};

struct boot_step {
  enum boot_step_kind kind;
  const char *bytes;   // NULL with BOOT_WAIT_END
  size_t len;          // 0: strlen(bytes)
  int64_t timeout_ms;  // of a wait; 0: only the whole boot's
};

#define BOOT_CTRL_P "\x10"

// How a boot went:
//   verdict, words
#define BOOT_VERDICTS(X)                                           \
  X(BOOT_RUNNING, "is running")                                    \
  X(BOOT_COMPLETED, "completed its script")                        \
  X(BOOT_HUNG, "hung")                 /* a step's time ran out */ \
  X(BOOT_TIMED_OUT, "ran out of time") /* the whole boot's did */  \
  X(BOOT_PANICKED, "panicked")         /* the kernel said so */    \
  X(BOOT_CAPPED, "wrote too much")                                 \
  X(BOOT_POWERED_OFF, "switched the machine off early")            \
  X(BOOT_STOPPED, "was stopped") /* by boot_stop() */              \
  X(BOOT_NOT_STARTED, "could not start QEMU")                      \
  X(BOOT_QEMU_DIED, "lost QEMU") /* it crashed, or was killed */

enum boot_verdict {
#define BOOT_ORDINAL(verdict, words) verdict,
  BOOT_VERDICTS(BOOT_ORDINAL)
#undef BOOT_ORDINAL
};

struct boot;

// Everything is borrowed until the boot is released. Zero means the default.
struct boot_spec {
  const char *kernel;   // ELF file
  unsigned harts;       // 0: 3
  unsigned memory_mib;  // 0: 128
  const char *qemu;     // 0: "qemu-system-riscv64", searched in PATH

  const struct boot_step *steps;  // at least one
  size_t step_count;
  int64_t timeout_ms;       // of the whole boot; 0: none
  size_t max_output_bytes;  // console and QEMU's messages; 0: 4 MiB
  // A line that holds this ends the boot as BOOT_PANICKED. NULL: "panic: ";
  // "": none does.
  const char *panic_text;

  const char *gdb_socket;    // path of a socket for gdb to connect to
  const char *plugin;        // the value of -plugin
  const char *const *extra;  // more arguments, ends with NULL
  struct child_limits limits;
  // NULL: none. Must show QEMU all files but the kernel, which is added.
  const struct sandbox *sandbox;

  // For who watches a boot while it runs; each may call boot_send() and
  // boot_stop().
  void *arg;
  // A line is complete.
  void (*on_line)(void *arg, struct boot *boot,
                  const struct console_line *line);
  // A round of the poll loop is over; comes at least every `round_ms`.
  void (*on_round)(void *arg, struct boot *boot);
  int64_t round_ms;  // 0: 200
  // The verdict is known, and QEMU is still there if it did not end by itself:
  // the moment to look at a hung kernel with gdb. May take its time.
  void (*on_verdict)(void *arg, struct boot *boot);
};

// Starts a boot, which the caller owns. Where QEMU cannot be started the boot
// has ended with BOOT_NOT_STARTED.
struct boot *boot_start(const struct boot_spec *spec);

// Waits until something happens to one of the boots, or clock_ms() reaches
// `until_ms` (0: no such time), and deals with it. Boots that have ended are
// skipped. Errors as children_poll().
int boots_poll(struct boot *const *boots, size_t count, int64_t until_ms,
               struct error *err);

// Starts a boot and waits for its end; the caller owns *ret_boot. Errors as
// children_poll(): how the boot went is no error, but its verdict.
int boot_run(const struct boot_spec *spec, struct boot **ret_boot,
             struct error *err);

// Whether QEMU is gone. The verdict can be known a little before.
bool boot_ended(const struct boot *boot);

enum boot_verdict boot_verdict(const struct boot *boot);

// Words for a verdict; borrowed.
const char *boot_verdict_words(enum boot_verdict verdict);

// The step that is being worked on, or was last.
size_t boot_step_index(const struct boot *boot);

// How long the console's text was when a step before that was done: when its
// bytes were sent, or up to the end of what it waited for.
size_t boot_step_offset(const struct boot *boot, size_t step);

// What the verdict rests on: the panic's line, the step that hung, QEMU's
// message. May hold bytes of the guest. Borrowed, "" when there is nothing.
const char *boot_detail(const struct boot *boot);

const struct console *boot_console(const struct boot *boot);  // borrowed

// Milliseconds since the start, until now or the end; the lines' times are of
// this clock.
int64_t boot_time_ms(const struct boot *boot);

// The process that was started: QEMU, or the sandbox round it; NULL when none
// was. Borrowed.
const struct child *boot_child(const struct boot *boot);

// What QEMU wrote on its standard error; borrowed.
const char *boot_qemu_messages(const struct boot *boot);

// Sends bytes to the console beside the script.
void boot_send(struct boot *boot, const void *bytes, size_t len);

// Ends the boot as BOOT_STOPPED, with `why` as its detail; no effect when the
// verdict is known.
void boot_stop(struct boot *boot, const char *why);

// Frees the boot; what still runs is killed. NULL is allowed.
void boot_release(struct boot *boot);

#endif
