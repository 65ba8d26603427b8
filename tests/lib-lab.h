// A small lab for tests: its "kernel" is two host objects, so that a build takes
// a blink, and everything about it can be changed by a test.
#ifndef TESTS_LIB_LAB_H
#define TESTS_LIB_LAB_H

#include "labgen/base/buf.h"
#include "labgen/lab/tree.h"

struct toy_lab {
  char *dir;   // owned; a new folder with everything
  char *file;  // owned; dir/lab.yaml
};

// Makes the lab with `students` students called s1, s2, ... Aborts the test
// when it cannot.
void toy_lab_make(struct toy_lab *lab, int students);
void toy_lab_remove(struct toy_lab *lab);

// Writes a file below the lab's folder.
void toy_lab_write(const struct toy_lab *lab, const char *name,
                   const char *text);

// Replaces the only `old` in a file of the lab by `new`.
void toy_lab_change(const struct toy_lab *lab, const char *name,
                    const char *old, const char *new);

// Runs build/labgen with arguments (NULL ends them) in the lab's folder, and
// appends both its outputs to *output. Returns its exit status, or -1.
int toy_lab_run(const struct toy_lab *lab, struct buf *output,
                const char *const *args);
#define TOY_RUN(lab, output, ...) \
  toy_lab_run(lab, output, (const char *const[]){__VA_ARGS__, NULL})

// A path below the lab's folder; the caller's.
char *toy_lab_path(const struct toy_lab *lab, const char *name);

// Runs `labgen build -c lab.yaml` with further arguments, as toy_lab_run(), and
// asserts its exit status.
void toy_lab_build(const struct toy_lab *lab, int status, struct buf *output,
                   const char *const *args);
#define TOY_BUILD(lab, status, output, ...) \
  toy_lab_build(lab, status, output, (const char *const[]){__VA_ARGS__, NULL})

// Expects that the text is in what a program wrote.
void expect_said(const struct buf *output, const char *text);

// Expects that the folders a/NAME and b/NAME of the lab hold the same, for each
// name (NULL ends them), and hold something.
void toy_lab_expect_same(const struct toy_lab *lab, const char *a,
                         const char *b, const char *const *names);

// Runs git in a folder; the same way.
int run_git(const char *folder, struct buf *output, const char *const *args);
#define GIT(folder, output, ...) \
  run_git(folder, output, (const char *const[]){__VA_ARGS__, NULL})

// All files below a folder of the lab, with .git, objects and kernels.
void read_all(const struct toy_lab *lab, const char *name, struct tree *ret);

#endif
