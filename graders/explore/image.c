// Loads the object, and keeps and restores what its code changes.
//
// Deliberately in one process with the engine: a schedule takes microseconds.
// Every access is checked before it happens, and the process itself is a child
// that the tool can lose.
#include "graders/explore/image.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "labgen/base/alloc.h"

enum { END_PLUS_MOST = 1 << 20 };

// One loaded segment.
static void add_segment(struct image *im, const ElfW(Phdr) * ph)
{
  uintptr_t low = im->base + ph->p_vaddr, high = low + ph->p_memsz;
  if (ph->p_type != PT_LOAD)
    return;
  if (low < im->low || !im->low)
    im->low = low;
  if (high > im->high)
    im->high = high;
  if (ph->p_flags & PF_X) {
    im->code_low = low;
    im->code_high = high;
  }
  if (ph->p_flags & PF_W) {
    im->data_low = low & ~(uintptr_t)7;
    im->data_high = (high + 7) & ~(uintptr_t)7;
  }
}

static int see_object(struct dl_phdr_info *info, size_t bytes, void *arg)
{
  struct image *im = arg;
  (void)bytes;
  if (info->dlpi_addr != im->base)
    return 0;
  for (int i = 0; i < info->dlpi_phnum; i++)
    add_segment(im, &info->dlpi_phdr[i]);
  return 1;
}

// `end` was linked to an address that nothing else has, so the words that hold
// it, plus a constant, are known by their value.
static void find_end(struct image *im)
{
  for (uintptr_t a = im->data_low; a + 8 <= im->data_high; a += 8) {
    uintptr_t v = *(uintptr_t *)a - im->base - EX_END_MAGIC;
    if (v + END_PLUS_MOST >= 2 * (uintptr_t)END_PLUS_MOST ||
        im->end_slots == 64)
      continue;
    im->end_slot[im->end_slots] = a;
    im->end_plus[im->end_slots++] = (long)v;
  }
}

static int map_pool(struct image *im, int max_pages, struct error *err)
{
  size_t bytes = (size_t)max_pages * IMAGE_NAMED;
  if (im->guest->page_bytes != IMAGE_NAMED)
    return error_set(err, LG_EINPUT, "PGSIZE is %lu; the explorer knows %d",
                     im->guest->page_bytes, IMAGE_NAMED);
  im->room_pages = (size_t)max_pages;
  im->pool_top = (char *)im->guest->phystop;
  im->pool_room = im->pool_top - bytes;
  void *got = mmap(im->pool_room, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != im->pool_room) {
    int rc =
        error_errno(err, LG_EHARNESS, "cannot map the pages below PHYSTOP (%p)",
                    (void *)im->pool_top);
    if (got != MAP_FAILED)
      munmap(got, bytes);
    im->pool_room = NULL;
    return rc;
  }
  return 0;
}

