// Reads submissions from folders, archives, single files and repositories. What
// may not be there is refused before anything is read.
#include "graders/submission.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graders/unpack.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/repo/student.h"

#define MAX_FILES 20000
#define MAX_DEPTH 32
#define MAX_BYTES (256u << 20)
#define MAX_FILE_BYTES (8u << 20)
#define MAX_WRAPPINGS 4  // folders round the one that holds the work

// --- looking before reading -------------------------------------------------

// One look at a folder. nftw() takes no argument for its callback.
static struct {
  const char *root;
  size_t files;
  uint64_t bytes;
  int rc;
  struct error *err;
} look;

static int refuse(const char *path, const char *why)
{
  struct buf text = BUF_INIT;
  buf_add_terminal(&text, path, strnlen(path, 300));
  look.rc = error_set(look.err, LG_EREFUSED, "'%s' %s", buf_str(&text), why);
  buf_release(&text);
  return look.rc;
}

static bool has_control(const char *s)
{
  for (; *s; s++)
    if ((unsigned char)*s < 0x20 || *s == 0x7f)
      return true;
  return false;
}

static int look_at(const char *path, const struct stat *st, int type,
                   struct FTW *at)
{
  const char *name = path + strlen(look.root), *last = path + at->base;
  name += *name == '/';
  if (*name == '\0')
    return type == FTW_D ? 0 : refuse(look.root, "cannot be opened");
  if (has_control(name))
    return refuse(name, "has a control character in its name");
  if (type == FTW_SL || type == FTW_SLN)
    return refuse(name, "is a symbolic link");
  if (type == FTW_DNR || type == FTW_NS)
    return refuse(name, "cannot be read");
  if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
    return refuse(name, "is a device, a pipe or a socket");
  if (strcmp(last, ".git") == 0 && S_ISREG(st->st_mode))
    return refuse(name, "is a file that names another folder; hand in a clone");
  if (strcmp(last, ".git") == 0 && at->level > 1)
    return refuse(name, "is a repository within the submission");
  if (at->level > MAX_DEPTH)
    return refuse(name, "lies too many folders deep");
  if (++look.files > MAX_FILES)
    return refuse(name, "is one file too many: 20000 is the most");
  if (S_ISREG(st->st_mode))
    look.bytes += (uint64_t)st->st_size;
  if (look.bytes > MAX_BYTES)
    return refuse(name, "makes the whole larger than 256 MiB");
  return 0;
}

static int look_over(const char *root, struct error *err)
{
  look.root = root;
  look.files = 0;
  look.bytes = 0;
  look.rc = 0;
  look.err = err;
  if (nftw(root, look_at, 16, FTW_PHYS) < 0 && look.rc == 0)
    return error_errno(err, LG_EIO, "cannot look through %s", root);
  return look.rc;
}

// The folder in `path` that holds the work: itself, or the only one in it.
// Caller owns the result.
static char *find_root(const char *path, const struct texts *files)
{
  char *root = xstrdup(path);
  for (int i = 0; i < MAX_WRAPPINGS && !intake_is_work(root, files); i++) {
    DIR *dir = opendir(root);
    struct dirent *e;
    char *only = NULL;
    size_t count = 0;
    while (dir && (e = readdir(dir))) {
      if (e->d_name[0] == '.' || strcmp(e->d_name, "__MACOSX") == 0)
        continue;
      free(only);
      only = path_join(root, e->d_name);
      count++;
    }
    if (dir)
      closedir(dir);
    struct stat st;
    bool deeper = count == 1 && lstat(only, &st) == 0 && S_ISDIR(st.st_mode);
    if (!deeper) {
      free(only);
      break;
    }
    free(root);
    root = only;
  }
  return root;
}

// --- single files -----------------------------------------------------------

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// Whether `given` is `wanted`, or what a platform makes of it when it comes
// again: "kalloc-2.c".
static bool is_called(const char *given, const char *wanted)
{
  size_t stem = strcspn(wanted, ".");
  if (strncmp(given, wanted, stem) != 0)
    return false;
  const char *rest = given + stem;
  if (*rest == '-')
    rest += 1 + strspn(rest + 1, "0123456789");
  return strcmp(rest, wanted + stem) == 0;
}

// The path in the tree that a single file stands for, or NULL.
static const char *place_of(const struct lab_submission *rules,
                            const char *given)
{
  for (size_t i = 0; i < rules->files.count; i++)
    if (is_called(given, base_name(rules->files.items[i])))
      return rules->files.items[i];
  for (size_t i = 0; i < rules->functions.count; i++) {
    const char *file = LIST_AT(rules->functions, struct lab_function, i)->file;
    if (is_called(given, base_name(file)))
      return file;
  }
  for (size_t i = 0; i < rules->prototypes.count; i++)
    if (is_called(given, base_name(rules->prototypes.items[i])))
      return rules->prototypes.items[i];
  return NULL;
}

