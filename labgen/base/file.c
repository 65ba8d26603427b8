// Whole-file reads and writes, and trees. Paths come from the caller as they
// are: nothing here checks that a path stays inside some folder.
#include "labgen/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "labgen/base/alloc.h"

char *path_join(const char *dir, const char *name)
{
  size_t len = strlen(dir);
  if (name[0] == '/' || len == 0)
    return xstrdup(name);
  return xasprintf("%s%s%s", dir, dir[len - 1] == '/' ? "" : "/", name);
}

// The folder that holds `path`; owned by the caller.
static char *parent_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  if (!slash)
    return xstrdup(".");
  return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

bool file_exists(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0;
}

// Reads fd to its end, but at most max_bytes + 1 bytes: the one more tells that
// there is too much.
static int read_all(int fd, size_t max_bytes, struct buf *ret)
{
  char chunk[16384];
  while (ret->len <= max_bytes) {
    size_t want = sizeof chunk;
    if (max_bytes - ret->len < want)
      want = max_bytes - ret->len + 1;
    ssize_t n = read(fd, chunk, want);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return -1;
    if (n == 0)
      break;
    buf_add(ret, chunk, (size_t)n);
  }
  return 0;
}

int file_read(const char *path, size_t max_bytes, struct buf *ret,
              struct error *err)
{
  struct buf text = BUF_INIT;
  struct stat st;
  int rc = 0;
  // O_NONBLOCK: opening a FIFO must not wait for somebody who writes to it.
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return error_errno(
        err, errno == ENOENT || errno == ENOTDIR ? LG_ENOTFOUND : LG_EIO,
        "cannot open %s", path);

  if (fstat(fd, &st) != 0) {
    rc = error_errno(err, LG_EIO, "cannot look at %s", path);
  } else if (!S_ISREG(st.st_mode)) {
    rc = error_set(err, LG_EINPUT, "cannot read %s: not a regular file", path);
  } else if (read_all(fd, max_bytes, &text) != 0) {
    rc = error_errno(err, LG_EIO, "cannot read %s", path);
  } else if (text.len > max_bytes) {
    rc = error_set(err, LG_ELIMIT, "%s is larger than %zu bytes", path,
                   max_bytes);
  }
  close(fd);

  if (rc == 0) {
    buf_release(ret);
    buf_add(&text, "", 0);
    *ret = text;
  } else {
    buf_release(&text);
  }
  return rc;
}

static int write_all(int fd, const char *bytes, size_t len)
{
  while (len) {
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

// Fills the open file, gives it its mode whatever the umask is, and closes it.
static int fill_and_close(int fd, const void *bytes, size_t len, unsigned mode,
                          bool sync)
{
  bool ok = write_all(fd, bytes, len) == 0 && fchmod(fd, mode) == 0 &&
            (!sync || fsync(fd) == 0);
  int saved = errno;
  if (close(fd) != 0 && ok)
    return -1;
  errno = saved;
  return ok ? 0 : -1;
}

static int sync_dir(const char *dir)
{
  int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return -1;
  int rc = fsync(fd);
  int saved = errno;
  close(fd);
  errno = saved;
  return rc;
}

int file_write_atomic(const char *path, const void *bytes, size_t len,
                      unsigned mode, struct error *err)
{
  int rc = 0;
  char *dir = parent_of(path);
  // The name does not grow with the file's own, which may be as long as names
  // get.
  char *temp = path_join(dir, ".labgen-XXXXXX");
  int fd = mkostemp(temp, O_CLOEXEC);
  if (fd < 0) {
    rc = error_errno(err, LG_EIO, "cannot make a file in %s", dir);
    goto out;
  }
  if (fill_and_close(fd, bytes, len, mode, true) != 0 ||
      rename(temp, path) != 0) {
    rc = error_errno(err, LG_EIO, "cannot write %s", path);
    unlink(temp);
    goto out;
  }
  if (sync_dir(dir) != 0)
    rc = error_errno(err, LG_EIO, "cannot sync %s", dir);
out:
  free(temp);
  free(dir);
  return rc;
}

int file_write(const char *path, const void *bytes, size_t len, unsigned mode,
               struct error *err)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || fill_and_close(fd, bytes, len, mode, false) != 0)
    return error_errno(err, LG_EIO, "cannot write %s", path);
  return 0;
}

int file_mkdirs(const char *path, struct error *err)
{
  int rc = 0;
  char *part = xstrdup(path);
  for (char *at = part; rc == 0 && *at;) {
    at += strspn(at, "/");
    at += strcspn(at, "/");
    char kept = *at;
    *at = '\0';
    struct stat st;
    if (mkdir(part, 0777) != 0 &&
        !(stat(part, &st) == 0 && S_ISDIR(st.st_mode))) {
      if (errno == EEXIST || errno == 0)
        errno = ENOTDIR;
      rc = error_errno(err, LG_EIO, "cannot make the folder %s", part);
    }
    *at = kept;
  }
  free(part);
  return rc;
}

int file_make_temp_dir(const char *parent, const char *prefix, char **ret_path,
                       struct error *err)
{
  if (!parent) {
    const char *tmp = getenv("TMPDIR");
    parent = tmp && *tmp ? tmp : "/tmp";
  }
  char *name = xasprintf("%s-XXXXXX", prefix);
  char *path = path_join(parent, name);
  free(name);
  if (!mkdtemp(path)) {
    int rc = error_errno(err, LG_EIO, "cannot make a folder in %s", parent);
    free(path);
    return rc;
  }
  *ret_path = path;
  return 0;
}

// Whether `dir` holds what data_dir() looks for.
static bool is_data_dir(const char *dir)
{
  static const char *const parts[] = {"templates", "graders"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    char *path = path_join(dir, parts[i]);
    bool there = file_exists(path);
    free(path);
    if (!there)
      return false;
  }
  return true;
}

// Looks for the data from where the program itself lies, so that neither a
// moved source tree nor an installation with DESTDIR needs a built-in path:
// build/labgen and build/san/labgen lie in a source tree, PREFIX/bin/labgen
// beside PREFIX/share/labgen. Owned by the caller; NULL when there is none.
static char *find_data_dir(void)
{
  static const char *const beside[] = {"..", "../..", "../../..",
                                       "../share/labgen"};
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n <= 0)
    return NULL;
  self[n] = '\0';
  char *bin = parent_of(self);
  char *found = NULL;
  for (size_t i = 0; !found && i < sizeof beside / sizeof beside[0]; i++) {
    char *path = path_join(bin, beside[i]);
    if (is_data_dir(path))
      found = realpath(path, NULL);
    free(path);
  }
  free(bin);
  return found;
}

int data_dir(const char **ret_path, struct error *err)
{
  static char *found;
  const char *named = getenv("LABGEN_DATA");
  if (named && *named) {
    if (!is_data_dir(named))
      return error_set(err, LG_ENOTFOUND,
                       "LABGEN_DATA names %s, which lacks templates/ or "
                       "graders/",
                       named);
    *ret_path = named;
    return 0;
  }
  if (!found)
    found = find_data_dir();
  if (!found)
    return error_set(err, LG_ENOTFOUND,
                     "cannot find labgen's templates/ and graders/ beside the "
                     "program; set LABGEN_DATA to the "
                     "folder that holds them");
  *ret_path = found;
  return 0;
}
