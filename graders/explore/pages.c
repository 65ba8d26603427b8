// Book-keeping of the callers' side.
//
// Deliberately no look at memory: what a page contains is somebody else's.
#include "graders/explore/pages.h"

void pages_init(struct pages *p, int count)
{
  *p = (struct pages){.count = count};
}

int pages_handed_out(struct pages *p, int page, int thread)
{
  struct page_owner *o = &p->page[page];
  // A page on its way back can be on a list already, so that is no mistake.
  if (o->state == PAGE_HELD)
    return -1;
  o->state = PAGE_HELD;
  o->thread = (uint8_t)thread;
  return 0;
}

void pages_freeing(struct pages *p, int page, int thread)
{
  p->page[page].state = PAGE_FREEING;
  p->page[page].thread = (uint8_t)thread;
}

void pages_freed(struct pages *p, int page, int thread, uint32_t step)
{
  // Another thread may have got the page before this call of free returned,
  // and may even be giving it back itself.
  struct page_owner *o = &p->page[page];
  if (o->state != PAGE_FREEING || o->thread != thread)
    return;
  o->state = PAGE_FREE;
  o->freed = true;
  o->free_since = step;
}

void pages_settle(struct pages *p)
{
  for (int i = 0; i < p->count; i++)
    p->page[i].free_since = 0;
}

void pages_passed_on(struct pages *p, int page, int thread)
{
  p->page[page].thread = (uint8_t)thread;
}

int pages_free(const struct pages *p)
{
  int n = 0;
  for (int i = 0; i < p->count; i++)
    n += p->page[i].state == PAGE_FREE;
  return n;
}
