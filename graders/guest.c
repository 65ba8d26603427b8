// Guest memory in a shared file.

#include "graders/guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

#define FOLDER "labgen-boot-"

// In memory where there is room: a container often has 64 MiB of it.
static const char *memory_folder(unsigned memory_mib)
{
  struct statvfs fs;

  return statvfs("/dev/shm", &fs) == 0 &&
                 (uint64_t)fs.f_bavail * fs.f_frsize >> 20 > memory_mib
             ? "/dev/shm"
             : "/tmp";
}

// Folders carry the number of the process that made them.
static void remove_orphans(const char *parent)
{
  DIR *dir = opendir(parent);
  struct dirent *e;
  while (dir && (e = readdir(dir))) {
    if (strncmp(e->d_name, FOLDER, sizeof FOLDER - 1) != 0)
      continue;
    pid_t maker = (pid_t)strtol(e->d_name + sizeof FOLDER - 1, NULL, 10);
    if (maker <= 0 || kill(maker, 0) == 0 || errno != ESRCH)
      continue;
    char *path = path_join(parent, e->d_name);
    file_remove_tree(path, NULL);
    free(path);
  }
  if (dir)
    closedir(dir);
}

int guest_folder(unsigned memory_mib, char **ret, struct error *err)
{
  const char *parent = memory_folder(memory_mib);
  char *prefix = xasprintf(FOLDER "%d-", (int)getpid());
  remove_orphans(parent);
  int rc = file_make_temp_dir(parent, prefix, ret, err);
  free(prefix);
  return rc;
}

int guest_open(unsigned memory_mib, const char *folder, struct guest *ret,
               struct error *err)
{
  struct guest g = {.len = (size_t)memory_mib << 20};
  if (folder == NULL)
    folder = memory_folder(memory_mib);

  g.path = xasprintf("%s/labgen-guest-XXXXXX", folder);
  int fd = mkostemp(g.path, O_CLOEXEC);
  errno = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)g.len);
  if (errno != 0) {
    int rc = error_errno(err, LG_EHARNESS,
                         "%s: no room for the %u MiB of a guest's memory",
                         g.path, memory_mib);
    if (fd >= 0) {
      unlink(g.path);
      close(fd);
    }
    free(g.path);
    return rc;
  }
  void *bytes = mmap(NULL, g.len, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (bytes == MAP_FAILED) {
    int rc = error_errno(err, LG_EHARNESS, "%s: cannot be mapped", g.path);
    unlink(g.path);
    free(g.path);
    return rc;
  }
  g.bytes = bytes;
  g.machine = xstrdup("memory-backend=ram");
  // prealloc: a kernel touches every page while it boots, and faults one by one
  // cost half of that time.
  g.object = xasprintf(
      "memory-backend-file,id=ram,size=%uM,mem-path=%s,"
      "share=on,prealloc=on",
      memory_mib, g.path);
  *ret = g;
  ret->args[0] = "-machine";
  ret->args[1] = ret->machine;
  ret->args[2] = "-object";
  ret->args[3] = ret->object;
  ret->args[4] = NULL;
  return 0;
}

void guest_close(struct guest *g)
{
  if (g->path != NULL) {
    munmap((void *)g->bytes, g->len);
    unlink(g->path);
  }
  free(g->path);
  free(g->machine);
  free(g->object);
  *g = (struct guest){0};
}

int guest_copy(const struct guest *g, uint64_t address, size_t len, void *ret)
{
  if (address < GUEST_RAM || address - GUEST_RAM > g->len ||
      len > g->len - (address - GUEST_RAM))
    return -1;
  memcpy(ret, g->bytes + (address - GUEST_RAM), len);
  return 0;
}
