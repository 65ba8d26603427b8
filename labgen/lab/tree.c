// Source trees in memory. Only regular files exist here: links and devices
// are refused where trees come from, and empty folders are not kept.
#include "labgen/lab/tree.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

#define FILE_MAX_BYTES (16u << 20)
#define PATH_MAX_BYTES 240

static bool part_ok(const char *part, size_t len)
{
  if (len == 0 || (len == 1 && part[0] == '.') ||
      (len == 2 && part[0] == '.' && part[1] == '.'))
    return false;
  return !(len == 4 && strncasecmp(part, ".git", 4) == 0);
}

bool tree_path_ok(const char *path)
{
  size_t len = strlen(path);
  if (len == 0 || len > PATH_MAX_BYTES)
    return false;
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)path[i];
    if (c < 0x20 || c == 0x7f || c == '\\')
      return false;
  }
  for (const char *part = path;;) {
    size_t n = strcspn(part, "/");
    if (!part_ok(part, n))
      return false;
    if (!part[n])
      return true;
    part += n + 1;
  }
}

static void content_unref(struct content *c)
{
  if (--c->refs == 0)
    free(c);
}

// The place of `path`, or where it would go.
static size_t slot(const struct tree *t, const char *path, bool *ret_there)
{
  size_t lo = 0, hi = t->count;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    int order = strcmp(t->files[mid].path, path);
    if (order == 0) {
      *ret_there = true;
      return mid;
    }
    if (order < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  *ret_there = false;
  return lo;
}

// Whether some file lies below `path` taken as a folder, or a part of `path`
// is itself a file.
static bool clashes(const struct tree *t, const char *path)
{
  bool there;
  char *below = xasprintf("%s/", path);
  size_t at = slot(t, below, &there);
  bool clash =
      at < t->count && strncmp(t->files[at].path, below, strlen(below)) == 0;
  free(below);
  char *above = xstrdup(path);
  for (char *slash = strrchr(above, '/'); slash && !clash;
       slash = strrchr(above, '/')) {
    *slash = '\0';
    slot(t, above, &clash);
  }
  free(above);
  return clash;
}

int tree_put(struct tree *t, const char *path, const void *bytes, size_t len,
             bool executable, struct error *err)
{
  if (!tree_path_ok(path))
    return error_set(err, LG_EINPUT,
                     "'%s' may not stand in a tree: use a "
                     "relative path without '..', '.git' or control characters",
                     path);
  bool there;
  size_t at = slot(t, path, &there);
  if (!there && clashes(t, path))
    return error_set(err, LG_EINPUT,
                     "'%s' would be a file and a folder at once", path);
  struct content *c = xmalloc(sizeof(*c) + len + 1);
  *c = (struct content){.refs = 1, .len = len};
  if (len)
    memcpy(c->bytes, bytes, len);
  c->bytes[len] = '\0';
  if (there) {
    content_unref(t->files[at].content);
  } else {
    GROW(t->files, t->count, t->room);
    memmove(&t->files[at + 1], &t->files[at],
            (t->count - at) * sizeof(*t->files));
    t->count++;
    t->files[at].path = xstrdup(path);
  }
  t->files[at].content = c;
  t->files[at].executable = executable;
  return 0;
}

void tree_drop(struct tree *t, const char *path)
{
  bool there;
  size_t at = slot(t, path, &there);
  if (!there)
    return;
  content_unref(t->files[at].content);
  free(t->files[at].path);
  t->count--;
  memmove(&t->files[at], &t->files[at + 1],
          (t->count - at) * sizeof(*t->files));
}

const struct tree_file *tree_find(const struct tree *t, const char *path)
{
  bool there;
  size_t at = slot(t, path, &there);
  return there ? &t->files[at] : NULL;
}

bool tree_path_is_residue(const char *path)
{
  static const char *const endings[] = {".o", ".d", ".asm", ".sym", ".img"};
  static const char *const starts[] = {".git/", "kernel/image/", "user/_"};
  static const char *const wholes[] = {"kernel/kernel", "kernel/image.S",
                                       "mkfs/mkfs", ".gdbinit"};
  if (strstr(path, "/.git/"))
    return true;
  for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
    if (strncmp(path, starts[i], strlen(starts[i])) == 0)
      return true;
  }
  for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++) {
    if (strcmp(path, wholes[i]) == 0)
      return true;
  }
  size_t len = strlen(path);
  for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
    size_t n = strlen(endings[i]);
    if (len > n && strcmp(path + len - n, endings[i]) == 0)
      return true;
  }
  return false;
}

struct folder_visit {
  struct tree *tree;
  const char *folder, *prefix;
};

static int add_one(void *arg, const char *relative_path, struct error *err)
{
  struct folder_visit *v = arg;
  if (tree_path_is_residue(relative_path))
    return 0;
  struct buf bytes = BUF_INIT;
  char *source = path_join(v->folder, relative_path);
  char *path = xasprintf("%s%s", v->prefix, relative_path);
  int rc = file_read(source, FILE_MAX_BYTES, &bytes, err);
  if (rc == 0) {
    struct stat st;
    bool executable = stat(source, &st) == 0 && (st.st_mode & S_IXUSR);
    rc = tree_put(v->tree, path, buf_str(&bytes), bytes.len, executable, err);
  }
  buf_release(&bytes);
  free(source);
  free(path);
  return rc;
}

int tree_add_folder(struct tree *t, const char *folder, const char *prefix,
                    struct error *err)
{
  struct folder_visit v = {t, folder, prefix};
  return file_walk(folder, add_one, &v, err);
}

int tree_write(const struct tree *t, const char *folder, struct error *err)
{
  char *made = NULL;  // the folder that was made last
  int rc = file_mkdirs(folder, err);
  for (size_t i = 0; i < t->count && rc == 0; i++) {
    const struct tree_file *f = &t->files[i];
    char *path = path_join(folder, f->path);
    char *slash = strrchr(path, '/');
    size_t len = (size_t)(slash - path);
    if (strchr(f->path, '/') &&
        !(made && strlen(made) == len && strncmp(made, path, len) == 0)) {
      free(made);
      made = xstrndup(path, len);
      rc = file_mkdirs(made, err);
    }
    if (rc == 0)
      rc = file_write(path, f->content->bytes, f->content->len,
                      f->executable ? 0755 : 0644, err);
    free(path);
  }
  free(made);
  return rc;
}

void tree_copy(struct tree *to, const struct tree *from)
{
  struct tree copy = {0};
  copy.files = xcalloc(from->count ? from->count : 1, sizeof(*copy.files));
  copy.count = copy.room = from->count;
  for (size_t i = 0; i < from->count; i++) {
    copy.files[i] = from->files[i];
    copy.files[i].path = xstrdup(from->files[i].path);
    copy.files[i].content->refs++;
  }
  tree_release(to);
  *to = copy;
}

bool tree_equal(const struct tree *a, const struct tree *b)
{
  if (a->count != b->count)
    return false;
  for (size_t i = 0; i < a->count; i++) {
    const struct tree_file *x = &a->files[i], *y = &b->files[i];
    if (strcmp(x->path, y->path) != 0 || x->executable != y->executable)
      return false;
    if (x->content != y->content &&
        (x->content->len != y->content->len ||
         memcmp(x->content->bytes, y->content->bytes, x->content->len) != 0))
      return false;
  }
  return true;
}

void tree_release(struct tree *t)
{
  for (size_t i = 0; i < t->count; i++) {
    content_unref(t->files[i].content);
    free(t->files[i].path);
  }
  free(t->files);
  *t = (struct tree){0};
}
