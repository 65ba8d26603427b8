// Turns events into phrases, and phrases into cells.
//
// Deliberately leaves out what says nothing: a lock that is taken, found empty
// and given back at once is "tries", and several of those are one phrase.
#include "graders/explore/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"

enum { HELD_MOST = 16 };

// The state while the events are read.
struct writer {
  const struct story *s;
  const struct table_words *words;
  struct table *t;
  struct {
    const char *lock[HELD_MOST];
    int count;
  } held[EX_HARTS];  // by thread
  size_t i;          // the event that is read
};

static const struct story_event *event(const struct writer *w, size_t i)
{
  return i < w->s->events ? &w->s->event[i] : NULL;
}

static int column_of(struct table *t, int hart)
{
  for (int i = 0; i < t->columns; i++) {
    if (t->hart[i] == hart)
      return i;
  }
  if (t->columns == EX_HARTS)
    return 0;
  t->hart[t->columns] = hart;
  return t->columns++;
}

// The columns in the program's order, of harts that do something.
static void make_columns(const struct story *s, struct table *t)
{
  for (int h = 0; h < EX_HARTS; h++) {
    for (size_t i = 0; i < s->events; i++) {
      if (s->event[i].hart == s->harts[h] && s->event[i].kind != EV_ENDS) {
        column_of(t, s->harts[h]);
        break;
      }
    }
  }
}

static void add_place(const struct story_place *p, struct buf *b)
{
  if (p->line > 0)
    buf_addf(b, " (%s:%d)", p->function, p->line);
}

static void add_value(int64_t value, struct buf *b)
{
  if (value >= EX_PAGE_VALUE)
    buf_addf(b, "page %d", (int)(value - EX_PAGE_VALUE));
  else if ((uint64_t)value >> 32 == EX_CALLER_MARK >> 32)
    buf_adds(b, "what a caller wrote into its page");
  else if (value >= -9999 && value <= 9999)
    buf_addf(b, "%d", (int)value);
  else
    buf_addf(b, "%#lx", (unsigned long)value);
}

static void add_length(int64_t length, struct buf *b)
{
  if (length == 0)
    buf_adds(b, ", its list is empty");
  else if (length > 0)
    buf_addf(b, ", its list has %d page%s", (int)length,
             length == 1 ? "" : "s");
}

static void hold(struct writer *w, int thread, const char *lock)
{
  if (w->held[thread].count < HELD_MOST)
    w->held[thread].lock[w->held[thread].count++] = lock;
}

static void drop(struct writer *w, int thread, const char *lock)
{
  for (int i = w->held[thread].count - 1; i >= 0; i--) {
    if (strcmp(w->held[thread].lock[i], lock) != 0)
      continue;
    w->held[thread].lock[i] = w->held[thread].lock[--w->held[thread].count];
    return;
  }
}

static void add_held(const struct writer *w, int thread, struct buf *b)
{
  for (int i = 0; i < w->held[thread].count; i++)
    buf_addf(b, "%s%s", i == 0 ? ", holding " : " and ",
             w->held[thread].lock[i]);
}

// Whether event i takes a lock whose list is empty and the next one gives it
// back.
static bool only_tries(const struct writer *w, size_t i)
{
  const struct story_event *a = event(w, i), *b = event(w, i + 1);
  return a && b && a->kind == EV_TAKES && a->value == 0 &&
         b->kind == EV_GIVES_BACK && b->value == 0 && a->thread == b->thread &&
         strcmp(a->name, b->name) == 0;
}

static void say_tries(struct writer *w, struct buf *b)
{
  const struct story_event *first = event(w, w->i), *last = first;
  int count = 1;
  while (only_tries(w, w->i + 2) &&
         event(w, w->i + 2)->thread == first->thread &&
         event(w, w->i + 2)->place.line == first->place.line) {
    w->i += 2;
    last = event(w, w->i);
    count++;
  }
  w->i++;
  buf_addf(b, "tries %s", first->name);
  if (count > 1)
    buf_addf(b, " %s %s", count > 2 ? "to" : "and", last->name);
  add_place(&first->place, b);
  buf_adds(b, count > 1 ? ": all empty" : ": empty");
}

static void say_lock(struct writer *w, const struct story_event *e,
                     struct table_row *row)
{
  struct buf *b = &row->cell[row->column];
  if (e->kind == EV_TAKES) {
    buf_addf(b, "takes %s", e->name);
    add_place(&e->place, b);
    add_length(e->value, b);
    hold(w, e->thread, e->name);
    free(row->waits_for);
    row->waits_for = NULL;
  } else if (e->kind == EV_GIVES_BACK) {
    drop(w, e->thread, e->name);
    buf_addf(b, "gives back %s", e->name);
    add_length(e->value, b);
  } else {
    buf_addf(b, "waits for %s", e->name);
    add_place(&e->place, b);
    if (e->value >= 0)
      buf_addf(b, ", which hart %d has", (int)e->value);
    add_held(w, e->thread, b);
    free(row->waits_for);
    row->waits_for = xstrdup(e->name);
    row->holder = -1;
    for (int i = 0; i < w->t->columns; i++) {
      if (w->t->hart[i] == e->value)
        row->holder = i;
    }
  }
}

static void say_memory(const struct story_event *e, struct buf *b)
{
  const char *name = *e->name ? e->name : "a page's link";
  switch (e->kind) {
  case EV_READS:
    buf_addf(b, "reads %s", name);
    add_place(&e->place, b);
    buf_adds(b, ": ");
    add_value(e->value, b);
    break;
  case EV_SPINS:
    buf_addf(b, "waits for %s", name);
    add_place(&e->place, b);
    buf_adds(b, " to change from ");
    add_value(e->value, b);
    break;
  default:
    buf_addf(b, "%s %s", e->kind == EV_WRITES ? "writes" : "updates", name);
    add_place(&e->place, b);
    break;
  }
}

