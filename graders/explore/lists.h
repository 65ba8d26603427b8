// Where the free pages are: found by following pointers from the allocator's
// variables through the pages, whatever its lists are called and look like.
#ifndef LABGEN_EXPLORE_LISTS_H
#define LABGEN_EXPLORE_LISTS_H

#include <stdbool.h>
#include <stdint.h>

#include "graders/explore/image.h"

enum { LISTS_ROOTS = 4096, LISTS_COUNTS = 16 };

// A member that is the start of a list, in each element.
struct lists_start {
  const struct debug_variable *variable;
  size_t offset;
};

// A count that always was the length of a list while the allocator was watched
// doing simple things.
struct lists_count {
  struct lists_start list, count;
};

struct lists {
  const struct image *im;
  uintptr_t root[LISTS_ROOTS];  // words of the variables
  int roots;
  struct lists_start start[LISTS_COUNTS];
  int starts;
  struct lists_count count[LISTS_COUNTS];
  int counts;
  uint64_t lengths_seen;  // bit n: the list of length n was seen
};

// What a look at the lists gives.
struct lists_view {
  uintptr_t root[IMAGE_PAGES];  // word that leads to the page, 0: none does
  uint8_t links[IMAGE_PAGES];   // pointers to it that were met
};

void lists_init(struct lists *l, const struct image *im);

// Finds out which members start lists. To be called when the allocator has
// been initialised, and some list has pages.
void lists_find_starts(struct lists *l);

// Forgets starts that lead to pages for which free_page() is false: they are
// pointers of another kind, such as to a list's last page.
void lists_check_starts(struct lists *l, bool (*free_page)(void *arg, int page),
                        void *arg);

// Calls see() for each page that a start leads to, in the list's order, with
// the word that leads to it. see() returns false to leave the list.
void lists_walk(const struct lists *l,
                bool (*see)(void *arg, uintptr_t word, int page), void *arg);

// Looks at all lists. Returns the number of pages that something leads to.
int lists_view(const struct lists *l, struct lists_view *ret);

// Pages on the list that starts at the word: -1 when the word holds neither 0
// nor a page, and the number of pages so far when the list bites its tail.
int lists_length(const struct lists *l, uintptr_t root);

// The element of a per-hart array that an address lies in, or -1. An array is
// per hart when it has one element for each of the kernel's harts.
int lists_element(const struct lists *l, const void *addr);

// The length of the list that shares an element (or, outside arrays, a
// variable) with the address; -1 when there is none. `ret_root` (may be NULL)
// gets the word where it starts.
int lists_length_near(const struct lists *l, const void *addr,
                      uintptr_t *ret_root);

// Learning which counts are lengths: first lists_learn_begin(), then, while
// nothing else runs, lists_learn() after each of several calls.
void lists_learn_begin(struct lists *l);
void lists_learn(struct lists *l);
void lists_learn_end(struct lists *l);

// Compares the learnt counts with the lists while no call is under way.
// Returns the address of a count that is wrong, and its list's length, or NULL.
const void *lists_drift(const struct lists *l, int *ret_length);

#endif
