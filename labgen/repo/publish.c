// Whole or not at all: everything is written below OUT/.tmp, synced in groups,
// and renamed. A killed run leaves only OUT/.tmp, which the next one removes.
#include "labgen/repo/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

#define GROUP 64  // renames after one sync

struct waiting {
  char *made;   // owned; path below .tmp
  char *place;  // owned; path below out
};

struct publish {
  char *out, *tmp;
  int lock;                           // descriptor of OUT/.lock
  struct waiting waiting[GROUP + 1];  // the last one is being made
  size_t count;
  unsigned long number;  // of the next path below .tmp
};

static int take_lock(struct publish *p, struct error *err)
{
  char *path = path_join(p->out, ".lock");
  int rc = 0;
  p->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (p->lock < 0)
    rc = error_errno(err, LG_EIO, "%s", path);
  else if (flock(p->lock, LOCK_EX | LOCK_NB)) {
    rc = error_set(err, LG_EREFUSED,
                   "%s: another labgen is at work in this folder; wait for "
                   "it, or choose another folder with -o",
                   p->out);
    close(p->lock);
    p->lock = -1;  // what is in .tmp is the other one's
  }
  free(path);
  return rc;
}

int publish_open(const char *out, struct publish **ret, struct error *err)
{
  struct publish *p = xcalloc(1, sizeof(*p));
  p->out = xstrdup(out);
  p->tmp = path_join(out, ".tmp");
  p->lock = -1;
  int rc = file_mkdirs(out, err);
  rc = rc ? rc : take_lock(p, err);
  rc = rc ? rc : file_remove_tree(p->tmp, err);
  rc = rc ? rc : file_mkdirs(p->tmp, err);
  if (rc)
    publish_close(p);
  else
    *ret = p;
  return rc;
}

const char *publish_begin(struct publish *p, const char *name)
{
  struct waiting *w = &p->waiting[p->count];
  free(w->made);
  free(w->place);
  w->made = xasprintf("%s/%lu", p->tmp, p->number++);
  w->place = path_join(p->out, name);
  return w->made;
}

char *publish_scratch(struct publish *p)
{
  return xasprintf("%s/%lu", p->tmp, p->number++);
}

char *publish_place(const struct publish *p, const char *name)
{
  return path_join(p->out, name);
}

int publish_end(struct publish *p, int failed, struct error *err)
{
  if (failed)
    return file_remove_tree(p->waiting[p->count].made, err);
  p->count++;
  return p->count == GROUP ? publish_flush(p, err) : 0;
}

// Renames into place. What is there changes places with the new and is removed
// after that, so that at no moment nothing is there.
static int appear(const struct waiting *w, struct error *err)
{
  char *parent =
      xstrndup(w->place, (size_t)(strrchr(w->place, '/') - w->place));
  int rc = file_mkdirs(parent, err);
  free(parent);
  if (rc)
    return rc;
  if (renameat2(AT_FDCWD, w->made, AT_FDCWD, w->place, RENAME_NOREPLACE) == 0)
    return 0;
  if (errno == EEXIST &&
      renameat2(AT_FDCWD, w->made, AT_FDCWD, w->place, RENAME_EXCHANGE) == 0)
    return file_remove_tree(w->made, err);
  return error_errno(err, LG_EIO, "%s", w->place);
}

int publish_flush(struct publish *p, struct error *err)
{
  int rc = 0;
  if (p->count == 0)
    return 0;
  if (syncfs(p->lock))
    rc = error_errno(err, LG_EIO, "%s", p->out);
  for (size_t i = 0; i < p->count && rc == 0; i++)
    rc = appear(&p->waiting[i], err);
  for (size_t i = 0; i < p->count; i++) {
    free(p->waiting[i].made);
    free(p->waiting[i].place);
    p->waiting[i] = (struct waiting){0};
  }
  p->count = 0;
  return rc;
}

void publish_close(struct publish *p)
{
  if (!p)
    return;
  for (size_t i = 0; i < GROUP + 1; i++) {
    free(p->waiting[i].made);
    free(p->waiting[i].place);
  }
  if (p->lock >= 0) {
    file_remove_tree(p->tmp, NULL);
    close(p->lock);
  }
  free(p->out);
  free(p->tmp);
  free(p);
}
