// Walking and removing trees (declared in file.h). Trees may be hostile: links
// are never followed, and depth costs neither stack nor open files.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

// --- Walking ----------------------------------------------------------------

// Paths relative to the root of a walk; a folder is one until it was read.
struct paths {
  char **v;  // each owned
  size_t count, room;
};

static void paths_release(struct paths *p)
{
  for (size_t i = 0; i < p->count; i++)
    free(p->v[i]);
  free(p->v);
}

static void paths_add(struct paths *p, char *taken)
{
  GROW(p->v, p->count, p->room);
  p->v[p->count++] = taken;
}

static bool is_dot(const char *name)
{
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

// Sorts what one folder holds into files and further folders.
static int list_dir(int root_fd, const char *root, const char *relative,
                    struct paths *files, struct paths *dirs, struct error *err)
{
  int rc = 0;
  int fd = openat(root_fd, *relative ? relative : ".",
                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
  if (!dir) {
    if (fd >= 0)
      close(fd);
    return error_errno(err, LG_EIO, "cannot open the folder %s/%s", root,
                       relative);
  }
  struct dirent *entry;
  while (rc == 0 && (errno = 0, entry = readdir(dir))) {
    struct stat st;
    if (is_dot(entry->d_name))
      continue;
    char *path = path_join(relative, entry->d_name);
    if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
      rc = error_errno(err, LG_EIO, "cannot look at %s/%s", root, path);
    } else if (S_ISREG(st.st_mode)) {
      paths_add(files, path);
      continue;
    } else if (S_ISDIR(st.st_mode)) {
      paths_add(dirs, path);
      continue;
    } else {
      rc = error_set(err, LG_EREFUSED,
                     "%s/%s is %s; only files and folders are allowed here",
                     root, path,
                     S_ISLNK(st.st_mode) ? "a symbolic link" : "a device");
    }
    free(path);
  }
  if (rc == 0 && errno)
    rc = error_errno(err, LG_EIO, "cannot read the folder %s/%s", root,
                     relative);
  closedir(dir);
  return rc;
}

static int compare_paths(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

int file_walk(const char *root,
              int (*visit)(void *arg, const char *relative_path,
                           struct error *err),
              void *arg, struct error *err)
{
  int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root_fd < 0)
    return error_errno(
        err, errno == ENOENT || errno == ENOTDIR ? LG_ENOTFOUND : LG_EIO,
        "cannot open the folder %s", root);
  // The whole tree is listed first: the order of whole paths is not the order
  // folder by folder ("a.c" comes before "a/b").
  struct paths files = {0}, dirs = {0};
  int rc = 0;
  paths_add(&dirs, xstrdup(""));
  for (size_t i = 0; rc == 0 && i < dirs.count; i++)
    rc = list_dir(root_fd, root, dirs.v[i], &files, &dirs, err);
  if (rc == 0 && files.count)
    qsort(files.v, files.count, sizeof *files.v, compare_paths);
  for (size_t i = 0; rc >= 0 && i < files.count; i++)
    rc = visit(arg, files.v[i], err);
  paths_release(&files);
  paths_release(&dirs);
  close(root_fd);
  return rc < 0 ? rc : 0;
}

// --- Removing ---------------------------------------------------------------

// The way from the folder that is being emptied back up.
struct level {
  char *name;  // in the folder above; owned
  dev_t dev;   // of the folder above, to know it again
  ino_t ino;
};

// Removes the files of the open folder. At the first folder in it, stops and
// returns its name (owned by the caller); NULL when nothing is left, or on
// failure with errno set (0 otherwise).
static char *empty_of_files(int fd)
{
  char *subdir = NULL;
  int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
  if (!dir) {
    int saved = errno;
    if (copy >= 0)
      close(copy);
    errno = saved;
    return NULL;
  }
  struct dirent *entry;
  while (!subdir && (errno = 0, entry = readdir(dir))) {
    struct stat st;
    if (is_dot(entry->d_name))
      continue;
    if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
      break;
    if (S_ISDIR(st.st_mode)) {
      // Our own folders may forbid us to look inside; root needs no leave.
      if ((st.st_mode & 0700) != 0700)
        fchmodat(fd, entry->d_name, 0700, 0);
      subdir = xstrdup(entry->d_name);
    } else if (unlinkat(fd, entry->d_name, 0) != 0) {
      break;
    }
  }
  int saved = subdir ? 0 : errno;
  closedir(dir);
  errno = saved;
  return subdir;
}

// Steps from fd, which it closes, into `name`; -1 with errno set.
static int step(int fd, const char *name)
{
  int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  int saved = errno;
  close(fd);
  errno = saved;
  return next;
}

// Empties the open folder, which is closed in the end. 0, or -1 with errno.
// Only one folder is open at a time, and ".." must be where we came from: the
// tree may be moved while we are in it.
static int empty_tree(int fd)
{
  struct level *levels = NULL;
  size_t depth = 0, room = 0;
  struct stat st;
  int failed = 0;
  while (fd >= 0 && !failed) {
    char *subdir = empty_of_files(fd);
    if (subdir) {
      GROW(levels, depth, room);
      failed = fstat(fd, &st);
      levels[depth++] = (struct level){subdir, st.st_dev, st.st_ino};
      if (!failed)
        fd = step(fd, subdir);
    } else if (errno || depth == 0) {
      break;
    } else {
      struct level *top = &levels[--depth];
      fd = step(fd, "..");
      failed = fd < 0 || fstat(fd, &st) != 0;
      if (!failed && (st.st_dev != top->dev || st.st_ino != top->ino)) {
        errno = ESTALE;
        failed = 1;
      }
      if (!failed)
        failed = unlinkat(fd, top->name, AT_REMOVEDIR);
      free(top->name);
      errno = failed ? errno : 0;
    }
  }
  int saved = errno;
  while (depth)
    free(levels[--depth].name);
  free(levels);
  if (fd >= 0)
    close(fd);
  errno = saved;
  return saved ? -1 : 0;
}

int file_remove_tree(const char *path, struct error *err)
{
  struct stat st;
  if (lstat(path, &st) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return 0;
    return error_errno(err, LG_EIO, "cannot look at %s", path);
  }
  int bad;
  if (S_ISDIR(st.st_mode)) {
    if ((st.st_mode & 0700) != 0700)
      chmod(path, 0700);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bad = fd < 0 || empty_tree(fd) != 0 || rmdir(path) != 0;
  } else {
    bad = unlink(path);
  }
  if (bad)
    return error_errno(err, LG_EIO, "cannot remove %s", path);
  return 0;
}
