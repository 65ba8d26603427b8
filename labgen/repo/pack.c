// Writes packs from objects that are deflated already. libgit2's own writer
// compresses and looks for deltas anew each time, which for a thousand nearly
// equal repositories is most of the work. No deltas are made.
#include "labgen/repo/pack.h"

#include <nettle/sha1.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/base/file.h"

#define HEADER_BYTES 12
#define LARGEST_PACK 0x7fffffffu  // beyond it the index needs longer offsets

static void add32(struct buf *b, uint32_t value)
{
  unsigned char bytes[4] = {value >> 24, value >> 16, value >> 8, value};
  buf_add(b, bytes, sizeof(bytes));
}

// An entry's header: 3 bits of type and the size, 4 bits and then 7 bits a
// byte, lowest first; the top bit says that more follow. At most 10 bytes.
static size_t entry_header(int type, size_t len, unsigned char *ret)
{
  size_t n = 0;
  unsigned char byte = (unsigned char)(type << 4 | (len & 15));
  for (len >>= 4; len; len >>= 7) {
    ret[n++] = byte | 0x80;
    byte = len & 0x7f;
  }
  ret[n++] = byte;
  return n;
}

uint32_t pack_entry_crc(int type, size_t len, const void *deflated,
                        size_t deflated_len)
{
  unsigned char header[10];
  size_t n = entry_header(type, len, header);
  uLong crc = crc32(0, header, (uInt)n);
  return (uint32_t)crc32(crc, deflated, (uInt)deflated_len);
}

static void add_sha1(struct buf *b)
{
  unsigned char digest[SHA1_DIGEST_SIZE];
  struct sha1_ctx sha;
  sha1_init(&sha);
  sha1_update(&sha, b->len, (const uint8_t *)b->data);
  sha1_digest(&sha, sizeof(digest), digest);
  buf_add(b, digest, sizeof(digest));
}

static void fill_pack(struct buf *pack, const struct object *objects,
                      size_t count, uint32_t *ret_offsets)
{
  buf_adds(pack, "PACK");
  add32(pack, 2);
  add32(pack, (uint32_t)count);
  for (size_t i = 0; i < count; i++) {
    unsigned char header[10];
    size_t n = entry_header(objects[i].type, objects[i].len, header);
    ret_offsets[i] = (uint32_t)pack->len;
    buf_add(pack, header, n);
    buf_add(pack, objects[i].deflated, objects[i].deflated_len);
  }
  add_sha1(pack);
}

static void fill_index(struct buf *idx, const struct buf *pack,
                       const struct object *objects, size_t count,
                       const uint32_t *offsets)
{
  buf_add(idx, "\377tOc", 4);
  add32(idx, 2);
  for (size_t first = 0, n = 0; first < 256; first++) {
    while (n < count && objects[n].id.bytes[0] <= first)
      n++;
    add32(idx, (uint32_t)n);
  }
  for (size_t i = 0; i < count; i++)
    buf_add(idx, objects[i].id.bytes, sizeof(objects[i].id.bytes));
  for (size_t i = 0; i < count; i++)
    add32(idx, objects[i].crc);
  for (size_t i = 0; i < count; i++)
    add32(idx, offsets[i]);
  buf_add(idx, pack->data + pack->len - SHA1_DIGEST_SIZE, SHA1_DIGEST_SIZE);
  add_sha1(idx);
}

// The pack's name: SHA-1 of the objects' names.
static void name_pack(const struct object *objects, size_t count, char *ret)
{
  struct object_id name;
  struct sha1_ctx sha;
  sha1_init(&sha);
  for (size_t i = 0; i < count; i++)
    sha1_update(&sha, sizeof(objects[i].id.bytes), objects[i].id.bytes);
  sha1_digest(&sha, sizeof(name.bytes), name.bytes);
  object_hex(&name, ret);
}

int pack_write(const char *folder, const struct object *objects, size_t count,
               struct error *err)
{
  struct buf pack = BUF_INIT, idx = BUF_INIT;
  uint32_t *offsets = xcalloc(count + 1, sizeof(*offsets));
  char name[OBJECT_HEX_BYTES];
  size_t total = HEADER_BYTES + SHA1_DIGEST_SIZE;
  int rc = 0;
  for (size_t i = 0; i < count; i++)
    total += 10 + objects[i].deflated_len;
  if (total > LARGEST_PACK) {
    rc = error_set(err, LG_ELIMIT, "%s: a repository would be over 2 GiB",
                   folder);
    goto out;
  }
  fill_pack(&pack, objects, count, offsets);
  fill_index(&idx, &pack, objects, count, offsets);
  name_pack(objects, count, name);
  char *pack_path = xasprintf("%s/pack-%s.pack", folder, name);
  char *idx_path = xasprintf("%s/pack-%s.idx", folder, name);
  rc = file_write(pack_path, pack.data, pack.len, 0444, err);
  if (rc == 0)
    rc = file_write(idx_path, idx.data, idx.len, 0444, err);
  free(pack_path);
  free(idx_path);
out:
  buf_release(&pack);
  buf_release(&idx);
  free(offsets);
  return rc;
}
