// A git object database in memory. libgit2 makes trees and commits; a backend
// of ours keeps what it writes, deflated once, so that a thousand repositories
// with the same files cost one compression. Nothing here touches the disk.
#include "labgen/repo/objects.h"

#include <git2/sys/odb_backend.h>
#include <git2/sys/repository.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/repo/internal.h"
#include "labgen/repo/pack.h"

struct entry {
  git_oid id;
  int type;
  size_t len;
  unsigned char *bytes;     // owned
  unsigned char *deflated;  // owned; NULL until it is asked for
  size_t deflated_len;
  uint32_t crc;
};

struct objects {
  git_odb_backend backend;  // first, since libgit2 hands us its address
  git_odb *odb;
  git_repository *repo;
  struct entry *entries;  // in the order of making
  size_t count, room;
  // Open addressing: index into entries plus 1, or 0. Entries are only ever
  // taken out newest first, so no probe run is broken by that.
  size_t *slots;
  size_t slot_count;  // a power of two, more than twice `count`
};

void object_hex(const struct object_id *id, char *ret)
{
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < sizeof(id->bytes); i++) {
    ret[2 * i] = digits[id->bytes[i] >> 4];
    ret[2 * i + 1] = digits[id->bytes[i] & 15];
  }
  ret[2 * sizeof(id->bytes)] = '\0';
}

// --- the table -------------------------------------------------------------

static size_t *slot_of(const struct objects *o, const git_oid *id)
{
  size_t hash;
  memcpy(&hash, id->id, sizeof(hash));
  for (size_t i = hash;; i++) {
    size_t *slot = &o->slots[i & (o->slot_count - 1)];
    if (!*slot || git_oid_equal(&o->entries[*slot - 1].id, id))
      return slot;
  }
}

static struct entry *find(const struct objects *o, const git_oid *id)
{
  size_t at = *slot_of(o, id);
  return at ? &o->entries[at - 1] : NULL;
}

static void make_slots(struct objects *o, size_t slot_count)
{
  free(o->slots);
  o->slots = xcalloc(slot_count, sizeof(*o->slots));
  o->slot_count = slot_count;
  for (size_t i = 0; i < o->count; i++)
    *slot_of(o, &o->entries[i].id) = i + 1;
}

static void add(struct objects *o, const git_oid *id, const void *bytes,
                size_t len, int type)
{
  if (find(o, id))
    return;
  if (2 * (o->count + 1) >= o->slot_count)
    make_slots(o, 2 * o->slot_count);
  GROW(o->entries, o->count, o->room);
  struct entry *e = &o->entries[o->count];
  // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): never NULL with room
  *e = (struct entry){.id = *id, .type = type, .len = len};
  e->bytes = xmalloc(len + 1);
  if (len)
    memcpy(e->bytes, bytes, len);
  *slot_of(o, id) = ++o->count;
}

size_t objects_mark(const struct objects *o)
{
  return o->count;
}

void objects_rollback(struct objects *o, size_t mark)
{
  while (o->count > mark) {
    struct entry *e = &o->entries[o->count - 1];
    *slot_of(o, &e->id) = 0;
    free(e->bytes);
    free(e->deflated);
    o->count--;
  }
}

// --- the backend -----------------------------------------------------------

static int backend_read(void **ret, size_t *ret_len, git_object_t *ret_type,
                        git_odb_backend *backend, const git_oid *id)
{
  struct entry *e = find((struct objects *)backend, id);
  if (!e)
    return GIT_ENOTFOUND;
  *ret = git_odb_backend_data_alloc(backend, e->len + 1);
  if (!*ret)
    return GIT_ERROR;
  memcpy(*ret, e->bytes, e->len);
  ((char *)*ret)[e->len] = '\0';
  *ret_len = e->len;
  *ret_type = (git_object_t)e->type;
  return 0;
}

static int backend_read_header(size_t *ret_len, git_object_t *ret_type,
                               git_odb_backend *backend, const git_oid *id)
{
  struct entry *e = find((struct objects *)backend, id);
  if (!e)
    return GIT_ENOTFOUND;
  *ret_len = e->len;
  *ret_type = (git_object_t)e->type;
  return 0;
}

static int backend_write(git_odb_backend *backend, const git_oid *id,
                         const void *bytes, size_t len, git_object_t type)
{
  add((struct objects *)backend, id, bytes, len, (int)type);
  return 0;
}

static int backend_exists(git_odb_backend *backend, const git_oid *id)
{
  return find((struct objects *)backend, id) != NULL;
}

static void backend_free(git_odb_backend *backend)
{
  (void)backend;  // objects_close() frees it
}

