// The search: all programs, with few preemptions first, and what it found.
#ifndef LABGEN_EXPLORE_SEARCH_H
#define LABGEN_EXPLORE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "graders/explore/machine.h"

enum { SEARCH_BOUNDS = 8, SEARCH_CHOICES = 64, SEARCH_POINTS = 64 };

struct search_options {
  uint32_t schedules_most;  // of one program at one bound
  uint32_t random;          // schedules of each random mode, per program
  uint64_t seed;
  // Asked now and then: is the time up? May be NULL.
  bool (*time_is_up)(void);
  double (*now_ms)(void);  // since the search began; may be NULL
};

// A finding and the schedule that shows it.
struct finding {
  struct report report;
  struct ex_program program;  // its texts are borrowed from the lab
  int harts[EX_HARTS];
  int unit;         // number of program and harts, among all
  bool at_boot;     // before any schedule
  int preemptions;  // -1: a random schedule
  size_t steps;
  uint64_t schedule;  // the how many-th of all it was when first found
  double found_ms;    // since the search began
  struct choice choice[SEARCH_CHOICES];
  int choices;
  uint64_t point[SEARCH_POINTS];  // plain accesses that were points
  int points;

  // filled in by search_record()
  struct ex_event *event;  // owned
  size_t events;
  uint64_t hash;
  bool repeats;  // the same finding and the same hash, three times of three
};

// A program on a set of harts.
struct unit {
  const struct ex_program *program;
  int harts[EX_HARTS];
  int number;  // among all of the lab
};

// What a unit was explored to.
struct coverage {
  struct unit unit;
  uint64_t schedules[SEARCH_BOUNDS];  // by bound; the last round of each
  uint64_t random;
  bool complete[SEARCH_BOUNDS];   // all that were asked for were run
  bool cut;                       // the time was up
  uint64_t point[SEARCH_POINTS];  // plain accesses that are points, so far
  int points;
};

struct result {
  struct finding *finding;  // owned
  size_t findings, findings_room;
  struct report *note;  // owned
  size_t notes, notes_room;
  struct coverage *coverage;  // owned
  size_t coverages, coverages_room;
  uint64_t schedules;
  struct machine_use allocs, frees;  // of programs that measure
};

void result_release(struct result *r);
void machine_use_add(struct machine_use *to, const struct machine_use *from);

// Explores a unit at the bounds from `first` to `last`, after which come the
// random schedules that *o asks for, and adds to *r. A unit is explored at one
// bound after the other, and others may be explored in between.
void search_unit(struct machine *m, const struct unit *u, int first, int last,
                 const struct search_options *o, struct result *r);

// Notes that follow from everything that was run: remote allocations.
void search_conclude(const struct machine *m, struct result *r);

// Makes the finding's program and schedule as small as it can.
void search_minimise(struct machine *m, struct finding *f);

// Repeats the finding's schedule and records it. Fills in the rest of *f.
void search_record(struct machine *m, struct finding *f);

// Finds a finding of the same kind and key; NULL when there is none.
struct finding *search_find(const struct result *r, const struct report *what);

#endif
