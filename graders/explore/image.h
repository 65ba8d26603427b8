// The code under test in this process: the shared object that was made from
// the student's file, its variables, the pages that it manages, and putting
// both back to an earlier state.
#ifndef LABGEN_EXPLORE_IMAGE_H
#define LABGEN_EXPLORE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graders/explore/debug.h"
#include "graders/explore/hb.h"
#include "graders/explore/pages.h"
#include "graders/explore/rt/host.h"
#include "labgen/base/error.h"

enum {
  IMAGE_HEAD = 64,  // bytes of a page that are really filled
  IMAGE_PAGES = PAGES_MOST,
  IMAGE_NAMED = 4096,  // bytes of a page
};

// A page of the pool. A fill of the whole page writes only its first
// IMAGE_HEAD bytes; the rest is as if it held `junk`, and is really written
// when somebody accesses it.
struct image_page {
  uint8_t junk;
  bool whole;    // the rest is really there
  bool changed;  // since the last image_save()
};

struct image {
  void *handle;  // of dlopen()
  const struct ex_guest *guest;
  uintptr_t base;                 // where the object was loaded
  uintptr_t low, high;            // all of it
  uintptr_t code_low, code_high;  // its instructions
  uintptr_t data_low, data_high;  // its writable part
  struct debug debug;             // names, lines

  char *pool_top;   // the first byte after the pool, PHYSTOP
  char *pool_room;  // the lowest byte that is mapped
  size_t room_pages;
  char *pool;  // the first page
  int pages;
  struct image_page page[IMAGE_PAGES];

  // saved state
  char *saved_data, *saved_pool;
  struct image_page saved_page[IMAGE_PAGES];
  int changed[IMAGE_PAGES];  // pages with the mark `changed`
  int changed_count;

  // for the detector: a cell for each word
  struct hb_cell *data_cell, *pool_cell, *page_cell;
  uint32_t words_round[IMAGE_PAGES];  // of the schedule that words_used is of
  uint8_t words_used[IMAGE_PAGES];    // words of a page's head with a record
  uintptr_t end_slot[64];  // words of the object that hold `end` plus something
  long end_plus[64];
  int end_slots;
};

// Loads the object and maps room for `max_pages` pages. LG_EHARNESS when this
// process cannot, such as when the addresses are taken.
int image_open(const char *path, int max_pages, struct image *ret,
               struct error *err);
void image_close(struct image *im);

// The address of a function of the object's, or NULL.
void *image_function(const struct image *im, const char *name);

// Makes the last `pages` pages below PHYSTOP the pool, and puts the object's
// variables back to what they were when it was loaded.
void image_reset(struct image *im, int pages);

// Remembers the state, and goes back to it.
void image_save(struct image *im);
void image_restore(struct image *im);

// The page that an address lies in, or -1.
static inline int image_page_of(const struct image *im, const void *addr)
{
  uintptr_t off = (uintptr_t)addr - (uintptr_t)im->pool;
  return off < (uintptr_t)im->pages * IMAGE_NAMED ? (int)(off / IMAGE_NAMED)
                                                  : -1;
}

static inline char *image_page_at(const struct image *im, int page)
{
  return im->pool + (size_t)page * IMAGE_NAMED;
}

// Must be called before a page is changed.
static inline void image_touch(struct image *im, int page)
{
  if (!im->page[page].changed) {
    im->page[page].changed = true;
    im->changed[im->changed_count++] = page;
  }
}

// Fills a whole page.
void image_fill(struct image *im, int page, int byte);
// Makes all bytes of a page real.
void image_make_whole(struct image *im, int page);
// The last byte of a page.
int image_last_byte(const struct image *im, int page);

// The detector's cell of a word; NULL when the address is none of pool or
// variables.
struct hb_cell *image_cell(const struct image *im, const void *addr);

// Whether `bytes` from `addr` may be read, or written: variables, constants.
// (Pool and stacks are the caller's to check.)
bool image_has(const struct image *im, const void *addr, size_t bytes,
               bool write);

#endif
