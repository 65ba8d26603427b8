// Follows pointers, conservatively: a word that holds the address of a page is
// a pointer to it.
//
// Deliberately no knowledge of any struct of the student's. Designs that keep
// track of pages without pointers (bitmaps) are seen as "nothing leads to the
// page"; the caller asks the allocator itself before it calls a page lost.
#include "graders/explore/lists.h"

#include <string.h>

static int page_in(const struct lists *l, uintptr_t word)
{
  return word % IMAGE_NAMED == 0 ? image_page_of(l->im, (const void *)word)
                                 : -1;
}

void lists_init(struct lists *l, const struct image *im)
{
  *l = (struct lists){.im = im};
  for (size_t i = 0; i < im->debug.variables; i++) {
    const struct debug_variable *v = &im->debug.variable[i];
    uintptr_t at = im->base + v->at;
    for (uintptr_t a = (at + 7) & ~(uintptr_t)7; a + 8 <= at + v->bytes;
         a += 8) {
      if (a >= im->data_low && a + 8 <= im->data_high && l->roots < LISTS_ROOTS)
        l->root[l->roots++] = a;
    }
  }
}

// Pages that were reached and whose words are still to be read.
struct frontier {
  int page[IMAGE_PAGES];
  int count;
};

static void meet(const struct lists *l, uintptr_t word, uintptr_t root,
                 struct lists_view *v, struct frontier *f, int *reached)
{
  int p = page_in(l, word);
  if (p < 0)
    return;
  if (v->links[p] < UINT8_MAX)
    v->links[p]++;
  if (v->root[p])
    return;
  v->root[p] = root;
  f->page[f->count++] = p;
  ++*reached;
}

int lists_view(const struct lists *l, struct lists_view *ret)
{
  struct frontier f;
  int reached = 0;
  f.count = 0;
  memset(ret->root, 0, (size_t)l->im->pages * sizeof ret->root[0]);
  memset(ret->links, 0, (size_t)l->im->pages);
  for (int i = 0; i < l->roots; i++) {
    meet(l, *(uintptr_t *)l->root[i], l->root[i], ret, &f, &reached);
    while (f.count > 0) {
      int p = f.page[--f.count];
      size_t words = (l->im->page[p].whole ? IMAGE_NAMED : IMAGE_HEAD) / 8;
      const uintptr_t *w = (const uintptr_t *)image_page_at(l->im, p);
      for (size_t k = 0; k < words; k++)
        meet(l, w[k], l->root[i], ret, &f, &reached);
    }
  }
  return reached;
}

// The word of a page that leads on: the first one that holds a page. 0: none.
static uintptr_t link_of(const struct lists *l, int page)
{
  const uintptr_t *w = (const uintptr_t *)image_page_at(l->im, page);
  for (int k = 0; k < IMAGE_HEAD / 8; k++) {
    if (page_in(l, w[k]) >= 0)
      return (uintptr_t)&w[k];
  }
  return 0;
}

int lists_length(const struct lists *l, uintptr_t root)
{
  if (*(uintptr_t *)root != 0 && page_in(l, *(uintptr_t *)root) < 0)
    return -1;
  int length = 0;
  for (uintptr_t at = root; at && length < l->im->pages; length++) {
    int p = page_in(l, *(uintptr_t *)at);
    if (p < 0)
      break;
    at = link_of(l, p);
  }
  return length;
}

static bool per_hart(const struct lists *l, const struct debug_variable *v)
{
  return v && v->elements > 1 && v->elements == (size_t)l->im->guest->ncpu;
}

int lists_element(const struct lists *l, const void *addr)
{
  uintptr_t at = (uintptr_t)addr - l->im->base;
  const struct debug_variable *v = debug_variable_at(&l->im->debug, at);
  return per_hart(l, v) ? (int)((at - v->at) / v->stride_bytes) : -1;
}

// A member that can be the start of a list: a pointer's size, and it holds 0
// or a page now and held a page in some element.
static bool starts_list(const struct lists *l, const struct debug_variable *v,
                        const struct debug_member *m)
{
  if (m->bytes != 8 || m->offset % 8 != 0)
    return false;
  bool page = false;
  for (size_t n = 0; n < v->elements; n++) {
    uintptr_t word =
        *(uintptr_t *)(l->im->base + v->at + n * v->stride_bytes + m->offset);
    if (page_in(l, word) >= 0)
      page = true;
    else if (word != 0)
      return false;
  }
  return page;
}

void lists_find_starts(struct lists *l)
{
  const struct debug *d = &l->im->debug;
  l->starts = 0;
  for (size_t i = 0; i < d->variables; i++) {
    const struct debug_variable *v = &d->variable[i];
    for (size_t m = 0; m < v->members; m++) {
      if (l->starts < LISTS_COUNTS && starts_list(l, v, &v->member[m]))
        l->start[l->starts++] = (struct lists_start){v, v->member[m].offset};
    }
  }
}