static int read_single(const struct submission_spec *spec,
                       const struct intake_entry *e, struct submission *s,
                       struct error *err)
{
  struct buf bytes = BUF_INIT;
  const char *place = place_of(&spec->course->lab.submission, e->given);
  int rc = 0;
  if (!place) {
    buf_addf(&s->notes, "%s: no file of this lab; it was not used\n", e->name);
    return 0;
  }
  rc = file_read(e->path, MAX_FILE_BYTES, &bytes, err);
  if (rc == LG_ELIMIT)
    rc = LG_EREFUSED;
  if (rc == 0)
    rc = tree_put(&s->tree, place, buf_str(&bytes), bytes.len, false, err);
  buf_release(&bytes);
  return rc;
}

// A folder with kalloc.c and no kernel/: puts files of the lab where they belong.
static int place_loose_files(const struct lab_submission *rules,
                             struct submission *s, struct error *err)
{
  int rc = 0;
  for (size_t i = 0; i < s->tree.count && rc == 0; i++) {
    const struct tree_file *f = &s->tree.files[i];
    const char *place = strchr(f->path, '/') ? NULL : place_of(rules, f->path);
    if (!place || !strchr(place, '/') || tree_find(&s->tree, place))
      continue;
    char *path = xstrdup(f->path);
    buf_addf(&s->notes, "%s: taken for %s\n", path, place);
    rc = tree_put(&s->tree, place, f->content->bytes, f->content->len, false,
                  err);
    tree_drop(&s->tree, path);
    free(path);
    i = (size_t)-1;  // the order has changed
  }
  return rc;
}

// --- repositories -----------------------------------------------------------

static int read_history(const struct submission_spec *spec, struct foreign *f,
                        struct submission *s, struct error *err)
{
  struct course *c = spec->course;
  const struct tree **starts = xcalloc(c->start + 1, sizeof(*starts));
  for (size_t i = 0; i < c->start; i++)
    starts[i] = &c->chain[i + 1].tree;
  size_t mark = objects_mark(c->objects);
  int rc = foreign_history(f, &s->commit, c->objects, starts, c->start,
                           c->lab.start.handout_file, &s->history, err);
  objects_rollback(c->objects, mark);
  free(starts);
  return rc;
}

// Says which of the files that are graded are not as they were committed.
static void note_uncommitted(const struct lab_submission *rules,
                             const struct tree *committed, struct submission *s)
{
  for (size_t i = 0; i < s->tree.count; i++) {
    const struct tree_file *f = &s->tree.files[i];
    const struct tree_file *was = tree_find(committed, f->path);
    if (!place_of(rules, base_name(f->path)) &&
        strcmp(f->path, ANSWERS_FILE) != 0)
      continue;
    if (!was || was->content->len != f->content->len ||
        memcmp(was->content->bytes, f->content->bytes, f->content->len) != 0)
      buf_addf(&s->notes,
               "%s: not committed as it is here; the file here was "
               "used\n",
               f->path);
  }
}

static bool has_work(const struct tree *t, const struct texts *files)
{
  for (size_t i = 0; i < files->count; i++)
    if (tree_find(t, files->items[i]))
      return true;
  return false;
}

// The lab's tree: the working folder where the lab's branch is checked out,
// else the branch's commit.
static int read_lab(const struct submission_spec *spec, struct foreign *f,
                    struct submission *s, struct error *err)
{
  const struct lab *lab = &spec->course->lab;
  struct tree committed = {0};
  const char *branch = lab->start.branch;
  if (!foreign_commit(f, branch, &s->commit)) {
    branch = foreign_head(f);
    if (!foreign_commit(f, NULL, &s->commit))
      return error_set(err, LG_EREFUSED,
                       "the repository has no commit on '%s', and none is "
                       "checked out",
                       lab->start.branch);
  }
  free(s->branch);
  s->branch = xstrdup(branch);
  int rc = foreign_tree(f, &s->commit, &committed, err);
  rc = rc ? rc : read_history(spec, f, s, err);
  if (rc == 0 && strcmp(branch, foreign_head(f)) == 0 &&
      has_work(&s->tree, &lab->submission.files)) {
    note_uncommitted(&lab->submission, &committed, s);
    tree_release(&committed);
  } else if (rc == 0) {
    tree_release(&s->tree);
    s->tree = committed;
  } else {
    tree_release(&committed);
  }
  return rc;
}

