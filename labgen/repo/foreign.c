// Reads repositories of strangers. libgit2 gets a store of objects and no
// repository, so that it opens none of the files that say what to run or where
// else to look. Nothing is ever written.
#include "labgen/repo/foreign.h"

#include <ctype.h>
#include <git2/sys/repository.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/base/file.h"
#include "labgen/repo/internal.h"

#define TREE_MAX_ENTRIES 4000
#define TREE_MAX_DEPTH 16
#define FOLDER_MAX_BYTES (2u << 20)  // 4,000 names of 500 bytes
#define FILE_MAX_BYTES (8u << 20)
#define TREE_MAX_BYTES (64u << 20)
#define REFS_MAX_BYTES (4u << 20)
#define MAX_COMMITS 5000
#define HISTORY_MAX_BYTES \
  (64u << 20)  // of these commits and their root folders

struct foreign {
  char *dir;  // owned
  git_odb *odb;
  git_repository *repo;  // round the store alone: it has no folder
  char *head;            // owned; a branch, or ""
  struct buf packed;     // packed-refs
};

// --- what must not be there -------------------------------------------------

// Files of a git folder that would run programs or lead elsewhere:
//   path, or its beginning when it ends in '/'; why it is refused
static const struct {
  const char *path, *why;
} banned[] = {
    {"hooks/", "a hook, which git would run"},
    {"objects/info/alternates", "it takes objects from another folder"},
    {"objects/info/http-alternates", "it takes objects from elsewhere"},
    {"commondir", "it is part of another repository"},
    {"gitdir", "it points to another folder"},
    {"modules/", "a submodule"},
    {"worktrees/", "it belongs to several working folders"},
};

// Keys of git's configuration that run programs or read other files:
//   section, key; NULL: any
static const struct {
  const char *section, *key;
} banned_keys[] = {
    {"include", NULL},
    {"includeif", NULL},
    {"filter", NULL},
    {"diff", "command"},
    {"diff", "textconv"},
    {"diff", "external"},
    {"merge", "driver"},
    {"core", "worktree"},
    {"core", "hookspath"},
    {"core", "fsmonitor"},
    {"core", "sshcommand"},
    {"core", "attributesfile"},
    {"core", "gitproxy"},
    {"core", "editor"},
    {"core", "pager"},
    {"core", "askpass"},
    {"credential", NULL},
    {"submodule", NULL},
    {"gpg", "program"},
    {"uploadpack", NULL},
    {"interactive", NULL},
    {"sequence", "editor"},
    {"difftool", NULL},
    {"mergetool", NULL},
    {"alias", NULL},
    {"pager", NULL},
    {"protocol", NULL},
    {"extensions", "partialclone"},
    {"extensions", "worktreeconfig"},
};

static bool is_banned_key(const char *section, const char *key)
{
  for (size_t i = 0; i < sizeof(banned_keys) / sizeof(banned_keys[0]); i++)
    if (strcasecmp(banned_keys[i].section, section) == 0 &&
        (!banned_keys[i].key || strcasecmp(banned_keys[i].key, key) == 0))
      return true;
  return false;
}

static size_t word(const char *s)
{
  size_t n = 0;
  while (isalnum((unsigned char)s[n]) || s[n] == '-')
    n++;
  return n;
}

// Looks at sections and keys, wherever a line could be taken to begin one: a
// key on the line of its section, and one behind a value that goes on.
static int check_config(const char *path, const char *text, struct error *err)
{
  char section[64] = "", key[64];
  int rc = 0;
  size_t line = 1;
  for (const char *p = text; *p && rc == 0; line++) {
    const char *end = p + strcspn(p, "\n");
    p += strspn(p, " \t\r");
    while (*p == '[') {
      size_t n = word(p + 1);
      snprintf(section, sizeof(section), "%.*s", (int)n, p + 1);
      while (p < end && *p != ']')
        p++;
      p += p < end;
      p += strspn(p, " \t\r");
    }
    snprintf(key, sizeof(key), "%.*s", (int)word(p), p);
    if (is_banned_key(section, key))
      rc = error_at(err, LG_EREFUSED, path, line, 0,
                    "'%s.%s' can make git run a program or read other files; "
                    "hand in a fresh clone",
                    section, key);
    p = *end ? end + 1 : end;
  }
  return rc;
}

