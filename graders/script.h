// What the grader types in a boot: the lab's programs, each with a nonce, a word
// that nobody can know before it is typed and that the program puts in front of
// its lines, and Ctrl-P between them.
#ifndef GRADERS_SCRIPT_H
#define GRADERS_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graders/boot.h"
#include "labgen/base/buf.h"
#include "labgen/lab/schema.h"

// How much is asked of the plain kernel; each does all that the one before it
// does. Number, name, the programs that it adds.
#define EFFORTS(X)                                  \
  X(EFFORT_QUICK, "quick", "ls")                    \
  X(EFFORT_TESTS, "tests", "kchurn and kalloctest") \
  X(EFFORT_FULL, "full", "usertests, kalloctest again")

enum effort {
#define EFFORT_NUMBER(number, name, words) number,
  EFFORTS(EFFORT_NUMBER)
#undef EFFORT_NUMBER
};

extern const char *const effort_names[];  // ends with NULL

// Where it stands in a command, or in a line that is expected of a program, a
// nonce is put.
#define NONCE "NONCE"
#define NONCE_LEN 16

// A program of the rubric.
struct program {
  struct place at;
  const char *id;
  const char *type;  // the command
  int effort;        // enum effort
  // What it prints where a time limit of its own is over; NULL: it has none.
  const char *overtime;
};

extern const struct schema program_schema;

// One run of a program in a boot.
struct program_run {
  char *id;              // owned
  const char *overtime;  // of the rubric; borrowed, and NULL for none
  char nonce[NONCE_LEN + 1];
  size_t step;             // that types it; the prompt is the next one
  bool typed, ended;       // ended: the prompt was there again
  size_t from, to;         // its part of the console, when it has ended
  double cpu_s, waited_s;  // of QEMU meanwhile; see host-time.h
};

struct script {
  struct boot_step *steps;
  size_t count;
  const char *over;    // the last line that is waited for, or NULL; borrowed
  size_t quick_count;  // of those, the ones that every effort has
  struct program_run *runs;
  size_t run_count;
};

// Makes the script of a boot from programs (struct program), in their order,
// with fresh nonces. With `open` it ends with a wait for a line (`over`) that
// somebody else is to have printed. LG_EHARNESS where there is no randomness to be had.
int script_make(const struct list *programs, enum effort effort, bool open,
                struct script *ret, struct error *err);

// Notes what is known of the programs' runs: which were typed and have ended,
// and where on the console. To be called while the boot runs, and at its end.
// `cpu_s` and `waited_s` are QEMU's so far.
void script_note(const struct boot *boot, double cpu_s, double waited_s,
                 struct program_run *runs, size_t count);

// The text with the nonce put in. The caller owns it.
char *script_fill(const char *text, const char *nonce);

// Safe on a zeroed struct.
void script_release(struct script *s);
void program_runs_release(struct program_run *runs, size_t count);

#endif
