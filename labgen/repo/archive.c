// Writes tar files through libarchive. The repository is laid out in a scratch
// folder first, so that an archive holds exactly what a fresh one would.
#include "labgen/repo/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/base/file.h"

#define FILE_MAX_BYTES (1u << 31)

struct taring {
  struct archive *archive;
  const char *folder;  // on disk
  const char *top;     // the folder's name in the archive
  struct when date;
};

static int archive_failed(const struct taring *t, struct error *err)
{
  const char *words = archive_error_string(t->archive);
  return error_set(err, LG_EIO, "%s.tar: %s", t->top,
                   words ? words : "cannot be written");
}

static int add_entry(const struct taring *t, const char *path, mode_t mode,
                     const struct buf *bytes, struct error *err)
{
  struct archive_entry *e = archive_entry_new();
  char *name = xasprintf("%s/%s", t->top, path);
  archive_entry_set_pathname(e, name);
  archive_entry_set_mode(e, mode);
  archive_entry_set_size(e, bytes ? (la_int64_t)bytes->len : 0);
  archive_entry_set_mtime(e, (time_t)t->date.seconds, 0);
  archive_entry_set_uid(e, 0);
  archive_entry_set_gid(e, 0);
  int rc = 0;
  if (archive_write_header(t->archive, e) != ARCHIVE_OK ||
      (bytes && bytes->len &&
       archive_write_data(t->archive, bytes->data, bytes->len) !=
           (la_ssize_t)bytes->len))
    rc = archive_failed(t, err);
  archive_entry_free(e);
  free(name);
  return rc;
}

static int add_file(void *arg, const char *path, struct error *err)
{
  const struct taring *t = arg;
  struct buf bytes = BUF_INIT;
  struct stat st;
  char *from = path_join(t->folder, path);
  int rc = file_read(from, FILE_MAX_BYTES, &bytes, err);
  if (rc == 0 && stat(from, &st))
    rc = error_errno(err, LG_EIO, "%s", from);
  if (rc == 0)
    rc = add_entry(t, path, S_IFREG | (st.st_mode & 0777), &bytes, err);
  buf_release(&bytes);
  free(from);
  return rc;
}

static int write_tar(struct taring *t, const char *path, struct error *err)
{
  // Git needs these two even when nothing is in them.
  static const char *const empty[] = {".git/refs/heads/", ".git/refs/tags/"};
  int rc = 0;
  t->archive = archive_write_new();
  archive_write_set_format_pax_restricted(t->archive);
  if (archive_write_open_filename(t->archive, path) != ARCHIVE_OK)
    rc = archive_failed(t, err);
  for (size_t i = 0; i < 2 && rc == 0; i++)
    rc = add_entry(t, empty[i], S_IFDIR | 0755, NULL, err);
  rc = rc ? rc : file_walk(t->folder, add_file, t, err);
  if (rc == 0 && archive_write_close(t->archive) != ARCHIVE_OK)
    rc = archive_failed(t, err);
  archive_write_free(t->archive);
  return rc;
}

static bool same_bytes(const char *a, const char *b)
{
  struct buf x = BUF_INIT, y = BUF_INIT;
  bool same = file_read(a, FILE_MAX_BYTES, &x, NULL) == 0 &&
              file_read(b, FILE_MAX_BYTES, &y, NULL) == 0 && x.len == y.len &&
              memcmp(x.data, y.data, x.len) == 0;
  buf_release(&x);
  buf_release(&y);
  return same;
}

int archive_repository(struct publish *p, struct course *course,
                       const char *name, const struct repo_plan *plan,
                       struct error *err)
{
  char *file = xasprintf("archives/%s.tar", name);
  char *place = publish_place(p, file);
  char *scratch = publish_scratch(p);
  const char *slash = strrchr(name, '/');
  struct taring t = {.folder = scratch,
                     .top = slash ? slash + 1 : name,
                     .date = course->lab.commits.date};
  int rc = repo_write(scratch, course->objects, plan, err);
  if (rc == 0) {
    const char *made = publish_begin(p, file);
    rc = write_tar(&t, made, err);
    int end = publish_end(p, rc || same_bytes(made, place), err);
    rc = rc ? rc : end;
  }
  int removed = file_remove_tree(scratch, rc ? NULL : err);
  free(file);
  free(place);
  free(scratch);
  return rc ? rc : removed;
}