int objects_open(struct objects **ret, struct error *err)
{
  struct objects *o = xcalloc(1, sizeof(*o));
  int rc = git_libgit2_init() < 0 ? git_failed(err, LG_EHARNESS, "libgit2") : 0;
  // What is rolled back must not live on in libgit2's own memory.
  git_libgit2_opts(GIT_OPT_ENABLE_CACHING, 0);
  git_odb_init_backend(&o->backend, GIT_ODB_BACKEND_VERSION);
  o->backend.read = backend_read;
  o->backend.read_header = backend_read_header;
  o->backend.write = backend_write;
  o->backend.exists = backend_exists;
  o->backend.free = backend_free;
  make_slots(o, 1024);
  if (rc == 0 &&
      (git_odb_new(&o->odb) || git_odb_add_backend(o->odb, &o->backend, 1) ||
       git_repository_wrap_odb(&o->repo, o->odb)))
    rc = git_failed(err, LG_EHARNESS, "objects in memory");
  if (rc)
    objects_close(o);
  else
    *ret = o;
  return rc;
}

void objects_close(struct objects *o)
{
  if (!o)
    return;
  git_repository_free(o->repo);
  git_odb_free(o->odb);
  objects_rollback(o, 0);
  free(o->entries);
  free(o->slots);
  free(o);
  git_libgit2_shutdown();
}

// --- commits ---------------------------------------------------------------

// Puts the tree's files into a git index, and their bytes into the store.
static int fill_index(struct objects *o, const struct tree *tree,
                      git_index *index)
{
  for (size_t i = 0; i < tree->count; i++) {
    struct tree_file *f = &tree->files[i];
    struct content *c = f->content;
    git_oid id;
    if (c->has_id)
      memcpy(id.id, c->id, sizeof(c->id));
    else if (git_odb_hash(&id, c->bytes, c->len, GIT_OBJECT_BLOB))
      return GIT_ERROR;
    memcpy(c->id, id.id, sizeof(c->id));
    c->has_id = true;
    add(o, &id, c->bytes, c->len, GIT_OBJECT_BLOB);
    git_index_entry entry = {.path = f->path, .id = id};
    entry.mode =
        f->executable ? GIT_FILEMODE_BLOB_EXECUTABLE : GIT_FILEMODE_BLOB;
    if (git_index_add(index, &entry))
      return GIT_ERROR;
  }
  return 0;
}

int objects_write_tree(struct objects *o, const struct tree *tree, git_oid *ret)
{
  git_index *index = NULL;
  int rc = git_index_new(&index);
  if (rc == 0)
    rc = fill_index(o, tree, index);
  if (rc == 0)
    rc = git_index_write_tree_to(ret, index, o->repo);
  git_index_free(index);
  return rc;
}

git_repository *objects_repository(struct objects *o)
{
  return o->repo;
}

static int write_commit(struct objects *o, const git_oid *tree_id,
                        const struct object_id *parent,
                        const struct commit_words *words, git_oid *ret)
{
  git_signature *who = NULL;
  git_tree *tree = NULL;
  git_commit *before = NULL;
  git_oid parent_id = {0};
  struct buf message = BUF_INIT;
  buf_adds(&message, words->message);
  if (message.len == 0 || message.data[message.len - 1] != '\n')
    buf_addc(&message, '\n');
  int rc = git_signature_new(&who, words->author, words->email,
                             words->date.seconds, words->date.offset_minutes);
  if (rc == 0)
    rc = git_tree_lookup(&tree, o->repo, tree_id);
  if (rc == 0 && parent) {
    memcpy(parent_id.id, parent->bytes, sizeof(parent->bytes));
    rc = git_commit_lookup(&before, o->repo, &parent_id);
  }
  if (rc == 0) {
    const git_commit *parents[] = {before};
    rc = git_commit_create(ret, o->repo, NULL, who, who, NULL,
                           buf_str(&message), tree, parent ? 1 : 0, parents);
  }
  git_signature_free(who);
  git_tree_free(tree);
  git_commit_free(before);
  buf_release(&message);
  return rc;
}

int objects_commit(struct objects *o, const struct tree *tree,
                   const struct object_id *parent,
                   const struct commit_words *words, struct object_id *ret,
                   struct error *err)
{
  git_oid tree_id, id;
  int rc = objects_write_tree(o, tree, &tree_id);
  if (rc == 0)
    rc = write_commit(o, &tree_id, parent, words, &id);
  if (rc)
    return git_failed(err, LG_EHARNESS, "making a commit");
  memcpy(ret->bytes, id.id, sizeof(ret->bytes));
  return 0;
}

