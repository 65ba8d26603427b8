// What benchmarks share: a folder, commands that are measured, promises that are
// kept or not. What cannot be done ends the program with exit status 3.
#ifndef TESTS_LIB_BENCH_H
#define TESTS_LIB_BENCH_H

#include <stdbool.h>

#include "labgen/base/buf.h"

extern char *bench_dir;  // owned

// Makes the folder; bench_end() removes it and returns the exit status, 1 when
// a promise was not kept.
void bench_begin(const char *name);
int bench_end(void);

_Noreturn void bench_die(const char *what, const char *why);

// Prints a figure and whether it is as promised.
void bench_promise(bool kept, const char *fmt, double figure);

struct bench_cost {
  double wall_s, cpu_s;  // with all that it waits for
  long resident_kib;     // the largest resident set of one process
};

// Runs a command in the folder. An exit status above `most` ends the program.
struct bench_cost bench_run(const char *const *argv, int most);

// CPU seconds of this process and the children that it has waited for.
double bench_cpu_s(void);

double bench_median(double *v, size_t count);  // sorts them

void bench_write(const char *name, const char *text);

// A lab file that differs from the one that ships by secret and roster: students
// s0000, s0001, ...
void bench_lab(const char *name, int students);

#endif
