// Fuzz target: bytes as a student's answers.yaml, with and without the list of
// classes. What is read keeps to what answers.h promises.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graders/answers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct bug_class classes[] = {{.id = "lost-page"},
                                           {.id = "wrong-list"}};

static void read_with(const uint8_t *data, size_t size,
                      const struct bug_class *list, size_t count)
{
  struct answers a = {0};
  struct buf problems = BUF_INIT;
  answers_read((const char *)data, size, list, count, &a, &problems);
  bool whole = a.class_id && a.function && a.line > 0;
  if (!a.explanation || !a.seen || a.line < 0 || (!whole && !problems.len))
    abort();
  if (list && a.class_id && strcmp(a.class_id, classes[0].id) != 0 &&
      strcmp(a.class_id, classes[1].id) != 0)
    abort();
  answers_release(&a);
  buf_release(&problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  read_with(data, size, classes, 2);
  read_with(data, size, NULL, 0);
  return 0;
}