static int look_at_file(void *arg, const char *path, struct error *err)
{
  const struct foreign *f = arg;
  size_t len = strlen(path);
  if (len > 7 && strcmp(path + len - 7, ".sample") == 0)
    return 0;
  for (size_t i = 0; i < sizeof(banned) / sizeof(banned[0]); i++) {
    size_t n = strlen(banned[i].path);
    bool folder = banned[i].path[n - 1] == '/';
    if (folder ? strncmp(path, banned[i].path, n) == 0
               : strcmp(path, banned[i].path) == 0)
      return error_set(err, LG_EREFUSED,
                       "%s/%s: %s; remove it, or hand in a fresh clone", f->dir,
                       path, banned[i].why);
  }
  if (strcmp(path, "config") != 0 && strcmp(path, "config.worktree") != 0)
    return 0;
  struct buf text = BUF_INIT;
  char *whole = path_join(f->dir, path);
  int rc = file_read(whole, REFS_MAX_BYTES, &text, err);
  if (rc == 0 && memchr(text.data, '\0', text.len))
    rc = error_set(err, LG_EREFUSED, "%s: it holds NUL bytes", whole);
  rc = rc ? rc : check_config(whole, buf_str(&text), err);
  buf_release(&text);
  free(whole);
  return rc;
}

// --- branches ---------------------------------------------------------------

// Reads a small text file of the git folder; "" when it is not there.
static void read_text(const struct foreign *f, const char *name,
                      struct buf *ret)
{
  char *path = path_join(f->dir, name);
  if (file_read(path, REFS_MAX_BYTES, ret, NULL))
    buf_truncate(ret, 0);
  free(path);
}

static bool parse_id(const char *hex, struct object_id *ret)
{
  git_oid id;
  for (size_t i = 0; i < GIT_OID_HEXSZ; i++)
    if (!isxdigit((unsigned char)hex[i]))
      return false;
  if (git_oid_fromstrn(&id, hex, GIT_OID_HEXSZ))
    return false;
  memcpy(ret->bytes, id.id, sizeof(ret->bytes));
  return true;
}

// Lines of packed-refs are "ID NAME".
static bool find_packed(const struct foreign *f, const char *name,
                        struct object_id *ret)
{
  size_t len = strlen(name);
  for (const char *p = buf_str(&f->packed); *p;) {
    size_t line = strcspn(p, "\r\n");
    if (line == GIT_OID_HEXSZ + 1 + len && p[GIT_OID_HEXSZ] == ' ' &&
        memcmp(p + GIT_OID_HEXSZ + 1, name, len) == 0)
      return parse_id(p, ret);
    p += line;
    p += strspn(p, "\r\n");
  }
  return false;
}

// The commit that a reference names, in a file of its own or packed.
static bool find_reference(const struct foreign *f, const char *name,
                           struct object_id *ret)
{
  struct buf text = BUF_INIT;
  bool found = false;
  if (tree_path_ok(name)) {
    read_text(f, name, &text);
    found = parse_id(buf_str(&text), ret) || find_packed(f, name, ret);
  }
  buf_release(&text);
  return found;
}

bool foreign_commit(const struct foreign *f, const char *branch,
                    struct object_id *ret)
{
  static const char *const places[] = {"refs/heads/", "refs/remotes/origin/"};
  if (!branch && !*f->head)
    return find_reference(f, "HEAD", ret);
  for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
    char *name = xasprintf("%s%s", places[i], branch ? branch : f->head);
    bool found = find_reference(f, name, ret);
    free(name);
    if (found)
      return true;
  }
  return false;
}

const char *foreign_head(const struct foreign *f)
{
  return f->head;
}

static void read_head(struct foreign *f)
{
  static const char before[] = "ref: refs/heads/";
  struct buf text = BUF_INIT;
  read_text(f, "HEAD", &text);
  if (strncmp(buf_str(&text), before, sizeof(before) - 1) == 0) {
    const char *name = text.data + sizeof(before) - 1;
    f->head = xstrndup(name, strcspn(name, " \r\n"));
  } else {
    f->head = xstrdup("");
  }
  buf_release(&text);
}

int foreign_open(const char *git_dir, struct foreign **ret, struct error *err)
{
  struct foreign *f = xcalloc(1, sizeof(*f));
  char *objects = path_join(git_dir, "objects");
  struct stat st;
  git_libgit2_init();
  f->dir = xstrdup(git_dir);
  int rc = file_walk(git_dir, look_at_file, f, err);
  if (rc == 0 && (lstat(objects, &st) != 0 || !S_ISDIR(st.st_mode)))
    rc = error_set(err, LG_EREFUSED, "%s is no git repository", git_dir);
  read_head(f);
  read_text(f, "packed-refs", &f->packed);
  // Alternates are what git_odb_open() would follow; this does not.
  if (rc == 0 &&
      (git_odb_new(&f->odb) || git_odb_add_disk_alternate(f->odb, objects) ||
       git_repository_wrap_odb(&f->repo, f->odb)))
    rc = git_failed(err, LG_EREFUSED, git_dir);
  free(objects);
  if (rc)
    foreign_close(f);
  else
    *ret = f;
  return rc;
}