// The branch that is checked out is taken as it lies there, like the lab's.
static void take_checked_out(const struct submission_spec *spec,
                             struct submission *s, struct submission_branch *b)
{
  const struct lab_submission *rules = &spec->course->lab.submission;
  if (!has_work(&s->tree, &rules->files))
    return;
  note_uncommitted(rules, &b->tree, s);
  tree_copy(&b->tree, &s->tree);
}

static int read_clinic(const struct submission_spec *spec, struct foreign *f,
                       struct submission *s, struct error *err)
{
  const struct lab_clinic *clinic = &spec->course->lab.clinic;
  s->clinic = xcalloc(clinic->picks.count + 1, sizeof(*s->clinic));
  int rc = 0;
  for (size_t i = 1; i <= clinic->picks.count && rc == 0; i++) {
    char *name = xasprintf("%s-%zu", clinic->branch, i);
    struct object_id id;
    if (foreign_commit(f, name, &id)) {
      struct submission_branch *b = &s->clinic[s->clinic_count++];
      b->number = i;
      rc = foreign_tree(f, &id, &b->tree, err);
      if (rc == 0 && strcmp(name, foreign_head(f)) == 0)
        take_checked_out(spec, s, b);
    }
    free(name);
  }
  return rc;
}

static int read_repository(const struct submission_spec *spec, const char *git,
                           struct submission *s, struct error *err)
{
  struct foreign *f = NULL;
  struct object_id id;
  int rc = foreign_open(git, &f, err);
  if (rc)
    return rc == LG_ENOTFOUND ? LG_EREFUSED : rc;
  s->repository = true;
  if (spec->course->lab.clinic.branch)
    rc = read_clinic(spec, f, s, err);
  if (rc == 0 && s->clinic_count &&
      !foreign_commit(f, spec->course->lab.start.branch, &id))
    tree_release(&s->tree);  // the clinic alone
  else if (rc == 0)
    rc = read_lab(spec, f, s, err);
  foreign_close(f);
  return rc;
}

// --- the whole --------------------------------------------------------------

static int read_folder(const struct submission_spec *spec, const char *path,
                       struct submission *s, struct error *err)
{
  const struct lab_submission *rules = &spec->course->lab.submission;
  int rc = 0;
  char *root = find_root(path, &rules->files);
  char *git = path_join(root, ".git");
  struct stat st;
  rc = look_over(root, err);
  bool bare = !file_exists(git) && intake_is_bare(root);
  if (rc == 0 && !bare)
    rc = tree_add_folder(&s->tree, root, "", err);
  if (rc == LG_EINPUT || rc == LG_ELIMIT)
    rc = LG_EREFUSED;
  rc = rc ? rc : place_loose_files(rules, s, err);
  if (rc == 0 && (bare || lstat(git, &st) == 0))
    rc = read_repository(spec, bare ? root : git, s, err);
  free(git);
  free(root);
  return rc;
}

static int read_entry(const struct submission_spec *spec,
                      const struct intake_entry *e, struct submission *s,
                      struct error *err)
{
  if (e->form == INTAKE_FILE)
    return read_single(spec, e, s, err);
  if (e->form == INTAKE_FOLDER)
    return read_folder(spec, e->path, s, err);
  char *to = path_join(spec->scratch, "unpacked");
  int rc = unpack(e->path, to, &unpack_one, err);
  rc = rc ? rc : read_folder(spec, to, s, err);
  free(to);
  return rc;
}

int submission_read(const struct submission_spec *spec, struct submission *ret,
                    struct error *err)
{
  const struct intake_claim *claim = spec->claim;
  struct submission s = {.branch = xstrdup("")};
  int rc = 0;
  s.history.start = FOREIGN_NO_START;
  for (size_t i = 0; i < claim->count && rc == 0; i++) {
    size_t at = spec->intake->order[claim->first + i];
    const struct intake_entry *e = &spec->intake->entries[at];
    s.late = s.late || e->late;
    if (e->handed_in.set)
      s.handed_in = e->handed_in;
    rc = read_entry(spec, e, &s, err);
  }
  // With the clinic in it, the platform's time says nothing of the lab.
  if (rc == 0 && (!s.handed_in.set || s.clinic_count) && s.history.commits)
    s.handed_in = (struct when){true, s.history.commit_seconds,
                                s.history.commit_offset_minutes};
  if (rc)
    submission_release(&s);
  else
    *ret = s;
  return rc;
}

void submission_release(struct submission *s)
{
  for (size_t i = 0; i < s->clinic_count; i++)
    tree_release(&s->clinic[i].tree);
  free(s->clinic);
  free(s->branch);
  tree_release(&s->tree);
  buf_release(&s->notes);
  *s = (struct submission){0};
}
