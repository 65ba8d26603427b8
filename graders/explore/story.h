// A run's results as they go from the child to the tool, and into replay
// files: with places and names in words, as JSON.
#ifndef LABGEN_EXPLORE_STORY_H
#define LABGEN_EXPLORE_STORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "graders/explore/search.h"
#include "labgen/base/error.h"

// A place in the student's file.
struct story_place {
  char *function;  // owned; "" when not known
  char *file;      // owned; "" when not known
  int line;        // 0 when not known
};

struct story_event {
  enum ex_event_kind kind;
  int thread, hart;
  struct story_place place;  // in the student's file
  char *name;                // owned; of the lock or variable, or ""
  int64_t value;
};

// The key of a finding that has no schedule: the code ended its process.
#define STORY_OF_THE_END UINT64_MAX

// A finding or a note.
struct story {
  enum ex_kind kind;
  uint64_t key;
  char *text;  // owned
  struct story_place place;
  char *name;  // owned; what it is about, or ""

  // of a finding
  struct ex_program program;  // its texts are owned
  int harts[EX_HARTS];
  int unit;  // program and harts, among all
  bool at_boot;
  int preemptions;
  size_t steps;
  uint64_t schedule;  // the how many-th showed it first ...
  double found_ms;    // ... and when, since the search began
  struct choice choice[SEARCH_CHOICES];
  int choices;
  uint64_t point[SEARCH_POINTS];
  int points;
  struct story_event *event;  // owned
  size_t events;
  uint64_t hash;
  bool repeats;
};

// What a program was explored to.
struct story_coverage {
  char *program;  // owned
  int harts[EX_HARTS];
  uint64_t schedules[SEARCH_BOUNDS];
  bool complete[SEARCH_BOUNDS];
  uint64_t random;
  bool cut;
};

struct stories {
  struct story *finding;  // owned
  size_t findings;
  struct story *note;  // owned
  size_t notes;
  struct story_coverage *coverage;  // owned
  size_t coverages;
  uint64_t schedules;
  struct machine_use allocs, frees;  // of programs that measure
};

// Puts a result into words, with the names of the machine's image. The caller
// owns the JSON (json_decref).
json_t *stories_write(const struct machine *m, const struct result *r);

// Reads what stories_write() wrote and adds it to *to: what is there already
// is kept if it is better. LG_EHARNESS when it is something else.
int stories_read(const json_t *from, struct stories *to, struct error *err);
void stories_release(struct stories *s);

// Adds a finding, which is taken.
void stories_add(struct story *finding, struct stories *to);
// Makes notes of findings that are not judged, drops what only says again what
// a finding says, and brings both lists into an order that does not depend on
// how the work was divided. `judged` has an element for each kind.
void stories_finish(struct stories *s, const bool *judged);

// One finding as JSON, for a replay file, and back. The caller owns *ret.
json_t *story_write(const struct story *s);
json_t *note_write(const struct story *s);
int story_read(const json_t *from, struct story *ret, struct error *err);
void story_release(struct story *s);

#endif