void foreign_close(struct foreign *f)
{
  if (!f)
    return;
  git_repository_free(f->repo);
  git_odb_free(f->odb);
  free(f->dir);
  free(f->head);
  buf_release(&f->packed);
  free(f);
  git_libgit2_shutdown();
}

// --- trees ------------------------------------------------------------------

struct reading {
  struct foreign *f;
  struct tree tree;
  size_t entries, bytes;
  struct error *err;
};

static int add_blob(struct reading *r, const char *path,
                    const git_tree_entry *entry)
{
  git_odb_object *object = NULL;
  git_object_t type = GIT_OBJECT_INVALID;
  size_t len = 0;
  const git_oid *id = git_tree_entry_id(entry);
  if (tree_path_is_residue(path))
    return 0;
  if (git_odb_read_header(&len, &type, r->f->odb, id) ||
      type != GIT_OBJECT_BLOB)
    return git_failed(r->err, LG_EREFUSED, path);
  if (len > FILE_MAX_BYTES || r->bytes + len > TREE_MAX_BYTES)
    return error_set(r->err, LG_EREFUSED,
                     "%s: more than 8 MiB, or all files more than 64 MiB",
                     path);
  if (git_odb_read(&object, r->f->odb, id))
    return git_failed(r->err, LG_EREFUSED, path);
  r->bytes += len;
  int rc = tree_put(
      &r->tree, path, git_odb_object_data(object), git_odb_object_size(object),
      git_tree_entry_filemode(entry) == GIT_FILEMODE_BLOB_EXECUTABLE, r->err);
  git_odb_object_free(object);
  return rc ? LG_EREFUSED : 0;
}

// A tree's size is looked at before the tree: deltas can make it any. Adds the
// size to *bytes.
static int lookup_tree(struct foreign *f, const char *path, const git_oid *id,
                       git_tree **ret, size_t *bytes, struct error *err)
{
  git_object_t type = GIT_OBJECT_INVALID;
  size_t len = 0;
  if (git_odb_read_header(&len, &type, f->odb, id) || type != GIT_OBJECT_TREE)
    return git_failed(err, LG_EREFUSED, path);
  if (len > FOLDER_MAX_BYTES)
    return error_set(err, LG_EREFUSED,
                     "%s: a folder whose list alone has more than 2 MiB", path);
  *bytes += len;
  if (git_tree_lookup(ret, f->repo, id))
    return git_failed(err, LG_EREFUSED, path);
  return 0;
}

static int add_folder(struct reading *r, const char *prefix, const git_oid *id,
                      size_t depth)
{
  git_tree *tree = NULL;
  if (depth > TREE_MAX_DEPTH)
    return error_set(r->err, LG_EREFUSED, "%s: more than 16 folders deep",
                     prefix);
  int rc = lookup_tree(r->f, *prefix ? prefix : "the commit", id, &tree,
                       &r->bytes, r->err);
  if (rc)
    return rc;
  size_t count = git_tree_entrycount(tree);
  for (size_t i = 0; i < count && rc == 0; i++) {
    const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
    git_filemode_t mode = git_tree_entry_filemode(entry);
    char *path = xasprintf("%s%s", prefix, git_tree_entry_name(entry));
    char *below = xasprintf("%s/", path);
    if (++r->entries > TREE_MAX_ENTRIES)
      rc = error_set(r->err, LG_EREFUSED, "more than 4000 files and folders");
    else if (mode == GIT_FILEMODE_TREE)
      rc = add_folder(r, below, git_tree_entry_id(entry), depth + 1);
    else if (mode == GIT_FILEMODE_COMMIT)
      rc = error_set(r->err, LG_EREFUSED, "%s: a submodule", path);
    else if (mode == GIT_FILEMODE_LINK)
      rc = error_set(r->err, LG_EREFUSED, "%s: a symbolic link", path);
    else
      rc = add_blob(r, path, entry);
    free(path);
    free(below);
  }
  git_tree_free(tree);
  return rc;
}

static int lookup_commit(struct foreign *f, const git_oid *id, git_commit **ret,
                         size_t *bytes)
{
  git_object_t type;
  size_t len;
  if (git_odb_read_header(&len, &type, f->odb, id) ||
      type != GIT_OBJECT_COMMIT || len > FILE_MAX_BYTES)
    return -1;
  *bytes += len;
  return git_commit_lookup(ret, f->repo, id);
}

int foreign_tree(struct foreign *f, const struct object_id *commit,
                 struct tree *ret, struct error *err)
{
  struct reading r = {.f = f, .err = err};
  git_commit *top = NULL;
  git_oid id;
  memcpy(id.id, commit->bytes, sizeof(id.id));
  if (lookup_commit(f, &id, &top, &r.bytes))
    return git_failed(err, LG_EREFUSED, "its newest commit cannot be read");
  tree_copy(&r.tree, ret);
  int rc = add_folder(&r, "", git_commit_tree_id(top), 0);
  git_commit_free(top);
  if (rc) {
    tree_release(&r.tree);
    return rc;
  }
  tree_release(ret);
  *ret = r.tree;
  return 0;
}

