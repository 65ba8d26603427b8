// Making a program smaller while it still shows the same thing.
#ifndef LABGEN_EXPLORE_SHRINK_H
#define LABGEN_EXPLORE_SHRINK_H

#include <stdbool.h>

#include "graders/explore/lab.h"

// Tries to leave out operations of the program, and to lower their numbers,
// one at a time, until nothing more can go. `shows` is asked whether a smaller
// program still shows it (and better than the last one that did). *program is
// the smallest that did.
void shrink(struct ex_program *program,
            bool (*shows)(void *arg, const struct ex_program *program),
            void *arg);

#endif
