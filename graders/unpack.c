// Reads archives by libarchive and writes files by our own hand: no option of
// libarchive's decides where a file goes.
#include "graders/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/base/file.h"

#define BLOCK_BYTES 65536

const struct unpack_limits unpack_one = {.entries = 20000,
                                         .depth = 32,
                                         .bytes = 256u << 20,
                                         .ratio = 200,
                                         .free_bytes = 16u << 20};
const struct unpack_limits unpack_class = {.entries = 400000,
                                           .depth = 40,
                                           .bytes = 8ull << 30,
                                           .ratio = 200,
                                           .free_bytes = 64u << 20};

struct unpacking {
  struct archive *archive;
  const char *name;  // of the archive, for messages
  const char *to;
  const struct unpack_limits *limits;
  uint64_t packed_bytes;  // of the archive's file
  uint64_t bytes;         // written so far
  size_t entries;
  struct error *err;
};

static int refuse(struct unpacking *u, const char *entry, const char *why)
{
  struct buf text = BUF_INIT;
  buf_add_terminal(&text, entry, strnlen(entry, 120));
  int rc = error_set(u->err, LG_EREFUSED, "%s: '%s' %s", u->name,
                     buf_str(&text), why);
  buf_release(&text);
  return rc;
}

static int damaged(struct unpacking *u)
{
  const char *words = archive_error_string(u->archive);
  struct buf text = BUF_INIT;
  if (words)
    buf_add_terminal(&text, words, strnlen(words, 200));
  int rc =
      error_set(u->err, LG_EREFUSED,
                "%s: the archive is damaged, cut short or no archive (%s); "
                "make it anew",
                u->name, text.len ? buf_str(&text) : "no more is known");
  buf_release(&text);
  return rc;
}

// Takes "./" and double slashes out of a path, in place. Returns what is wrong
// with it, or NULL; *ret_depth is its number of parts, 0 for none.
static const char *clean_path(char *path, size_t *ret_depth)
{
  char *to = path;
  size_t depth = 0;
  if (*path == '/')
    return "is an absolute path";
  for (const char *p = path; *p;) {
    size_t n = strcspn(p, "/");
    if (n == 2 && p[0] == '.' && p[1] == '.')
      return "leads out of its folder";
    for (size_t i = 0; i < n; i++)
      if ((unsigned char)p[i] < 0x20 || p[i] == 0x7f || p[i] == '\\')
        return "has a control character or a backslash in its name";
    if (n > 200)
      return "has a name longer than 200 bytes";
    if (n > 0 && !(n == 1 && *p == '.')) {
      if (depth++)
        *to++ = '/';
      memmove(to, p, n);
      to += n;
    }
    p += n;
    p += *p == '/';
  }
  *to = '\0';
  *ret_depth = depth;
  return to - path > 2000 ? "is longer than 2000 bytes" : NULL;
}

