// What is known of one submission before any check is made: how it built, what
// its boots did, what the watchers and the explorer found. Several sources, one
// form; checks read it and nothing else.
#ifndef GRADERS_EVIDENCE_H
#define GRADERS_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "graders/boot.h"
#include "graders/kernel.h"
#include "graders/object.h"
#include "graders/script.h"
#include "graders/watch/report.h"
#include "labgen/base/buf.h"
#include "labgen/lab/tree.h"

// The line that Ctrl-P prints, as it was seen last.
struct ctrlp_line {
  bool seen;        // a line that begins as it should
  bool complete;    // NAME COUNT for each CPU, and nothing else
  bool named;       // the names are kmem0, kmem1, ... in order
  long sum;         // of the counts
  struct buf text;  // hostile
};

// What one boot did.
struct boot_facts {
  bool done;     // it was started and has come to its end
  bool shell;    // it came to the prompt
  bool works;    // it came through the part of the script that every boot has
  bool harness;  // QEMU or the host was at fault: nothing is known
  enum boot_verdict verdict;
  struct buf detail;   // why it ended; hostile
  struct buf console;  // all of it; hostile
  struct ctrlp_line ctrlp;
  long pages;    // of memory behind the kernel's image
  double cpu_s;  // of QEMU
  int64_t wall_ms;
  struct buf hang;   // the report on a hang, "" where there was none
  struct buf locks;  // the plugin's lock report at each Ctrl-P, "" without one
  struct program_run *runs;  // owned; of the programs, in their order
  size_t run_count;
  // What the student's code did to the console and to devices, a line each;
  // hostile.
  struct buf tampering;
};

// Something that was found, in the words for people. `kind` is the source's
// name of it.
struct found {
  // "probe": the watchers, nobody else running. "run": the watchers, all harts
  // at work; it may not come again. "explorer": a trace without preemption.
  // "race": one with.
  const char *source;
  const char *kind;
  bool note;               // alone it costs nothing
  enum watch_phase phase;  // watchers: when it came
  unsigned count;
  char *text;      // owned; may hold a lock's name: hostile
  char *function;  // owned; of the student's, or NULL where it is not known
  int line;        // in the student's file; 0: not known
};

struct evidence {
  bool built;
  struct buf build_words;      // the compiler's, when not
  struct buf object_problems;  // a line each
  struct boot_facts plain, watched;
  bool unwatched;  // nobody asked for a watched boot: what reads it is no
                   // condition of other checks
  bool reported;   // the watchers' report was there
  struct watch_report report;
  bool explored;  // as far as its bound
  // The submission's file, unlike the course's, does not go with the explorer:
  // it does not compile for this host, or ended the process that ran it.
  bool unexplorable;
  struct buf explore_words;  // what was run of it, or why it was not; hostile
  enum effort effort;        // what the plain kernel was asked to do
  struct found *findings;    // owned
  size_t finding_count, finding_room;
};

// Whether it comes from the explorer, which finds the same each time.
bool found_by_explorer(const struct found *f);

// Adds the watchers' findings of e->report. `kernel` names functions.
void evidence_add_report(struct evidence *e, const struct binary *kernel);

// Safe on a zeroed struct.
void evidence_release(struct evidence *e);

struct gather_spec {
  const struct stock *stock;
  const struct tree *tree;  // spliced
  const struct object_rules *rules;
  const struct list *programs;  // struct program; not needed without boots
  unsigned harts, memory_mib;
  enum effort effort;
  // QEMU's CPU seconds that the start kernel's boots took; a boot that takes
  // many times as much makes no progress. 0: not known, as for the start.
  double plain_cpu_s, watched_cpu_s;
  bool plain, watched;  // which boots to make
  bool explore;
  // Called when something else is begun, and some times a second while a boot
  // runs, with what is being done; `doing` is borrowed. May be NULL.
  void (*on_progress)(void *arg, const char *doing);
  // Called when one source of evidence is in, with what is known so far, which
  // is borrowed: more comes, and nothing of it goes. May be NULL.
  void (*on_evidence)(void *arg, const struct evidence *so_far);
  void *arg;
};

// Builds, checks the object and boots. A submission that does not compile, or a
// kernel that hangs, is evidence and no error. Errors are the harness's own:
// LG_EHARNESS, LG_EIO.
int evidence_gather(const struct gather_spec *spec, struct evidence *ret,
                    struct error *err);

#endif
