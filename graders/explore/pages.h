// Who has which page, as the allocator's callers know it: the first of the
// oracles. Knows nothing of how the allocator keeps them.
#ifndef LABGEN_EXPLORE_PAGES_H
#define LABGEN_EXPLORE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

enum { PAGES_MOST = 1536 };  // of a pool

enum page_state {
  PAGE_FREE,     // the allocator's
  PAGE_HELD,     // a caller's
  PAGE_FREEING,  // on its way back: a call of free is under way
  PAGE_LOST,     // reported as lost; nothing more is said about it
};

struct page_owner {
  uint8_t state;
  uint8_t thread;       // that holds it, or frees it
  bool freed;           // by a call of free, ever
  uint32_t free_since;  // step at which that call returned; 0: from the start
};

struct pages {
  struct page_owner page[PAGES_MOST];
  int count;
};

// All pages are the allocator's.
void pages_init(struct pages *p, int count);

// Allocation returned the page to the thread. Returns 0, or -1 when somebody
// has the page already.
int pages_handed_out(struct pages *p, int page, int thread);
// A call of free begins, and ends at the step.
void pages_freeing(struct pages *p, int page, int thread);
void pages_freed(struct pages *p, int page, int thread, uint32_t step);
// Steps are counted anew: what is free now was free from the start.
void pages_settle(struct pages *p);
// Another thread holds the page now.
void pages_passed_on(struct pages *p, int page, int thread);

// How many pages are the allocator's.
int pages_free(const struct pages *p);

#endif
