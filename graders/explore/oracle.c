// What must hold after a call, and when all threads have ended.
//
// Each check says only what it saw happen. That a call fails for want of a
// page is wrong only if some page stayed where it was, free, all the time:
// pages in transit and chains that are moved are correct.
#include <stdio.h>
#include <string.h>

#include "graders/explore/machine.h"

// ---- boot -------------------------------------------------------------------

static bool ends_like(const char *name, const char *fmt, int number)
{
  char want[32];
  snprintf(want, sizeof want, fmt, number);
  return strcmp(name, want) == 0;
}

// The name of a lock that belongs to a hart's list.
static void check_name(struct machine *m, const struct lock *lock)
{
  int element = lists_element(&m->lists, lock->addr);
  if (!lock->initialised || element < 0 ||
      lists_length_near(&m->lists, lock->addr, NULL) < 0)
    return;
  char name[32] = "";
  const char *at = m->im->guest->name_of((void *)lock->addr);
  for (size_t i = 0; i + 1 < sizeof name; i++) {
    if (!image_has(m->im, at + i, 1, false) || !at[i])
      break;
    name[i] = at[i];
  }
  if (!ends_like(name, m->lab->lock_name, element))
    machine_report(m, EX_NAME, 0, NULL, lock->addr, false,
                   "the lock of list %d has the name '%s'", element, name);
}

void oracle_after_boot(struct machine *m)
{
  for (int i = 0; i < m->locks.count && m->lab->lock_name; i++)
    check_name(m, &m->locks.lock[i]);

  static struct lists_view view;
  if (lists_view(&m->lists, &view) == m->pages.count)
    return;
  // Nothing leads to some page. Ask the allocator itself, then start again.
  image_save(m->im);
  struct pages before = m->pages;
  machine_alone(m, 0, caller_drain);
  int lost = 0;
  for (int i = 0; i < m->pages.count; i++) {
    if (m->pages.page[i].state == PAGE_FREE) {
      before.page[i].state = PAGE_LOST;
      lost++;
    }
  }
  image_restore(m->im);
  m->pages = before;
  // Lost pages are not spoken of again.
  if (lost > 0 && m->reports == 0)
    machine_report(m, EX_LOST, 1, NULL, NULL, false,
                   "%d of %d pages are lost at boot", lost, m->pages.count);
}

// ---- after a call -----------------------------------------------------------

void oracle_after_call(struct machine *m, struct thread *t, bool had_interrupts,
                       int had_noff, const void *pc)
{
  struct hart *h = &m->hart[t->slot];
  int *noff = m->im->guest->noff(h->number);
  if (h->interrupts == had_interrupts && *noff == had_noff)
    return;
  machine_report(m, EX_INTERRUPTS, t->allocating, pc, NULL, false,
                 "interrupts were %s and are %s, noff was %d and is %d",
                 had_interrupts ? "on" : "off", h->interrupts ? "on" : "off",
                 had_noff, *noff);
  // Say it once: what follows from it would be said again and again.
  h->interrupts = had_interrupts;
  *noff = had_noff;
}

static void report_empty(struct machine *m, const void *pc, int page)
{
  machine_report(m, EX_FALSE_EMPTY, 0, pc, NULL, false,
                 "%s returns 0 although page %d is free all the time",
                 m->lab->alloc.name, page);
}

// The search for a page that a failed call could have had.
struct search {
  struct machine *m;
  const struct thread *t;
  int found;
};

static bool unchanged(const struct search *s, uintptr_t word)
{
  const struct hb_cell *cell = image_cell(s->m->im, (const void *)word);
  return cell && !hb_changed_since(&s->m->hb, cell, s->t->call_step);
}

static bool see_page(void *arg, uintptr_t word, int page)
{
  struct search *s = arg;
  const struct page_owner *o = &s->m->pages.page[page];
  if (!unchanged(s, word) || o->state != PAGE_FREE)
    return false;
  if (o->free_since <= s->t->call_step)
    s->found = page;
  return true;
}

