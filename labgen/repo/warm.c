// Folders in which a tree was built, made ready for another tree that is nearly
// the same. Times of files are what make goes by, so they are kept in a copy,
// and are later in every file that is written anew.
#include "labgen/repo/warm.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

#define FILE_MAX_BYTES (256u << 20)

static bool ends_in(const char *path, const char *ending)
{
  size_t len = strlen(path), n = strlen(ending);
  return len > n && strcmp(path + len - n, ending) == 0;
}

bool warm_is_document(const char *path)
{
  return ends_in(path, ".md") || ends_in(path, ".yaml") ||
         ends_in(path, ".yml") || ends_in(path, ".gitignore");
}

int warm_distance(const struct tree *a, const struct tree *b)
{
  size_t i = 0, j = 0;
  int differing = 0;
  for (;;) {
    while (i < a->count && warm_is_document(a->files[i].path))
      i++;
    while (j < b->count && warm_is_document(b->files[j].path))
      j++;
    if (i == a->count || j == b->count)
      return i == a->count && j == b->count ? differing : -1;
    const struct tree_file *x = &a->files[i++], *y = &b->files[j++];
    if (strcmp(x->path, y->path) != 0)
      return -1;
    if (x->content == y->content ||
        (x->content->len == y->content->len &&
         memcmp(x->content->bytes, y->content->bytes, x->content->len) == 0))
      continue;
    if (!ends_in(x->path, ".c"))
      return -1;
    differing++;
  }
}

struct copying {
  const char *from, *to;
};

static int copy_file(void *arg, const char *path, struct error *err)
{
  const struct copying *c = arg;
  char *from = path_join(c->from, path), *to = path_join(c->to, path);
  struct buf bytes = BUF_INIT;
  struct stat st;
  int rc = file_read(from, FILE_MAX_BYTES, &bytes, err);
  if (rc == 0 && stat(from, &st))
    rc = error_errno(err, LG_EIO, "%s", from);
  char *parent = xstrndup(to, (size_t)(strrchr(to, '/') - to));
  if (rc == 0 && !file_exists(parent))
    rc = file_mkdirs(parent, err);
  if (rc == 0)
    rc = file_write(to, buf_str(&bytes), bytes.len, st.st_mode & 0777, err);
  const struct timespec times[] = {st.st_atim, st.st_mtim};
  if (rc == 0 && utimensat(AT_FDCWD, to, times, 0))
    rc = error_errno(err, LG_EIO, "%s", to);
  buf_release(&bytes);
  free(parent);
  free(from);
  free(to);
  return rc;
}

int warm_copy(const char *from, const char *to, struct error *err)
{
  struct copying c = {from, to};
  return file_walk(from, copy_file, &c, err);
}

bool warm_is_later(const struct timespec *a, const struct timespec *b)
{
  return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec
                                : a->tv_nsec > b->tv_nsec;
}

int warm_update(const char *dir, const struct tree *built,
                const struct tree *tree, const struct timespec *after,
                struct timespec *ret_written, struct error *err)
{
  int rc = 0;
  for (size_t i = 0; i < tree->count && rc == 0; i++) {
    const struct tree_file *f = &tree->files[i];
    const struct tree_file *old = tree_find(built, f->path);
    struct stat st;
    if (warm_is_document(f->path) ||
        (old && old->content->len == f->content->len &&
         memcmp(old->content->bytes, f->content->bytes, f->content->len) == 0))
      continue;
    char *path = path_join(dir, f->path);
    for (;;) {
      rc = file_write(path, f->content->bytes, f->content->len, 0644, err);
      if (rc || stat(path, &st) || warm_is_later(&st.st_mtim, after))
        break;
      usleep(1000);
    }
    *ret_written = st.st_mtim;
    free(path);
  }
  return rc;
}
