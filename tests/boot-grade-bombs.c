// Repositories that are small on disk and huge in memory: packs whose objects
// are made by deltas of deltas. Each is refused by labgen grade with a reason,
// within its bounds, and harms no other submission.
//
// The pack and its index are written here, since git itself would unpack them.
// Formats: gitformat-pack(5).
#include <criterion/criterion.h>
#include <nettle/sha1.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zlib.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "tests/lib-exam.h"

TestSuite(bombs, .init = exam_set_up, .fini = exam_tear_down, .timeout = 300);

enum { COMMIT = 1, TREE = 2, BLOB = 3, OFS_DELTA = 6, OBJECTS = 128 };

struct id {
  unsigned char bytes[20];
};

struct pack {
  struct buf bytes;
  struct id ids[OBJECTS];
  size_t at[OBJECTS];  // offset of each object
  size_t count;
};

static struct id hash(const char *bytes, size_t len)
{
  struct sha1_ctx ctx;
  struct id id;
  sha1_init(&ctx);
  sha1_update(&ctx, len, (const uint8_t *)bytes);
  sha1_digest(&ctx, sizeof(id.bytes), id.bytes);
  return id;
}

static void add_big_endian(struct buf *b, uint32_t n)
{
  for (int shift = 24; shift >= 0; shift -= 8)
    buf_addc(b, (char)(n >> shift));
}

static void add_deflated(struct buf *b, const char *bytes, size_t len)
{
  uLongf room = compressBound(len);
  char *packed = xmalloc(room);
  cr_assert_eq(compress2((Bytef *)packed, &room, (const Bytef *)bytes, len, 9),
               Z_OK);
  buf_add(b, packed, room);
  free(packed);
}

// Type and size: four bits of the size, then seven by seven.
static void add_header(struct buf *b, int type, size_t size)
{
  unsigned c = (unsigned)(type << 4) | (size & 15);
  for (size >>= 4; size; size >>= 7) {
    buf_addc(b, (char)(c | 128));
    c = size & 127;
  }
  buf_addc(b, (char)c);
}

static struct id add_object(struct pack *p, int type, const char *bytes,
                            size_t len)
{
  static const char *const names[] = {"", "commit", "tree", "blob"};
  struct buf whole = BUF_INIT;
  buf_addf(&whole, "%s %zu", names[type], len);
  buf_addc(&whole, '\0');
  buf_add(&whole, bytes, len);
  struct id id = hash(buf_str(&whole), whole.len);
  buf_release(&whole);
  p->ids[p->count] = id;
  p->at[p->count++] = p->bytes.len;
  add_header(&p->bytes, type, len);
  add_deflated(&p->bytes, bytes, len);
  return id;
}

static void add_size(struct buf *b, uint64_t size)
{
  for (; size >= 128; size >>= 7)
    buf_addc(b, (char)(size | 128));
  buf_addc(b, (char)size);
}

// An object made of the last one (`from` bytes) by copying its first `piece`
// bytes again and again, or once. Its name is made up: who reads it finds that
// out when it is unpacked.
static struct id add_delta(struct pack *p, uint64_t from, uint32_t piece,
                           uint32_t times)
{
  struct buf delta = BUF_INIT;
  struct id id = {{(unsigned char)(0xf0 + p->count)}};
  add_size(&delta, from);
  add_size(&delta, (uint64_t)piece * times);
  for (uint32_t i = 0; i < times; i++) {
    // Copy from offset 0; three bytes of size.
    buf_addc(&delta, (char)(0x80 | 0x70));
    for (int shift = 0; shift < 24; shift += 8)
      buf_addc(&delta, (char)(piece >> shift));
  }
  size_t back = p->bytes.len - p->at[p->count - 1];
  p->ids[p->count] = id;
  p->at[p->count++] = p->bytes.len;
  add_header(&p->bytes, OFS_DELTA, delta.len);
  // The distance, seven bits a byte, the highest first; each but the last one
  // less.
  char distance[10];
  size_t n = sizeof(distance);
  distance[--n] = (char)(back & 127);
  while (back >>= 7)
    distance[--n] = (char)(128 | (--back & 127));
  buf_add(&p->bytes, distance + n, sizeof(distance) - n);
  add_deflated(&p->bytes, buf_str(&delta), delta.len);
  buf_release(&delta);
  return id;
}