// --- history ----------------------------------------------------------------

static bool is_but(const git_tree_entry *entry, const char *except)
{
  const char *name = git_tree_entry_name(entry);
  size_t len = strlen(name);
  return except && strncmp(name, except, len) == 0 &&
         (except[len] == '\0' || except[len] == '/');
}

// Whether two trees hold the same, but for what is at `except`.
static bool same_tree(const git_tree *a, const git_tree *b, const char *except)
{
  size_t i = 0, k = 0;
  for (;;) {
    const git_tree_entry *x = git_tree_entry_byindex(a, i);
    const git_tree_entry *y = git_tree_entry_byindex(b, k);
    if (x && is_but(x, except)) {
      i++;
    } else if (y && is_but(y, except)) {
      k++;
    } else if (!x || !y) {
      return !x && !y;
    } else if (strcmp(git_tree_entry_name(x), git_tree_entry_name(y)) != 0 ||
               git_tree_entry_filemode(x) != git_tree_entry_filemode(y) ||
               !git_oid_equal(git_tree_entry_id(x), git_tree_entry_id(y))) {
      return false;
    } else {
      i++;
      k++;
    }
  }
}

struct walk {
  struct foreign *f;
  git_tree **starts;  // NULL where it was not made
  size_t start_count;
  const char *except;
  git_oid ids[MAX_COMMITS];  // met, in the order of looking at them
  size_t count;
  size_t bytes;  // unpacked
};

static void meet(struct walk *w, const git_oid *id, struct foreign_history *h)
{
  for (size_t i = 0; i < w->count; i++)
    if (git_oid_equal(&w->ids[i], id))
      return;
  if (w->count == MAX_COMMITS)
    h->cut = true;
  else
    w->ids[w->count++] = *id;
}

static void look_at_commit(struct walk *w, git_commit *commit,
                           struct foreign_history *h)
{
  git_tree *tree = NULL;
  h->commits++;
  for (unsigned i = 0; i < git_commit_parentcount(commit); i++)
    meet(w, git_commit_parent_id(commit, i), h);
  if (lookup_tree(w->f, "", git_commit_tree_id(commit), &tree, &w->bytes, NULL))
    return;
  for (size_t i = w->start_count; i-- > 0;) {
    if (h->start != FOREIGN_NO_START && i <= h->start)
      break;
    if (same_tree(tree, w->starts[i], w->except))
      h->start = i;
  }
  git_tree_free(tree);
}

static int make_starts(struct walk *w, struct objects *o,
                       const struct tree *const *starts, size_t count,
                       struct error *err)
{
  w->starts = xcalloc(count + 1, sizeof(*w->starts));
  for (; w->start_count < count; w->start_count++) {
    git_oid id;
    if (objects_write_tree(o, starts[w->start_count], &id) ||
        git_tree_lookup(&w->starts[w->start_count], objects_repository(o), &id))
      return git_failed(err, LG_EHARNESS, "the lab's start");
  }
  return 0;
}

int foreign_history(struct foreign *f, const struct object_id *commit,
                    struct objects *o, const struct tree *const *starts,
                    size_t start_count, const char *except,
                    struct foreign_history *ret, struct error *err)
{
  struct foreign_history h = {.start = FOREIGN_NO_START};
  struct walk *w = xcalloc(1, sizeof(*w));
  w->f = f;
  w->except = except;
  int rc = make_starts(w, o, starts, start_count, err);
  git_oid first;
  memcpy(first.id, commit->bytes, sizeof(first.id));
  meet(w, &first, &h);
  for (size_t i = 0; i < w->count && rc == 0; i++) {
    git_commit *c = NULL;
    if (lookup_commit(f, &w->ids[i], &c, &w->bytes)) {
      if (i == 0)
        rc = git_failed(err, LG_EREFUSED, "its newest commit cannot be read");
      h.cut = true;
      continue;
    }
    if (i == 0) {
      h.commit_seconds = git_commit_time(c);
      h.commit_offset_minutes = git_commit_time_offset(c);
    }
    look_at_commit(w, c, &h);
    git_commit_free(c);
    if (w->bytes > HISTORY_MAX_BYTES)
      rc = error_set(err, LG_EREFUSED,
                     "its history: the newest %zu commits and their folders "
                     "alone have more than 64 MiB; hand in a clone of less "
                     "depth, or the files",
                     i + 1);
  }
  for (size_t i = 0; i < w->start_count; i++)
    git_tree_free(w->starts[i]);
  free(w->starts);
  free(w);
  if (rc == 0)
    *ret = h;
  return rc;
}
