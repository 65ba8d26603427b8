// The explorer: an allocator under every interleaving of three harts, within a
// bound, without a boot. docs/explorer.md says what it models.
#ifndef LABGEN_GRADERS_EXPLORE_H
#define LABGEN_GRADERS_EXPLORE_H

#include <stdbool.h>
#include <stdint.h>

#include "graders/explore/story.h"
#include "graders/explore/table.h"
#include "labgen/base/error.h"
#include "labgen/run/argv.h"

// The fixed set that marks come from: every program of the lab, up to this
// many preemptions, and at most this many schedules of a program at one bound.
// Counted in schedules, so that a slow host explores the same.
// Past that bound programs have far more schedules, and get more.
enum { EXPLORE_BOUND = 2, EXPLORE_SCHEDULES = 6000, EXPLORE_FURTHER = 200000 };

struct explore_options {
  // The student's file, or a folder: a tree with the lab's file, or the folder
  // that the file is in.
  const char *path;
  const char *headers;  // NULL: those beside the file, else the base kernel's
  const char *lab;      // YAML; NULL: graders/percpu-kalloc-explore.yaml
  const char *child;    // the program that runs it; NULL: beside this one
  const char *program;  // only this one; NULL: all
  const char *replay;   // file of a finding; NULL: explore

  int bound;                // most preemptions
  uint32_t schedules_most;  // of a program at one bound; 0: EXPLORE_SCHEDULES,
                            // or EXPLORE_FURTHER past EXPLORE_BOUND
  uint32_t random;          // further schedules of a program, twice
  uint64_t seed;            // of the random ones
  int64_t time_ms;          // stop then; 0: a guard of two minutes
  int jobs;                 // children at a time; 0: 1
  bool sandbox;             // see labgen/run/sandbox.h
};

struct explore_result {
  struct stories stories;  // findings and notes
  bool cut;                // the time was up: what was not found is not judged
  bool same_events;        // of a replay: as the file has them
  int64_t compile_ms, explore_ms;
  char *alloc, *free;  // owned; the names of the functions, for tables
};

// Compiles the file and explores it. 0 when that was done, whatever was found;
// *ret is the caller's then (explore_release()). LG_EBUILD with the compiler's
// words; LG_ENOTFOUND, LG_EINPUT, LG_EHARNESS, LG_EIO.
//
// A crash or an endless loop of the code under test is a finding.
int explore(const struct explore_options *options, struct explore_result *ret,
            struct error *err);
void explore_release(struct explore_result *r);

// Appends the files that decide what is found with the options' defaults: lab,
// program, runtime. LG_ENOTFOUND, LG_EHARNESS, LG_EIO.
int explore_files(struct argv *ret, struct error *err);

// Borrowed words for table_make() and print.h.
struct table_words explore_words(const struct explore_result *r);

#endif