static void begin(struct pack *p)
{
  *p = (struct pack){0};
  buf_add(&p->bytes, "PACK", 4);
  add_big_endian(&p->bytes, 2);
  add_big_endian(&p->bytes, 0);  // see end()
}

static void write_below(const char *folder, const char *name,
                        const struct buf *bytes)
{
  char *path = path_join(folder, name);
  cr_assert_eq(file_write(path, buf_str(bytes), bytes->len, 0644, NULL), 0);
  free(path);
}

static void add_tree_entry(struct buf *tree, const char *mode_and_name,
                           const struct id *id)
{
  buf_add(tree, mode_and_name, strlen(mode_and_name) + 1);
  buf_add(tree, (const char *)id->bytes, sizeof(id->bytes));
}

// The index, version 2: names in order with sums (which nobody looks at) and
// offsets.
static void add_index(const struct pack *p, const struct id *sum,
                      struct buf *ret)
{
  size_t order[OBJECTS];
  for (size_t i = 0; i < p->count; i++) {
    size_t k = i;
    for (; k > 0 && memcmp(p->ids[i].bytes, p->ids[order[k - 1]].bytes, 20) < 0;
         k--)
      order[k] = order[k - 1];
    order[k] = i;
  }
  buf_add(ret, "\377tOc", 4);
  add_big_endian(ret, 2);
  for (unsigned first = 0; first < 256; first++) {
    uint32_t below = 0;
    for (size_t i = 0; i < p->count; i++)
      below += p->ids[i].bytes[0] <= first;
    add_big_endian(ret, below);
  }
  for (size_t i = 0; i < p->count; i++)
    buf_add(ret, (const char *)p->ids[order[i]].bytes, 20);
  for (size_t i = 0; i < p->count; i++)
    add_big_endian(ret, 0);
  for (size_t i = 0; i < p->count; i++)
    add_big_endian(ret, (uint32_t)p->at[order[i]]);
  buf_add(ret, (const char *)sum->bytes, 20);
  struct id all = hash(buf_str(ret), ret->len);
  buf_add(ret, (const char *)all.bytes, 20);
}

// A commit; `filler` bytes of blanks are its message. `parent` may be NULL.
static struct id add_commit(struct pack *p, const struct id *tree,
                            const struct id *parent, size_t filler)
{
  struct buf commit = BUF_INIT;
  buf_adds(&commit, "tree ");
  for (int i = 0; i < 20; i++)
    buf_addf(&commit, "%02x", tree->bytes[i]);
  buf_adds(&commit, parent ? "\nparent " : "");
  for (int i = 0; parent && i < 20; i++)
    buf_addf(&commit, "%02x", parent->bytes[i]);
  buf_adds(&commit,
           "\nauthor A <a@b> 1740000000 +0000\n"
           "committer A <a@b> 1740000000 +0000\n\nm\n");
  char *blanks = xmalloc(filler + 1);
  memset(blanks, ' ', filler);
  buf_add(&commit, blanks, filler);
  struct id id = add_object(p, COMMIT, buf_str(&commit), commit.len);
  buf_release(&commit);
  free(blanks);
  return id;
}

// Hands the pack in as s0's bare repository.
static void hand_in_pack(struct pack *p, const struct id *top)
{
  struct buf index = BUF_INIT, ref = BUF_INIT;
  char *git = path_join(exam.work, "s0"), *packs;
  packs = path_join(git, "objects/pack");
  cr_assert_eq(file_mkdirs(packs, NULL), 0);
  for (int i = 0; i < 20; i++)
    buf_addf(&ref, "%02x", top->bytes[i]);
  buf_addc(&ref, '\n');
  p->bytes.data[11] = (char)p->count;
  struct id sum = hash(buf_str(&p->bytes), p->bytes.len);
  buf_add(&p->bytes, (const char *)sum.bytes, 20);
  add_index(p, &sum, &index);
  cr_assert_lt(p->bytes.len + index.len, 1u << 20, "it is no small pack");
  write_below(packs, "pack-1.pack", &p->bytes);
  write_below(packs, "pack-1.idx", &index);
  write_below(git, "HEAD", &ref);
  struct buf *const owned[] = {&index, &ref, &p->bytes};
  for (size_t i = 0; i < 3; i++)
    buf_release(owned[i]);
  free(git);
  free(packs);
}