void oracle_none_left(struct machine *m, struct thread *t)
{
  struct search s = {m, t, -1};
  if (m->alone) {
    // Nobody else is there who could have the page for a moment. (A page that
    // nothing leads to is another finding.)
    static struct lists_view view;
    lists_view(&m->lists, &view);
    for (int i = 0; i < m->pages.count; i++) {
      if (m->pages.page[i].state == PAGE_FREE && view.links[i] > 0)
        s.found = i;
    }
  } else {
    lists_walk(&m->lists, see_page, &s);
  }
  if (s.found < 0)
    return;
  // A thread that began before may be about to return that very page.
  unsigned others = 0;
  for (int i = 0; i < EX_HARTS && !m->alone; i++) {
    const struct thread *u = &m->thread[i];
    if (u != t && u->in_call && u->allocating && u->call_step < t->call_step)
      others |= 1u << i;
  }
  if (!others) {
    report_empty(m, t->at, s.found);
  } else {
    m->doubtful_page = s.found;
    m->doubtful_threads = others;
  }
}

void oracle_returned(struct machine *m, struct thread *t, int page)
{
  unsigned bit = 1u << machine_id(m, t);
  if (m->doubtful_page < 0 || !(m->doubtful_threads & bit))
    return;
  if (page == m->doubtful_page) {
    m->doubtful_page = -1;
    return;
  }
  m->doubtful_threads &= ~bit;
  if (m->doubtful_threads == 0) {
    report_empty(m, t->at, m->doubtful_page);
    m->doubtful_page = -1;
  }
}

// ---- at the end -------------------------------------------------------------

// Whether every free page is reached once, and no other page is.
static bool all_in_place(struct machine *m)
{
  static struct lists_view view;
  lists_view(&m->lists, &view);
  for (int i = 0; i < m->pages.count; i++) {
    bool is_free = m->pages.page[i].state == PAGE_FREE;
    if (is_free ? view.links[i] != 1 : view.links[i] != 0)
      return false;
  }
  return true;
}

static void check_junk(struct machine *m)
{
  for (int i = 0; i < m->pages.count && m->lab->junk_free >= 0; i++) {
    const struct page_owner *o = &m->pages.page[i];
    if (o->state == PAGE_FREE && o->freed &&
        image_last_byte(m->im, i) != m->lab->junk_free) {
      machine_report(m, EX_JUNK, 1, NULL, NULL, false,
                     "%s does not fill a page with %d", m->lab->free.name,
                     m->lab->junk_free);
      return;
    }
  }
}

static void report_drift(struct machine *m, const int *count, int length)
{
  uintptr_t at = (uintptr_t)count - m->im->base;
  const struct debug_variable *v = debug_variable_at(&m->im->debug, at);
  struct buf name = BUF_INIT;

  debug_name(&m->im->debug, at, &name);
  machine_report(m, EX_DRIFT, v->at + (at - v->at) % v->stride_bytes, NULL,
                 count, false,
                 "%s is %d in the end, and the pages on its list are %d",
                 buf_str(&name), *count, length);
  buf_release(&name);
}

// The lists look wrong, or are of a kind that cannot be followed: only what the
// allocator itself does counts.
static void check_lost(struct machine *m)
{
  int reports = m->reports;
  machine_alone(m, 0, caller_drain);
  int left = pages_free(&m->pages);
  if (left == 0 || m->reports > reports)
    return;
  machine_report(m, EX_LOST, 0, NULL, NULL, false,
                 "%d free page%s can never be handed out again", left,
                 left == 1 ? "" : "s");
}

void oracle_at_end(struct machine *m)
{
  int length = 0;
  const int *drifted = lists_drift(&m->lists, &length);

  check_junk(m);
  if (!all_in_place(m))
    check_lost(m);
  else if (drifted != NULL)
    report_drift(m, drifted, length);
}
