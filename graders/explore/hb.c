// The happens-before detector.
//
// Deliberately at most one race per access, and one remembered read and write
// per thread and cell: an access that is found racing is explored further, and
// other schedules show what this one hides.
#include "graders/explore/hb.h"

#include <string.h>

void hb_begin(struct hb_state *s)
{
  s->round++;
  s->step = 0;
  memset(s->thread, 0, sizeof s->thread);
  for (int t = 0; t < HB_THREADS; t++)
    s->thread[t].at[t] = 1;
}

static void merge(struct hb_clock *into, const struct hb_clock *from)
{
  for (int t = 0; t < HB_THREADS; t++) {
    if (into->at[t] < from->at[t])
      into->at[t] = from->at[t];
  }
}

void hb_learn(struct hb_state *s, int thread, const struct hb_clock *from)
{
  merge(&s->thread[thread], from);
}

void hb_teach(struct hb_state *s, int thread, struct hb_clock *to)
{
  merge(to, &s->thread[thread]);
  s->thread[thread].at[thread]++;
}

void hb_refresh(const struct hb_state *s, struct hb_cell *cell)
{
  if (cell->round == s->round)
    return;
  memset(cell, 0, sizeof *cell);
  cell->round = s->round;
}

static bool find_race(const struct hb_cell *cell, const struct hb_access *a,
                      const struct hb_clock *now, struct hb_race *ret)
{
  for (int t = 0; t < HB_THREADS; t++) {
    if (t == a->thread)
      continue;
    if (cell->write[t] > now->at[t] && (cell->write_bytes[t] & a->bytes) &&
        !(a->sync && (cell->write_sync >> t & 1))) {
      *ret = (struct hb_race){cell->write_pc[t], t, true};
      return true;
    }
    if (a->write && cell->read[t] > now->at[t] &&
        (cell->read_bytes[t] & a->bytes) &&
        !(a->sync && (cell->read_sync >> t & 1))) {
      *ret = (struct hb_race){cell->read_pc[t], t, false};
      return true;
    }
  }
  return false;
}

bool hb_access(struct hb_state *s, struct hb_cell *cell,
               const struct hb_access *a, struct hb_race *ret)
{
  const struct hb_clock *now = &s->thread[a->thread];
  int t = a->thread;

  hb_refresh(s, cell);
  bool races = find_race(cell, a, now, ret);

  uint32_t *at = a->write ? cell->write : cell->read;
  uint8_t *which = a->write ? cell->write_bytes : cell->read_bytes;
  uint8_t *sync = a->write ? &cell->write_sync : &cell->read_sync;
  if (at[t] != now->at[t])
    which[t] = 0;
  which[t] = (uint8_t)(which[t] | a->bytes);
  at[t] = now->at[t];
  *sync = (uint8_t)((*sync & ~(1u << t)) | (unsigned)a->sync << t);
  (a->write ? cell->write_pc : cell->read_pc)[t] = a->pc;
  if (a->write)
    cell->changed = s->step;
  return races;
}
