// Pictures of a kernel's evidence, as SVG within HTML.
#ifndef GRADERS_PICTURE_H
#define GRADERS_PICTURE_H

#include <jansson.h>

#include "labgen/base/buf.h"

// Lock traffic, as the plugin counted it from outside: for each lock whose name
// ends in a number, a bar with the acquisitions by the CPU of that number and by
// others, and how many had to wait; and the same for the lock that is named
// `stem` alone, which all CPUs share. `evidence` is what record_evidence() made;
// nothing is added when it has none. With an `id`, picture_locks_again() can
// show the same without holding it.
void picture_locks(const json_t *evidence, const char *stem, const char *id,
                   const char *caption, struct buf *ret);
void picture_locks_again(const json_t *evidence, const char *stem,
                         const char *id, const char *caption, struct buf *ret);

// What the numbered locks' names have in common, "" when there are none; cut to
// `size` bytes. Returns its length.
size_t picture_stem(const json_t *evidence, char *ret, size_t size);

// Free pages: the counts that each Ctrl-P printed, a column for each, stacked by
// list. As the kernel under test printed them, so not to be trusted.
void picture_free_pages(const json_t *evidence, struct buf *ret);

#endif
