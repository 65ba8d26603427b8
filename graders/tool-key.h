// What a result depends on besides the submission, as one short name: two runs
// with the same name would judge alike.
#ifndef GRADERS_TOOL_KEY_H
#define GRADERS_TOOL_KEY_H

#include "graders/check.h"
#include "graders/stock.h"
#include "labgen/base/error.h"
#include "labgen/repo/course.h"

// Names this program and all that it judges by: the course's tree and what
// compiles it, what the lab says of machine and submissions, the rubric with the
// checks that it holds, the explorer's program, lab and runtime, the plugin, the
// script of the hang report. Not QEMU: no check reads what its version changes.
// The caller owns *ret. LG_EIO, LG_ENOTFOUND.
int tool_key(const struct course *course, const struct rubric *rubric,
             enum effort effort, const struct stock *stock, char **ret,
             struct error *err);

// Names the explorer alone: program, lab and runtime. The caller owns *ret.
// LG_EIO, LG_ENOTFOUND, LG_EHARNESS.
int explorer_key(char **ret, struct error *err);

#endif
