// Lists files and the contents of directories (of the current one if it is given
// none): name, type (1 directory, 2 file, 3 device), inode number, bytes.

#include "kernel/types.h"
#include "kernel/fcntl.h"
#include "kernel/param.h"
#include "kernel/stat.h"
#include "user/user.h"

// A path that a directory's names are put behind.
struct path {
  char text[MAXPATH + DIRSIZ + 2];
  uint len;  // bytes up to where the name goes
};

static int fail(const char *what, const char *path)
{
  fprintf(2, "ls: cannot %s %s\n", what, path);
  return 1;
}

static void show(const char *name, const struct stat *st)
{
  printf("%-14s %d %u %lu\n", name, st->type, st->ino, st->size);
}

// Shows one entry of the directory; the unused ones are passed over.
static int show_entry(struct path *path, const struct dirent *entry)
{
  struct stat st;
  char *name = path->text + path->len;

  if (entry->inum == 0)
    return 0;
  memcpy(name, entry->name, DIRSIZ);
  name[DIRSIZ] = '\0';
  if (stat(path->text, &st) < 0)
    return fail("stat", path->text);
  show(name, &st);
  return 0;
}

// Shows everything in the directory that is open as fd.
static int show_directory(int fd, const char *name)
{
  struct path path;
  struct dirent entry;
  int failed = 0;

  path.len = strlen(name);
  if (path.len >= MAXPATH)
    return fail("list", name);
  strcpy(path.text, name);
  path.text[path.len++] = '/';
  while (read(fd, &entry, sizeof entry) == sizeof entry)
    failed |= show_entry(&path, &entry);
  return failed;
}

static int list(const char *name)
{
  struct stat st;
  int failed = 0;
  int fd = open(name, O_RDONLY);

  if (fd < 0)
    return fail("open", name);
  if (fstat(fd, &st) < 0)
    failed = fail("stat", name);
  else if (st.type == T_DIR)
    failed = show_directory(fd, name);
  else
    show(name, &st);
  close(fd);
  return failed;
}

int main(int argc, char **argv)
{
  int failed = argc < 2 ? list(".") : 0;

  for (int i = 1; i < argc; i++)
    failed |= list(argv[i]);
  return failed;
}
