// Walks what was handed in and settles whose each entry is, and which of a
// student's entries is graded. Archives of a class's work are unpacked; those
// of one submission are left alone.
#include "graders/intake.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graders/intake-name.h"
#include "graders/unpack.h"
#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/base/file.h"
#include "labgen/lab/yaml.h"

#define GRADESCOPE_FILE "submission_metadata.yml"

struct scan {
  const struct intake_spec *spec;
  struct people *people;
  struct intake *in;
  size_t argument;
  const char *shown;  // the path as given, for names
  struct error *err;
};

// --- looking at the disk ----------------------------------------------------

struct names {
  char **v;  // owned, each too
  size_t count, room;
};

static int compare_names(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void names_release(struct names *n)
{
  for (size_t i = 0; i < n->count; i++)
    free(n->v[i]);
  free(n->v);
}

// What a folder holds, sorted, without what systems leave there.
static int list_folder(const char *path, struct names *ret, struct error *err)
{
  DIR *dir = opendir(path);
  struct dirent *e;
  if (!dir)
    return error_errno(err, LG_EIO, "cannot open the folder %s", path);
  while ((errno = 0, e = readdir(dir))) {
    if (e->d_name[0] == '.' || strcmp(e->d_name, "__MACOSX") == 0)
      continue;
    GROW(ret->v, ret->count, ret->room);
    ret->v[ret->count++] = xstrdup(e->d_name);
  }
  int rc =
      errno ? error_errno(err, LG_EIO, "cannot read the folder %s", path) : 0;
  closedir(dir);
  if (ret->count)
    qsort(ret->v, ret->count, sizeof(*ret->v), compare_names);
  return rc;
}

static bool has(const char *folder, const char *name, bool is_folder)
{
  char *path = path_join(folder, name);
  struct stat st;
  bool there = lstat(path, &st) == 0 &&
               (is_folder ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode));
  free(path);
  return there;
}

bool intake_is_bare(const char *folder)
{
  return has(folder, "HEAD", false) && has(folder, "objects", true);
}

bool intake_is_work(const char *folder, const struct texts *files)
{
  if (has(folder, ".git", true) || has(folder, ".git", false) ||
      intake_is_bare(folder))
    return true;
  for (size_t i = 0; i < files->count; i++) {
    const char *file = files->items[i], *slash = strrchr(file, '/');
    char *top = xstrndup(file, strcspn(file, "/"));
    bool found = has(folder, top, slash != NULL) ||
                 (slash && has(folder, slash + 1, false));
    free(top);
    if (found)
      return true;
  }
  return false;
}

// --- entries ----------------------------------------------------------------

static struct intake_entry *add_entry(struct scan *s, const char *path,
                                      const char *name)
{
  struct intake *in = s->in;
  GROW(in->entries, in->count, in->room);
  struct intake_entry *e = &in->entries[in->count++];
  *e = (struct intake_entry){.path = xstrdup(path), .argument = s->argument};
  e->name = *name ? xasprintf("%s/%s", s->shown, name) : xstrdup(s->shown);
  return e;
}

// Settles the form; a problem for what is no file and no folder.
static void look_at_form(struct intake_entry *e, const char *name)
{
  struct stat st;
  if (lstat(e->path, &st) != 0)
    e->problem = xasprintf("it cannot be looked at: %s", strerror(errno));
  else if (S_ISDIR(st.st_mode))
    e->form = INTAKE_FOLDER;
  else if (!S_ISREG(st.st_mode))
    e->problem = xasprintf(
        "it is %s", S_ISLNK(st.st_mode) ? "a symbolic link" : "a device");
  else
    e->form = name[intake_stem(name)] ? INTAKE_ARCHIVE : INTAKE_FILE;
}

