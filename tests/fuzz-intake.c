// Whatever the bytes: names are taken apart, archives unpacked inside their
// folder or refused, packed references and configurations read. The first byte
// chooses.
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graders/intake-name.h"
#include "graders/unpack.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/repo/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct unpack_limits limits = {.entries = 64,
                                            .depth = 8,
                                            .bytes = 1 << 20,
                                            .ratio = 50,
                                            .free_bytes = 1 << 16};

static char *dir;

static void remove_dir(void)
{
  file_remove_tree(dir, NULL);
}

static void must(bool holds, const char *what)
{
  if (holds)
    return;
  fprintf(stderr, "%s\n", what);
  abort();
}

static void put(const char *path, const uint8_t *data, size_t size)
{
  must(file_write(path, data, size, 0644, NULL) == 0, "cannot write");
}

static int only_plain(const char *path, const struct stat *st, int type,
                      struct FTW *at)
{
  (void)path, (void)at;
  must(type == FTW_D || (type == FTW_F && st->st_nlink == 1), "no plain file");
  return 0;
}

static void try_archive(const uint8_t *data, size_t size)
{
  char *file = path_join(dir, "archive"), *to = path_join(dir, "to/in");
  char *above = path_join(dir, "to"), *stray = path_join(dir, "to/stray");
  put(file, data, size);
  must(file_mkdirs(to, NULL) == 0, "cannot make a folder");
  int rc = unpack(file, to, &limits, NULL);
  must(rc == 0 || rc == LG_EREFUSED, "neither unpacked nor refused");
  must(nftw(to, only_plain, 8, FTW_PHYS) == 0, "cannot look");
  must(rmdir(above) != 0, "the folder is gone");
  must(!file_exists(stray), "written outside");
  must(file_remove_tree(to, NULL) == 0, "cannot remove");
  must(rmdir(above) == 0, "something was written outside");
  free(file);
  free(to);
  free(above);
  free(stray);
}

static void try_repository(const uint8_t *data, size_t size)
{
  static const char *const names[] = {"config", "packed-refs", "HEAD"};
  struct foreign *f = NULL;
  struct object_id id;
  char *git = path_join(dir, "git"), *objects = path_join(git, "objects");
  must(file_mkdirs(objects, NULL) == 0, "cannot make a folder");
  for (size_t i = 0; i < 3; i++) {
    char *path = path_join(git, names[i]);
    put(path, data, size);
    free(path);
  }
  int rc = foreign_open(git, &f, NULL);
  must(rc == 0 || rc == LG_EREFUSED, "neither opened nor refused");
  if (rc == 0) {
    foreign_commit(f, NULL, &id);
    foreign_commit(f, "main", &id);
    foreign_close(f);
  }
  must(file_remove_tree(git, NULL) == 0, "cannot remove");
  free(git);
  free(objects);
}

static void try_name(const uint8_t *data, size_t size)
{
  static const char text[] = "id,name\nada,Ada Demo\nbo,\"Demo, Bo\"\n";
  struct roster roster = {0};
  struct intake_name n;
  struct buf problem = BUF_INIT;
  char *name = xstrndup((const char *)data, size);
  must(roster_parse("r.csv", text, sizeof(text) - 1, &roster, NULL) == 0, "r");
  struct people *people = people_index(&roster);
  must(intake_stem(name) <= strlen(name), "stem");
  intake_name_parse(name, &n);
  const struct student *s = people_find(people, n.who, n.account, &problem);
  must((s == NULL) == (problem.len > 0), "nobody without a reason");
  people_free(people);
  roster_release(&roster);
  intake_name_release(&n);
  buf_release(&problem);
  free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static void (*const tries[])(const uint8_t *, size_t) = {
      try_archive, try_name, try_repository};
  if (size == 0)
    return 0;
  if (!dir) {
    must(file_make_temp_dir("/dev/shm", "fuzz-intake-", &dir, NULL) == 0,
         "cannot make a folder");
    atexit(remove_dir);
  }
  tries[data[0] % 3](data + 1, size - 1);
  return 0;
}