static uintptr_t place_of(const struct lists *l, const struct lists_start *s,
                          size_t element)
{
  return l->im->base + s->variable->at + element * s->variable->stride_bytes +
         s->offset;
}

void lists_walk(const struct lists *l,
                bool (*see)(void *arg, uintptr_t word, int page), void *arg)
{
  for (int i = 0; i < l->starts; i++) {
    for (size_t n = 0; n < l->start[i].variable->elements; n++) {
      uintptr_t at = place_of(l, &l->start[i], n);
      for (int steps = 0; at && steps < l->im->pages; steps++) {
        int p = page_in(l, *(uintptr_t *)at);
        if (p < 0 || !see(arg, at, p))
          break;
        at = link_of(l, p);
      }
    }
  }
}

void lists_check_starts(struct lists *l, bool (*free_page)(void *arg, int page),
                        void *arg)
{
  int kept = 0;
  for (int i = 0; i < l->starts; i++) {
    const struct lists_start *s = &l->start[i];
    bool good = true;
    for (size_t n = 0; n < s->variable->elements && good; n++) {
      int p = page_in(l, *(uintptr_t *)place_of(l, s, n));
      good = p < 0 || free_page(arg, p);
    }
    if (good)
      l->start[kept++] = *s;
  }
  l->starts = kept;
}

int lists_length_near(const struct lists *l, const void *addr,
                      uintptr_t *ret_root)
{
  uintptr_t at = (uintptr_t)addr - l->im->base;
  const struct debug_variable *own = debug_variable_at(&l->im->debug, at);
  if (!own)
    return -1;
  size_t element = (at - own->at) / own->stride_bytes;
  const struct lists_start *best = NULL;
  for (int i = 0; i < l->starts; i++) {
    const struct lists_start *s = &l->start[i];
    // Locks and lists may be two arrays.
    if (s->variable == own) {
      best = s;
      break;
    }
    if (!best && per_hart(l, own) && per_hart(l, s->variable))
      best = s;
  }
  if (!best)
    return -1;
  uintptr_t root = place_of(l, best, element);
  if (ret_root)
    *ret_root = root;
  return lists_length(l, root);
}

// ---- counts -----------------------------------------------------------------

static bool agrees(const struct lists *l, const struct lists_count *c,
                   size_t element)
{
  return *(const int *)place_of(l, &c->count, element) ==
         lists_length(l, place_of(l, &c->list, element));
}

static bool agrees_everywhere(const struct lists *l,
                              const struct lists_count *c)
{
  for (size_t n = 0; n < c->list.variable->elements; n++) {
    if (!agrees(l, c, n))
      return false;
  }
  return true;
}

static void try_variable(struct lists *l, const struct lists_start *list,
                         const struct debug_variable *v)
{
  if (v->elements != list->variable->elements)
    return;
  for (size_t m = 0; m < v->members && l->counts < LISTS_COUNTS; m++) {
    const struct debug_member *part = &v->member[m];
    struct lists_count c = {*list, {v, part->offset}};
    if ((part->bytes == 4 || part->bytes == 8) && agrees_everywhere(l, &c))
      l->count[l->counts++] = c;
  }
}

void lists_learn_begin(struct lists *l)
{
  l->counts = 0;
  l->lengths_seen = 0;
  for (int i = 0; i < l->starts; i++) {
    for (size_t j = 0; j < l->im->debug.variables; j++)
      try_variable(l, &l->start[i], &l->im->debug.variable[j]);
  }
}

void lists_learn(struct lists *l)
{
  int kept = 0;
  for (int i = 0; i < l->counts; i++) {
    struct lists_count *c = &l->count[i];
    for (size_t n = 0; n < c->list.variable->elements; n++)
      l->lengths_seen |= UINT64_C(1)
                         << (lists_length(l, place_of(l, &c->list, n)) & 63);
    if (agrees_everywhere(l, c))
      l->count[kept++] = *c;
  }
  l->counts = kept;
}

void lists_learn_end(struct lists *l)
{
  if (__builtin_popcountll(l->lengths_seen) < 4)
    l->counts = 0;
}

const void *lists_drift(const struct lists *l, int *ret_length)
{
  for (int i = 0; i < l->counts; i++) {
    const struct lists_count *c = &l->count[i];
    for (size_t n = 0; n < c->list.variable->elements; n++) {
      if (agrees(l, c, n))
        continue;
      *ret_length = lists_length(l, place_of(l, &c->list, n));
      return (const void *)place_of(l, &c->count, n);
    }
  }
  return NULL;
}