static int write_all(int fd, const char *bytes, size_t len)
{
  while (len > 0) {
    ssize_t n = write(fd, bytes, len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return -1;
    bytes += n;
    len -= (size_t)n;
  }
  return 0;
}

static const char *too_much(const struct unpacking *u)
{
  const struct unpack_limits *l = u->limits;
  if (u->bytes > l->bytes)
    return "makes the whole larger than may be unpacked";
  if (u->bytes > l->free_bytes && u->bytes / l->ratio > u->packed_bytes)
    return "unpacks to far more than it is packed to, as no source code does";
  return NULL;
}

static int copy_bytes(struct unpacking *u, const char *path, int fd)
{
  char *block = xmalloc(BLOCK_BYTES);
  la_ssize_t n = 0;
  int rc = 0;
  while (rc == 0 &&
         (n = archive_read_data(u->archive, block, BLOCK_BYTES)) > 0) {
    u->bytes += (uint64_t)n;
    const char *why = too_much(u);
    if (why)
      rc = refuse(u, path, why);
    else if (write_all(fd, block, (size_t)n))
      rc = error_errno(u->err, LG_EIO, "cannot write below %s", u->to);
  }
  if (rc == 0 && n < 0)
    rc = damaged(u);
  free(block);
  return rc;
}

static int unpack_file(struct unpacking *u, const char *path)
{
  char *whole = path_join(u->to, path);
  char *slash = strrchr(whole, '/');
  *slash = '\0';
  int rc = file_mkdirs(whole, NULL);
  *slash = '/';
  int fd =
      rc ? -1
         : open(whole, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0644);
  if (fd < 0 && (rc || errno == EEXIST || errno == ENOTDIR || errno == EISDIR))
    rc = refuse(u, path, "is there twice, or is a file and a folder at once");
  else if (fd < 0)
    rc = error_errno(u->err, LG_EIO, "cannot make %s", whole);
  else
    rc = copy_bytes(u, path, fd);
  if (fd >= 0 && close(fd) != 0 && rc == 0)
    rc = error_errno(u->err, LG_EIO, "cannot write %s", whole);
  free(whole);
  return rc;
}

static int unpack_entry(struct unpacking *u, struct archive_entry *entry)
{
  const char *name = archive_entry_pathname(entry);
  size_t depth = 0;
  if (!name)
    return refuse(u, "?", "has no name that can be read");
  char *path = xstrdup(name);
  const char *why = clean_path(path, &depth);
  int rc = 0;
  if (!why && ++u->entries > u->limits->entries)
    why = "is one file too many";
  if (!why && depth > u->limits->depth)
    why = "lies too many folders deep";
  if (!why && (archive_entry_hardlink(entry) || archive_entry_symlink(entry)))
    why = "is a link";
  if (!why && archive_entry_is_encrypted(entry))
    why = "is encrypted";
  mode_t type = archive_entry_filetype(entry);
  if (!why && type != AE_IFREG && type != AE_IFDIR)
    why = "is a device, a pipe or a socket";
  if (why) {
    rc = refuse(u, name, why);
  } else if (depth > 0 && type == AE_IFREG) {
    rc = unpack_file(u, path);
  } else if (depth > 0) {
    char *folder = path_join(u->to, path);
    if (file_mkdirs(folder, NULL))
      rc = refuse(u, name, "is a file and a folder at once");
    free(folder);
  }
  free(path);
  return rc;
}

static void choose_formats(struct archive *a)
{
  archive_read_support_format_tar(a);
  archive_read_support_format_zip(a);
  archive_read_support_filter_gzip(a);
  archive_read_support_filter_xz(a);
  archive_read_support_filter_zstd(a);
  archive_read_support_filter_bzip2(a);
}

int unpack(const char *archive, const char *to,
           const struct unpack_limits *limits, struct error *err)
{
  struct unpacking u = {
      .name = archive, .to = to, .limits = limits, .err = err};
  struct archive_entry *entry;
  struct stat st;
  int got = ARCHIVE_EOF;
  if (stat(archive, &st) != 0)
    return error_errno(err, errno == ENOENT ? LG_ENOTFOUND : LG_EIO,
                       "cannot look at %s", archive);
  u.packed_bytes = (uint64_t)st.st_size;
  int rc = file_mkdirs(to, err);
  u.archive = archive_read_new();
  choose_formats(u.archive);
  if (rc == 0 && archive_read_open_filename(u.archive, archive, BLOCK_BYTES))
    rc = damaged(&u);
  // Names in UTF-8 are to come out as such, whatever the locale.
  locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  locale_t before = uselocale(utf8);
  while (rc == 0 &&
         ((got = archive_read_next_header(u.archive, &entry)) == ARCHIVE_OK ||
          got == ARCHIVE_WARN))
    rc = unpack_entry(&u, entry);
  if (rc == 0 && (got != ARCHIVE_EOF || u.entries == 0))
    rc = damaged(&u);
  archive_read_free(u.archive);
  uselocale(before);
  if (utf8)
    freelocale(utf8);
  return rc;
}