// ... with one commit, of the tree.
static void hand_in_tree(struct pack *p, const struct id *tree)
{
  struct id top = add_commit(p, tree, NULL, 0);
  hand_in_pack(p, &top);
}

static void expect_refused(const char *why)
{
  // ASan keeps for a while what is freed.
  const long most_kib = (strstr(LABGEN_BUILD, "san") ? 1280L : 640L) << 10;
  struct rusage used;
  exam_hand_in("s1", course_reference(&exam.course));
  EXAM_RUN(1, "--only", "object");
  exam_expect_text("s0", "result.json", "\"status\": \"refused\"", true);
  exam_expect_text("s0", "result.json", why, true);
  exam_expect_verdict("s1", "object", "pass");
  getrusage(RUSAGE_CHILDREN, &used);
  cr_expect_lt(used.ru_maxrss, most_kib, "%ld KiB", used.ru_maxrss);
}

// A folder kernel/ with kalloc.c, which is the blob.
static struct id add_trees(struct pack *p, const struct id *blob)
{
  struct buf tree = BUF_INIT;
  add_tree_entry(&tree, "100644 kalloc.c", blob);
  struct id kernel = add_object(p, TREE, buf_str(&tree), tree.len);
  buf_truncate(&tree, 0);
  add_tree_entry(&tree, "40000 kernel", &kernel);
  struct id top = add_object(p, TREE, buf_str(&tree), tree.len);
  buf_release(&tree);
  return top;
}

enum { PIECE = 0xff0000, MANY = 300 };  // together 4.7 GiB

Test(bombs, a_file_that_deltas_make_huge)
{
  struct pack p;
  char *zeros = xcalloc(1, PIECE);
  begin(&p);
  add_object(&p, BLOB, zeros, PIECE);
  struct id blob = add_delta(&p, PIECE, PIECE, MANY);
  struct id top = add_trees(&p, &blob);
  hand_in_tree(&p, &top);
  expect_refused("more than 8 MiB");
  free(zeros);
}

// It looks small until it is unpacked.
Test(bombs, a_small_file_made_of_a_huge_one)
{
  struct pack p;
  char *zeros = xcalloc(1, PIECE);
  begin(&p);
  add_object(&p, BLOB, zeros, PIECE);
  add_delta(&p, PIECE, PIECE, MANY);
  struct id blob = add_delta(&p, (uint64_t)PIECE * MANY, 7, 1);
  struct id top = add_trees(&p, &blob);
  hand_in_tree(&p, &top);
  expect_refused("kernel/kalloc.c");
  free(zeros);
}

Test(bombs, a_folder_that_deltas_make_huge)
{
  struct pack p;
  struct buf tree = BUF_INIT;
  struct id blob;
  begin(&p);
  blob = add_object(&p, BLOB, "x\n", 2);
  while (tree.len < PIECE / 2)
    add_tree_entry(&tree, "100644 kalloc.c", &blob);
  size_t len = tree.len;
  add_object(&p, TREE, buf_str(&tree), len);
  struct id top = add_delta(&p, len, (uint32_t)len, MANY);
  hand_in_tree(&p, &top);
  expect_refused("folder");
  buf_release(&tree);
}

// Each of them is allowed, and they are many.
Test(bombs, a_history_of_commits_that_are_huge_together)
{
  enum { COMMITS = 100, BYTES = 7 << 20 };
  struct pack p;
  begin(&p);
  struct id blob = add_object(&p, BLOB, "x\n", 2);
  struct id tree = add_trees(&p, &blob);
  struct id top = add_commit(&p, &tree, NULL, BYTES);
  for (int i = 1; i < COMMITS; i++) {
    struct id parent = top;
    top = add_commit(&p, &tree, &parent, BYTES);
  }
  hand_in_pack(&p, &top);
  expect_refused("the newest 10 commits and their folders alone have more");
}