// Whose a name is: first the whole of it, then as its form says. The problem of
// the latter is kept.
static const struct student *find_owner(const struct scan *s, const char *name,
                                        struct intake_name *parts,
                                        struct buf *problem)
{
  struct buf first = BUF_INIT;
  char *stem = xstrndup(name, intake_stem(name));
  intake_name_parse(name, parts);
  const struct student *found = people_find(s->people, stem, NULL, &first);
  if (found) {
    parts->attempt = 0;
    free(parts->given);
    parts->given = xstrdup(name);
  } else {
    found = people_find(s->people, parts->who, parts->account, problem);
  }
  free(stem);
  buf_release(&first);
  return found;
}

static void add_named(struct scan *s, const char *path, const char *shown,
                      const char *name)
{
  struct intake_name parts;
  struct buf problem = BUF_INIT;
  struct intake_entry *e = add_entry(s, path, shown);
  const struct student *owner = find_owner(s, name, &parts, &problem);
  look_at_form(e, parts.given);
  if (e->form == INTAKE_FILE && name[intake_stem(name)])
    e->form = INTAKE_ARCHIVE;
  e->given = xstrdup(parts.given);
  e->late = parts.late;
  e->number = parts.attempt;
  if (!e->problem && !owner)
    e->problem = buf_detach(&problem);
  e->student = e->problem ? NULL : owner;
  buf_release(&problem);
  intake_name_release(&parts);
}

// --- Gradescope -------------------------------------------------------------

static const char *text_of(const struct node *map, const char *key)
{
  const struct node *n = map->kind == NODE_MAP ? node_get(map, key) : NULL;
  return n && n->kind == NODE_SCALAR ? n->text : "";
}

// "2026-03-01 10:11:12.345678 Z", or with an offset.
static void read_time(const char *text, struct when *ret)
{
  struct buf b = BUF_INIT;
  size_t n = strcspn(text, ".");
  buf_add(&b, text, n);
  if (text[n])
    buf_adds(&b, text + n + 1 + strspn(text + n + 1, "0123456789"));
  if (when_parse(buf_str(&b), ret))
    *ret = (struct when){0};
  buf_release(&b);
}

static const struct student *find_submitter(const struct scan *s,
                                            const struct node *submitter,
                                            struct buf *problem)
{
  static const char *const keys[] = {":sid", ":email", ":name"};
  const struct student *found = NULL;
  for (size_t i = 0; i < 3 && !found; i++) {
    // Keys are Ruby's symbols: ":sid:", of which YAML takes the last colon.
    const char *text = text_of(submitter, keys[i]);
    if (*text) {
      buf_truncate(problem, 0);
      found = people_find(s->people, text, NULL, problem);
    }
  }
  if (!found && !problem->len)
    buf_adds(problem, GRADESCOPE_FILE " names nobody for it");
  return found;
}

static void add_gradescope_entry(struct scan *s, const char *path,
                                 const char *shown, const char *name,
                                 const struct node *about)
{
  struct buf problem = BUF_INIT;
  struct intake_entry *e = add_entry(s, path, shown);
  const struct student *owner = NULL;
  const struct node *submitters =
      about && about->kind == NODE_MAP ? node_get(about, ":submitters") : NULL;
  e->given = xstrdup(name);
  look_at_form(e, name);
  if (!submitters || submitters->kind != NODE_LIST)
    buf_adds(&problem, GRADESCOPE_FILE " says nothing about it");
  for (size_t i = 0; submitters && submitters->kind == NODE_LIST &&
                     i < submitters->count && (i == 0 || owner);
       i++) {
    const struct student *one =
        find_submitter(s, submitters->items[i], &problem);
    if (one && owner && one != owner) {
      buf_addf(&problem,
               "it is handed in for more than one student: '%s' and "
               "'%s'",
               owner->id, one->id);
      one = NULL;
    }
    owner = one;
  }
  if (about)
    read_time(text_of(about, ":created_at"), &e->handed_in);
  size_t digits = strlen(name);
  while (digits > 0 && strchr("0123456789", name[digits - 1]))
    digits--;
  e->number = strtoull(name + digits, NULL, 10);
  if (!e->problem && !owner)
    e->problem = buf_detach(&problem);
  e->student = e->problem ? NULL : owner;
  buf_release(&problem);
}

