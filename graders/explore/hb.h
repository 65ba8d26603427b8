// Which accesses of memory are ordered: a happens-before detector with vector
// clocks (Lamport 1978; the per-location records follow FastTrack, Flanagan
// and Freund, PLDI 2009, without its read compression).
//
// Two accesses of one location race when they come from two threads, at least
// one writes, and nothing orders them: no lock, no atomic or volatile
// location, no hand-over of a hart.
#ifndef LABGEN_EXPLORE_HB_H
#define LABGEN_EXPLORE_HB_H

#include <stdbool.h>
#include <stdint.h>

enum { HB_THREADS = 3 };

// The latest time of each thread that something knows of. Times start at 1.
struct hb_clock {
  uint32_t at[HB_THREADS];
};

// What is remembered of eight bytes of memory: for each thread its last read
// and write. Zeroed: never accessed. A cell whose `round` is an old one counts
// as never accessed, so that a new schedule needs no clearing.
struct hb_cell {
  uint32_t round;
  uint32_t changed;  // when it was last written; hb_state.step
  uint32_t read[HB_THREADS], write[HB_THREADS];
  uint8_t read_bytes[HB_THREADS], write_bytes[HB_THREADS];  // bit i: byte i
  uint8_t read_sync, write_sync;  // bit t: that access was atomic or volatile
  const void *read_pc[HB_THREADS], *write_pc[HB_THREADS];
  struct hb_clock clock;  // what is passed on by the word as a lock or flag
};

struct hb_state {
  uint32_t round;  // of the current schedule
  uint32_t step;   // grows; kept by the caller
  struct hb_clock thread[HB_THREADS];
};

// The access that an access races with.
struct hb_race {
  const void *pc;
  int thread;
  bool wrote;
};

// Begins a schedule: no thread knows of any other.
void hb_begin(struct hb_state *s);

// The thread learns what the clock knows (takes a lock) ...
void hb_learn(struct hb_state *s, int thread, const struct hb_clock *from);
// ... and the clock what the thread knows (gives it back). What the thread
// does afterwards is later than that.
void hb_teach(struct hb_state *s, int thread, struct hb_clock *to);

// Takes an old schedule's marks off the cell.
void hb_refresh(const struct hb_state *s, struct hb_cell *cell);

// One access by one thread.
struct hb_access {
  int thread;
  unsigned bytes;  // bit i: byte i of the cell
  bool write;
  bool sync;  // atomic or volatile: two such never race
  const void *pc;
};

// Records an access. Returns whether it races with an earlier one, and then
// with which in *ret.
bool hb_access(struct hb_state *s, struct hb_cell *cell,
               const struct hb_access *access, struct hb_race *ret);

// Whether the cell was written after step `since` of this schedule.
static inline bool hb_changed_since(const struct hb_state *s,
                                    const struct hb_cell *cell, uint32_t since)
{
  return cell->round == s->round && cell->changed > since;
}

#endif
