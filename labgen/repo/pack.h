// Packs: git's file of many objects, and its index.
#ifndef LABGEN_REPO_PACK_H
#define LABGEN_REPO_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "labgen/base/error.h"
#include "labgen/repo/objects.h"

// The checksum (CRC-32 of zlib) of an object's entry in a pack: its header,
// then the deflated bytes.
uint32_t pack_entry_crc(int type, size_t len, const void *deflated,
                        size_t deflated_len);

// Writes FOLDER/pack-NAME.pack and .idx (pack version 2, index version 2, as in
// git's Documentation/gitformat-pack.txt) with the objects, which must be
// sorted by name and fewer than 2 GiB together. NAME is the SHA-1 of the
// sorted names, so the same objects give the same files. Nothing is synced.
// LG_EIO, LG_ELIMIT.
int pack_write(const char *folder, const struct object *objects, size_t count,
               struct error *err);

#endif
