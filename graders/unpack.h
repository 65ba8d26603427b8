// Archives of strangers, unpacked without harm.
#ifndef GRADERS_UNPACK_H
#define GRADERS_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#include "labgen/base/error.h"

// How much may come out of an archive.
struct unpack_limits {
  size_t entries, depth;
  uint64_t bytes;
  // More than `free_bytes` must not be more than `ratio` times as large as the
  // archive.
  uint64_t ratio, free_bytes;
};

extern const struct unpack_limits unpack_one;    // one submission
extern const struct unpack_limits unpack_class;  // a class's submissions

// Unpacks a .tar (plain, or through gzip, xz, zstd, bzip2) or .zip into the
// folder `to`, which is made: regular files and folders, with no owner, mode
// or time of the archive's. LG_EREFUSED, with the entry's name escaped, for
// links, devices, absolute and ".." paths, control characters, the same file
// twice, more than the limits, and archives that are cut short or damaged;
// LG_EIO, LG_ENOTFOUND. On failure `to` may hold some of it.
int unpack(const char *archive, const char *to,
           const struct unpack_limits *limits, struct error *err);

#endif