// --- folders ----------------------------------------------------------------

static int scan_folder(struct scan *s, const char *path, const char *shown);

// The one folder in which an archive keeps everything.
static bool is_wrapping(const struct scan *s, const char *path,
                        const struct names *names)
{
  struct intake_name parts = {0};
  struct buf problem = BUF_INIT;
  bool wraps = false;
  if (names->count == 1 && has(path, names->v[0], true)) {
    char *below = path_join(path, names->v[0]);
    wraps = !find_owner(s, names->v[0], &parts, &problem) &&
            !intake_is_work(below, &s->spec->files);
    free(below);
    intake_name_release(&parts);
  }
  buf_release(&problem);
  return wraps;
}

static int scan_names(struct scan *s, const char *path, const char *shown,
                      const struct names *names, const struct node *metadata)
{
  int rc = 0;
  bool wraps = !metadata && is_wrapping(s, path, names);
  for (size_t i = 0; i < names->count && rc == 0; i++) {
    const char *name = names->v[i];
    char *below = path_join(path, name), *label = path_join(shown, name);
    if (wraps)
      rc = scan_folder(s, below, label);
    else if (!metadata)
      add_named(s, below, label, name);
    else if (strcmp(name, GRADESCOPE_FILE) != 0)
      add_gradescope_entry(s, below, label, name, node_get(metadata, name));
    free(below);
    free(label);
  }
  return rc;
}

static int scan_folder(struct scan *s, const char *path, const char *shown)
{
  struct names names = {0};
  struct arena arena = {0};
  const struct node *metadata = NULL;
  int rc = list_folder(path, &names, s->err);
  if (rc == 0 && has(path, GRADESCOPE_FILE, false)) {
    char *file = path_join(path, GRADESCOPE_FILE);
    rc = yaml_read(file, &arena, &metadata, s->err);
    if (rc == 0 && metadata->kind != NODE_MAP)
      rc = error_at(s->err, LG_EINPUT, file, metadata->line, metadata->column,
                    "a map of submissions is needed here");
    free(file);
  }
  if (rc == 0)
    rc = scan_names(s, path, shown, &names, metadata);
  arena_release(&arena);
  names_release(&names);
  return rc;
}