static int find_parts(struct image *im, const char *path, int max_pages,
                      struct error *err)
{
  struct link_map *map;
  if (dlinfo(im->handle, RTLD_DI_LINKMAP, &map) != 0)
    return error_set(err, LG_EHARNESS, "%s: %s", path, dlerror());
  im->base = map->l_addr;
  im->guest = dlsym(im->handle, "ex_guest");
  if (!im->guest)
    return error_set(err, LG_EHARNESS, "%s: %s", path, dlerror());
  dl_iterate_phdr(see_object, im);
  find_end(im);
  int rc = map_pool(im, max_pages, err);
  if (rc < 0)
    return rc;
  size_t data = im->data_high - im->data_low;
  im->saved_data = xmalloc(data);
  memcpy(im->saved_data, (void *)im->data_low, data);
  im->saved_pool =
      mmap(NULL, im->room_pages * IMAGE_NAMED, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  im->data_cell = xcalloc(data / 8, sizeof *im->data_cell);
  // calloc() gives untouched memory for what is this large; most of it stays
  // untouched.
  im->pool_cell =
      xcalloc(im->room_pages * IMAGE_NAMED / 8, sizeof *im->pool_cell);
  im->page_cell = xcalloc(im->room_pages, sizeof *im->page_cell);
  if (im->saved_pool == MAP_FAILED)
    return error_errno(err, LG_EHARNESS, "no memory for the pages");
  return debug_open(path, &im->debug, err);
}

int image_open(const char *path, int max_pages, struct image *ret,
               struct error *err)
{
  if (max_pages > IMAGE_PAGES)
    return error_set(err, LG_EINPUT, "a program has more than %d pages",
                     IMAGE_PAGES);
  *ret = (struct image){.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
  if (!ret->handle)
    return error_set(err, LG_EHARNESS, "cannot load %s: %s", path, dlerror());
  int rc = find_parts(ret, path, max_pages, err);
  if (rc < 0)
    image_close(ret);
  return rc;
}

void image_close(struct image *im)
{
  debug_close(&im->debug);
  if (im->pool_room)
    munmap(im->pool_room, im->room_pages * IMAGE_NAMED);
  if (im->saved_pool && im->saved_pool != MAP_FAILED)
    munmap(im->saved_pool, im->room_pages * IMAGE_NAMED);
  free(im->saved_data);
  free(im->data_cell);
  free(im->pool_cell);
  free(im->page_cell);
  if (im->handle)
    dlclose(im->handle);
  *im = (struct image){0};
}

void *image_function(const struct image *im, const char *name)
{
  return dlsym(im->handle, name);
}

void image_reset(struct image *im, int pages)
{
  // The state as loaded is kept behind the back of save and restore.
  if (!im->pages) {
    size_t data = im->data_high - im->data_low;
    im->saved_data = xreallocarray(im->saved_data, 2, data);
    memcpy(im->saved_data + data, (void *)im->data_low, data);
  }
  size_t data = im->data_high - im->data_low;
  memcpy((void *)im->data_low, im->saved_data + data, data);
  im->pages = pages;
  im->pool = im->pool_top - (size_t)pages * IMAGE_NAMED;
  memset(im->page, 0, sizeof im->page);
  memset(im->pool, 0, (size_t)pages * IMAGE_NAMED);
  im->changed_count = 0;
  for (int i = 0; i < im->end_slots; i++)
    *(uintptr_t *)im->end_slot[i] =
        (uintptr_t)im->pool + (uintptr_t)im->end_plus[i];
}

void image_save(struct image *im)
{
  size_t bytes = (size_t)im->pages * IMAGE_NAMED;
  memcpy(im->saved_data, (void *)im->data_low, im->data_high - im->data_low);
  memcpy(im->saved_pool, im->pool, bytes);
  for (int i = 0; i < im->pages; i++)
    im->page[i].changed = false;
  im->changed_count = 0;
  memcpy(im->saved_page, im->page, sizeof im->page);
}

void image_restore(struct image *im)
{
  memcpy((void *)im->data_low, im->saved_data, im->data_high - im->data_low);
  for (int i = 0; i < im->changed_count; i++) {
    int p = im->changed[i];
    bool whole = im->saved_page[p].whole;
    memcpy(image_page_at(im, p), im->saved_pool + (size_t)p * IMAGE_NAMED,
           whole ? IMAGE_NAMED : IMAGE_HEAD);
    im->page[p] = im->saved_page[p];
  }
  im->changed_count = 0;
}

void image_fill(struct image *im, int page, int byte)
{
  image_touch(im, page);
  memset(image_page_at(im, page), byte, IMAGE_HEAD);
  im->page[page].junk = (uint8_t)byte;
  im->page[page].whole = false;
}

void image_make_whole(struct image *im, int page)
{
  struct image_page *p = &im->page[page];
  if (p->whole)
    return;
  image_touch(im, page);
  memset(image_page_at(im, page) + IMAGE_HEAD, p->junk,
         IMAGE_NAMED - IMAGE_HEAD);
  p->whole = true;
}

int image_last_byte(const struct image *im, int page)
{
  const struct image_page *p = &im->page[page];
  return p->whole ? (uint8_t)image_page_at(im, page)[IMAGE_NAMED - 1] : p->junk;
}

struct hb_cell *image_cell(const struct image *im, const void *addr)
{
  uintptr_t a = (uintptr_t)addr;
  if (a - im->data_low < im->data_high - im->data_low)
    return &im->data_cell[(a - im->data_low) / 8];
  if (image_page_of(im, addr) >= 0)
    return &im->pool_cell[(a - (uintptr_t)im->pool) / 8];
  return NULL;
}

bool image_has(const struct image *im, const void *addr, size_t bytes,
               bool write)
{
  uintptr_t a = (uintptr_t)addr;
  uintptr_t low = write ? im->data_low : im->low;
  return a >= low && a < im->high && bytes <= im->high - a;
}