int objects_write_index(struct objects *o, const struct tree *tree,
                        const char *path, struct error *err)
{
  git_index *index = NULL;
  int rc = git_index_open(&index, path);
  if (rc == 0)
    rc = fill_index(o, tree, index);
  if (rc == 0)
    rc = git_index_write(index);
  if (rc)
    rc = git_failed(err, LG_EIO, path);
  git_index_free(index);
  return rc;
}

// --- what can be reached ---------------------------------------------------

struct walk {
  struct objects *o;
  bool *seen;       // for each entry
  size_t *pending;  // entries to look into
  size_t pending_count, pending_room;
  size_t found;
};

static int visit(struct walk *w, const unsigned char *raw_id, struct error *err)
{
  git_oid id;
  memcpy(id.id, raw_id, sizeof(id.id));
  struct entry *e = find(w->o, &id);
  if (!e) {
    char hex[GIT_OID_HEXSZ + 1];
    return error_set(err, LG_EHARNESS, "object %s is missing",
                     git_oid_tostr(hex, sizeof(hex), &id));
  }
  size_t at = (size_t)(e - w->o->entries);
  if (w->seen[at])
    return 0;
  w->seen[at] = true;
  w->found++;
  GROW(w->pending, w->pending_count, w->pending_room);
  w->pending[w->pending_count++] = at;
  return 0;
}

static int visit_tree(struct walk *w, const struct entry *e, struct error *err)
{
  // "MODE NAME", a NUL, 20 bytes of id; again and again (git's tree format).
  const unsigned char *p = e->bytes, *end = e->bytes + e->len;
  while (p < end) {
    const unsigned char *nul = memchr(p, '\0', (size_t)(end - p));
    int rc = visit(w, nul + 1, err);
    if (rc)
      return rc;
    p = nul + 1 + GIT_OID_RAWSZ;
  }
  return 0;
}

// A commit's text begins with lines "tree ID" and "parent ID".
static int visit_commit(struct walk *w, const struct entry *e,
                        struct error *err)
{
  const char *p = (const char *)e->bytes;
  for (;;) {
    size_t skip = strncmp(p, "tree ", 5) == 0     ? 5
                  : strncmp(p, "parent ", 7) == 0 ? 7
                                                  : 0;
    git_oid id;
    if (!skip)
      return 0;
    if (git_oid_fromstrn(&id, p + skip, GIT_OID_HEXSZ))
      return git_failed(err, LG_EHARNESS, "reading a commit");
    int rc = visit(w, id.id, err);
    if (rc)
      return rc;
    p += skip + GIT_OID_HEXSZ + 1;
  }
}

// Compresses an entry once, at the highest level: it goes into every pack.
static void deflate_entry(struct entry *e)
{
  if (e->deflated)
    return;
  uLongf len = compressBound(e->len);
  e->deflated = xmalloc(len);
  if (compress2(e->deflated, &len, e->bytes, e->len, Z_BEST_COMPRESSION))
    abort();  // only for want of memory or room, and there is room
  e->deflated = xreallocarray(e->deflated, len, 1);
  e->deflated_len = len;
  e->crc = pack_entry_crc(e->type, e->len, e->deflated, e->deflated_len);
}

static int by_id(const void *a, const void *b)
{
  const struct object *x = a, *y = b;
  return memcmp(x->id.bytes, y->id.bytes, sizeof(x->id.bytes));
}

int objects_reach(struct objects *o, const struct object_id *commits,
                  size_t count, struct object **ret, size_t *ret_count,
                  struct error *err)
{
  struct walk w = {.o = o, .seen = xcalloc(o->count + 1, sizeof(bool))};
  int rc = 0;
  for (size_t i = 0; i < count && rc == 0; i++)
    rc = visit(&w, commits[i].bytes, err);
  while (rc == 0 && w.pending_count) {
    struct entry *e = &o->entries[w.pending[--w.pending_count]];
    if (e->type == GIT_OBJECT_TREE)
      rc = visit_tree(&w, e, err);
    else if (e->type == GIT_OBJECT_COMMIT)
      rc = visit_commit(&w, e, err);
  }
  if (rc == 0) {
    struct object *all = xcalloc(w.found + 1, sizeof(*all));
    size_t n = 0;
    for (size_t i = 0; i < o->count; i++) {
      struct entry *e = &o->entries[i];
      if (!w.seen[i])
        continue;
      deflate_entry(e);
      all[n] = (struct object){.type = e->type,
                               .bytes = e->bytes,
                               .len = e->len,
                               .deflated = e->deflated,
                               .deflated_len = e->deflated_len,
                               .crc = e->crc};
      memcpy(all[n++].id.bytes, e->id.id, sizeof(all->id.bytes));
    }
    qsort(all, n, sizeof(*all), by_id);
    *ret = all;
    *ret_count = n;
  }
  free(w.seen);
  free(w.pending);
  return rc;
}
