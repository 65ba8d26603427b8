// Greedy: the first smaller program that still shows the finding is taken.
#include "graders/explore/shrink.h"

#include <string.h>

static void drop(struct ex_ops *ops, int i)
{
  ops->count--;
  memmove(&ops->op[i], &ops->op[i + 1],
          (size_t)(ops->count - i) * sizeof ops->op[0]);
}

// One list of operations. Returns whether anything could go.
static bool shrink_ops(struct ex_program *p, struct ex_ops *ops,
                       bool (*shows)(void *, const struct ex_program *),
                       void *arg)
{
  bool any = false;
  for (int i = ops->count - 1; i >= 0; i--) {
    struct ex_ops before = *ops;
    drop(ops, i);
    if (shows(arg, p)) {
      any = true;
      continue;
    }
    *ops = before;
    struct ex_op *op = &ops->op[i];
    if ((op->kind != OP_ALLOC && op->kind != OP_FREE) || op->number < 2)
      continue;
    for (int less = op->number / 2; less > 0; less /= 2) {
      op->number -= less;
      if (shows(arg, p))
        any = true;
      else
        op->number += less;
    }
  }
  return any;
}

void shrink(struct ex_program *program,
            bool (*shows)(void *arg, const struct ex_program *program),
            void *arg)
{
  bool any;
  do {
    any = false;
    for (int t = 0; t < EX_HARTS; t++) {
      struct ex_ops before = program->thread[t];
      program->thread[t].count = 0;
      if (before.count > 0 && shows(arg, program))
        any = true;
      else
        program->thread[t] = before;
    }
    for (int t = 0; t < EX_HARTS; t++) {
      any |= shrink_ops(program, &program->thread[t], shows, arg);
      any |= shrink_ops(program, &program->before[t], shows, arg);
    }
  } while (any);
}