static void say_call(const struct writer *w, const struct story_event *e,
                     struct buf *b)
{
  switch (e->kind) {
  case EV_CALL_ALLOC:
    buf_addf(b, "calls %s", w->words->alloc);
    break;
  case EV_CALL_FREE:
    if (e->value >= 0)
      buf_addf(b, "calls %s for page %d", w->words->free, (int)e->value);
    else
      buf_addf(b, "calls %s for an address that is no page", w->words->free);
    break;
  case EV_GOT:
    if (e->value < 0)
      buf_addf(b, "%s returns 0", w->words->alloc);
    else
      buf_addf(b, "%s returns page %d", w->words->alloc, (int)e->value);
    break;
  case EV_HANDS_OVER:
    buf_addf(b, "hands page %d over", (int)e->value);
    break;
  case EV_IS_GIVEN:
    buf_addf(b, "is given page %d", (int)e->value);
    break;
  default:
    buf_addf(b, "%s returns", w->words->free);
    break;
  }
}

// Adds the phrase of the event to the row.
static void say(struct writer *w, struct table_row *row)
{
  const struct story_event *e = event(w, w->i);
  struct buf *b = &row->cell[row->column];
  if (b->len > 0)
    buf_adds(b, "; ");
  switch (e->kind) {
  case EV_TAKES:
  case EV_WAITS:
  case EV_GIVES_BACK:
    if (only_tries(w, w->i))
      say_tries(w, b);
    else
      say_lock(w, e, row);
    break;
  case EV_READS:
  case EV_WRITES:
  case EV_UPDATES:
  case EV_SPINS:
    say_memory(e, b);
    break;
  case EV_READS_HART:
    buf_addf(b, "reads its hart's number, %d, with interrupts on",
             (int)e->value);
    add_place(&e->place, b);
    break;
  case EV_DRAINS:
    buf_adds(b, "afterwards, every page is asked for");
    break;
  case EV_MOVES:
    buf_addf(b, "a timer interrupt: the thread of hart %d goes on here",
             (int)e->value);
    break;
  case EV_BREAKS:
    row->breaks = true;
    if (e->value != (int64_t)w->s->kind)
      buf_adds(b, e->value >= 0 && e->value < EX_KIND_COUNT
                      ? ex_kind_words((enum ex_kind)e->value)
                      : "something breaks");
    else if (w->s->place.line > 0 && ex_kind_is_finding(w->s->kind))
      buf_addf(b, "%s (%s:%d)", w->s->text, w->s->place.function,
               w->s->place.line);
    else
      buf_adds(b, w->s->text);
    break;
  default:
    say_call(w, e, b);
    break;
  }
}

static struct table_row *new_row(struct table *t, int column)
{
  t->row = xreallocarray(t->row, t->rows + 1, sizeof *t->row);
  t->row[t->rows] = (struct table_row){.column = column, .holder = -1};
  return &t->row[t->rows++];
}

// The end of a deadlock: all who wait go on waiting.
static void add_for_ever(struct writer *w)
{
  const char *waits[EX_HARTS] = {0};
  struct table *t = w->t;
  for (size_t i = 0; i < t->rows; i++)
    waits[t->row[i].column] = t->row[i].waits_for;
  struct table_row last = {.breaks = true, .holder = -1};
  for (int c = 0; c < t->columns; c++) {
    if (waits[c])
      buf_addf(&last.cell[c], "waits for %s for ever, interrupts off",
               waits[c]);
  }
  *new_row(t, 0) = last;
}

// A cell is for reading: of very many phrases, the first and the last stay.
static void shorten(struct buf *cell)
{
  enum { MOST = 1500, FIRST = 800, LAST = 500 };
  size_t first, last, phrases = 0;
  if (cell->len <= MOST)
    return;
  first = FIRST + strcspn(cell->data + FIRST, ";");
  for (last = cell->len - LAST; last > first && cell->data[last] != ';';)
    last--;
  if (last <= first)
    return;
  for (size_t i = first; i < last; i++)
    phrases += cell->data[i] == ';';
  char *left_out = xasprintf("; ... (%zu more)", phrases);
  buf_splice(cell, first, last - first, left_out, strlen(left_out));
  free(left_out);
}

void table_make(const struct story *s, const struct table_words *words,
                struct table *ret)
{
  *ret = (struct table){0};
  struct writer w = {.s = s, .words = words, .t = ret};
  struct table_row *row = NULL;
  make_columns(s, ret);
  for (w.i = 0; w.i < s->events; w.i++) {
    const struct story_event *e = event(&w, w.i);
    if (e->kind == EV_ENDS)
      continue;
    if (e->kind == EV_BREAKS && s->kind == EX_DEADLOCK)
      break;
    int column = column_of(ret, e->hart);
    if (!row || row->column != column)
      row = new_row(ret, column);
    say(&w, row);
    if (e->kind == EV_BREAKS && e->value == (int64_t)s->kind)
      break;
  }
  if (s->kind == EX_DEADLOCK)
    add_for_ever(&w);
  for (size_t i = 0; i < ret->rows; i++)
    shorten(&ret->row[i].cell[ret->row[i].column]);
}

void table_release(struct table *t)
{
  for (size_t i = 0; i < t->rows; i++) {
    for (int c = 0; c < EX_HARTS; c++)
      buf_release(&t->row[i].cell[c]);
    free(t->row[i].waits_for);
  }
  free(t->row);
  *t = (struct table){0};
}