static const char *last_part(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int scan_file(struct scan *s, const char *path)
{
  struct intake_name parts;
  struct buf problem = BUF_INIT;
  const char *name = last_part(path);
  const struct student *owner = find_owner(s, name, &parts, &problem);
  int rc = 0;
  if (owner || !name[intake_stem(name)]) {
    add_named(s, path, "", name);
  } else {
    char *to = xasprintf("%s/class-%zu", s->spec->scratch, s->argument);
    rc = unpack(path, to, &unpack_class, s->err);
    rc = rc ? rc : scan_folder(s, to, "");
    free(to);
  }
  intake_name_release(&parts);
  buf_release(&problem);
  return rc;
}

static int scan_path(struct scan *s, const char *path)
{
  char *real = realpath(path, NULL);
  struct stat st;
  int rc = 0;
  if (!real || stat(real, &st) != 0)
    rc = error_errno(s->err, LG_ENOTFOUND, "%s", path);
  else if (S_ISREG(st.st_mode))
    rc = scan_file(s, real);
  else if (!S_ISDIR(st.st_mode))
    rc = error_set(s->err, LG_EREFUSED, "%s is no file and no folder", path);
  else if (intake_is_work(real, &s->spec->files))
    add_named(s, real, "", last_part(real));
  else
    rc = scan_folder(s, real, "");
  free(real);
  return rc;
}

// --- claims -----------------------------------------------------------------

// The student's entries come one after the other, the newest last; single files
// before folders and archives of the same argument.
static const struct intake *sorting;
static int by_student(const void *a, const void *b)
{
  size_t i = *(const size_t *)a, k = *(const size_t *)b;
  const struct intake_entry *x = &sorting->entries[i];
  const struct intake_entry *y = &sorting->entries[k];
  if (x->student != y->student)
    return x->student < y->student ? -1 : 1;
  if (x->argument != y->argument)
    return x->argument < y->argument ? -1 : 1;
  bool x_file = x->form == INTAKE_FILE, y_file = y->form == INTAKE_FILE;
  if (x_file != y_file)
    return x_file ? -1 : 1;
  if (x->number != y->number)
    return x->number < y->number ? -1 : 1;
  return (i > k) - (i < k);
}

static void claim_side_by_side(struct intake *in, const size_t *order,
                               size_t count)
{
  for (size_t i = 0; i < count; i++) {
    struct intake_entry *e = &in->entries[order[i]];
    const struct intake_entry *other = &in->entries[order[i ? 0 : 1]];
    e->problem = xasprintf(
        "'%s' is claimed by '%s' too, and neither says which is later; leave "
        "one of them",
        e->student->id, other->name);
  }
  for (size_t i = 0; i < count; i++)
    in->entries[order[i]].student = NULL;
}

// Chooses what is graded of one student's entries, which are sorted.
static void claim(struct intake *in, size_t first, size_t count)
{
  size_t *order = &in->order[first], from = count - 1;
  const struct intake_entry *last = &in->entries[order[from]];
  if (last->form == INTAKE_FILE) {
    while (from > 0 && in->entries[order[from - 1]].argument == last->argument)
      from--;
  } else {
    size_t equal = from;
    while (equal > 0) {
      const struct intake_entry *e = &in->entries[order[equal - 1]];
      if (e->argument != last->argument || e->number != last->number ||
          e->form == INTAKE_FILE)
        break;
      equal--;
    }
    if (equal < from) {
      for (size_t i = 0; i < equal; i++)
        in->entries[order[i]].superseded = true;
      claim_side_by_side(in, &order[equal], count - equal);
      return;
    }
  }
  for (size_t i = 0; i < from; i++)
    in->entries[order[i]].superseded = true;
  in->claims[in->claim_count++] =
      (struct intake_claim){last->student, first + from, count - from};
}

static void make_claims(struct intake *in)
{
  size_t n = 0;
  in->order = xcalloc(in->count + 1, sizeof(*in->order));
  in->claims = xcalloc(in->count + 1, sizeof(*in->claims));
  for (size_t i = 0; i < in->count; i++)
    if (in->entries[i].student)
      in->order[n++] = i;
  sorting = in;
  qsort(in->order, n, sizeof(*in->order), by_student);
  for (size_t i = 0, k; i < n; i = k) {
    for (k = i + 1; k < n && in->entries[in->order[k]].student ==
                                 in->entries[in->order[i]].student;)
      k++;
    claim(in, i, k - i);
  }
}

int intake_scan(const struct intake_spec *spec, struct intake *ret,
                struct error *err)
{
  struct intake in = {0};
  struct scan s = {.spec = spec, .in = &in, .err = err};
  int rc = 0;
  s.people = people_index(spec->roster);
  for (; s.argument < spec->path_count && rc == 0; s.argument++) {
    const char *path = spec->paths[s.argument];
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
      len--;
    char *shown = xstrndup(path, len);
    s.shown = shown;
    rc = scan_path(&s, path);
    free(shown);
  }
  people_free(s.people);
  if (rc) {
    intake_release(&in);
    return rc;
  }
  make_claims(&in);
  *ret = in;
  return 0;
}

void intake_release(struct intake *in)
{
  for (size_t i = 0; i < in->count; i++) {
    struct intake_entry *e = &in->entries[i];
    free(e->path);
    free(e->name);
    free(e->given);
    free(e->problem);
  }
  free(in->entries);
  free(in->order);
  free(in->claims);
  *in = (struct intake){0};
}
