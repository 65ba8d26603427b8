// Builds the output folder, student by student: trees in memory, a repository
// beside its place, a rename. One student's objects are forgotten before the
// next one's are made, so that memory does not grow with the roster.
#include "labgen/repo/build.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/repo/archive.h"
#include "labgen/repo/kernel.h"
#include "labgen/repo/keys.h"
#include "labgen/repo/publish.h"
#include "labgen/repo/repo.h"
#include "labgen/repo/student.h"

struct build {
  struct course *course;
  const struct build_options *options;
  struct publish *publish;
  struct kernels *kernels;  // NULL without kernels
  struct build_counts counts;
};

static void tell(struct build *b)
{
  if (b->kernels) {
    b->counts.compiled = kernels_compiled(b->kernels);
    b->counts.failed = kernels_failed(b->kernels);
  }
  if (b->options->on_progress)
    b->options->on_progress(b->options->arg, &b->counts);
}

static void kernel_done(void *arg, const char *label, const char *words)
{
  struct build *b = arg;
  b->counts.kernels++;
  if (words && b->options->on_failed)
    b->options->on_failed(b->options->arg, label, words);
  tell(b);
}

// Has a repository appear as `name` below the output folder, unless it is there
// or somebody worked in it.
static int settle(struct build *b, const char *name,
                  const struct repo_plan *plan, struct error *err)
{
  char *place = publish_place(b->publish, name);
  enum repo_state state = repo_look(place, plan);
  int rc = 0;
  if (state == REPO_CURRENT) {
    b->counts.current++;
  } else if (state == REPO_CHANGED) {
    b->counts.kept++;
    if (b->options->on_kept)
      b->options->on_kept(b->options->arg, place);
  } else {
    rc = repo_write(publish_begin(b->publish, name), b->course->objects, plan,
                    err);
    int end = publish_end(b->publish, rc, err);
    rc = rc ? rc : end;
    if (state == REPO_UNTOUCHED)
      b->counts.replaced++;
    else
      b->counts.made++;
  }
  if (rc == 0 && b->options->archives && state != REPO_CHANGED)
    rc = archive_repository(b->publish, b->course, name, plan, err);
  b->counts.trees++;
  tell(b);
  free(place);
  return rc;
}

// --- the instructor's repository -------------------------------------------

struct instructor {
  struct repo_branch *branches;  // sorted; names owned
  struct tree *trees;            // the same index
  size_t count;
};

static void add_branch(struct instructor *in, char *taken_name,
                       const struct tree *tree, const struct object_id *commit)
{
  size_t at = in->count++;
  while (at > 0 && strcmp(in->branches[at - 1].name, taken_name) > 0) {
    in->branches[at] = in->branches[at - 1];
    in->trees[at] = in->trees[at - 1];
    at--;
  }
  in->branches[at] = (struct repo_branch){taken_name, *commit};
  in->trees[at] = (struct tree){0};
  tree_copy(&in->trees[at], tree);
}

static int add_bug(struct course *c, const struct bug *bug,
                   struct instructor *in, struct error *err)
{
  struct tree tree = {0};
  struct object_id id;
  const struct course_commit *reference = &c->chain[c->chain_count - 1];
  struct commit_words words = course_words(c, bug->title);
  tree_copy(&tree, &reference->tree);
  int rc = bug_apply(bug, NULL, &tree, err);
  rc = rc ? rc
          : objects_commit(c->objects, &tree, &reference->id, &words, &id, err);
  if (rc == 0)
    add_branch(in, xasprintf("clinic/%s", bug->id), &tree, &id);
  tree_release(&tree);
  return rc;
}

static int make_instructor(struct course *c, struct instructor *in,
                           struct error *err)
{
  size_t room = 3 + c->lab.branches.count + c->catalogue.bug_count;
  const struct course_commit *chain = c->chain;
  size_t last = c->chain_count - 1;
  int rc = 0;
  in->branches = xcalloc(room, sizeof(*in->branches));
  in->trees = xcalloc(room, sizeof(*in->trees));
  add_branch(in, xstrdup("base"), &chain[0].tree, &chain[0].id);
  add_branch(in, xstrdup("start"), &chain[c->start].tree, &chain[c->start].id);
  add_branch(in, xstrdup("reference"), &chain[last].tree, &chain[last].id);
  for (size_t i = 0; i < c->lab.branches.count; i++)
    add_branch(in,
               xstrdup(LIST_AT(c->lab.branches, struct lab_branch, i)->name),
               &c->branches[i].tree, &c->branches[i].id);
  for (size_t i = 0; i < c->catalogue.bug_count; i++) {
    int one = add_bug(c, &c->catalogue.bugs[i], in, err);
    rc = rc ? rc : one;
  }
  return rc;
}

static void instructor_release(struct instructor *in)
{
  for (size_t i = 0; i < in->count; i++) {
    free((char *)in->branches[i].name);
    tree_release(&in->trees[i]);
  }
  free(in->branches);
  free(in->trees);
}

static size_t find_branch(const struct instructor *in, const char *name)
{
  size_t i = 0;
  while (strcmp(in->branches[i].name, name) != 0)
    i++;
  return i;
}

// The kernels of the start and of the reference come first and are kept as
// built trees: all others are like one of them.
static int instructor_kernels(struct build *b, const struct instructor *in,
                              struct error *err)
{
  static const char *const first[] = {"start", "reference"};
  char key[KERNEL_KEY_BYTES];
  int rc = 0;
  if (!b->kernels)
    return 0;
  for (size_t i = 0; i < 2 && rc == 0; i++)
    rc = kernels_warm(b->kernels, &in->trees[find_branch(in, first[i])],
                      first[i], key, err);
  for (size_t i = 0; i < in->count && rc == 0; i++) {
    const char *name = in->branches[i].name;
    if (strcmp(name, "base") != 0 && strcmp(name, first[0]) != 0 &&
        strcmp(name, first[1]) != 0)
      rc = kernels_add(b->kernels, &in->trees[i], name, key, err);
  }
  return rc;
}

// --- students --------------------------------------------------------------

static int student_repositories(struct build *b, const struct student_work *w,
                                struct error *err)
{
  struct repo_plan plan;
  int rc = 0;
  if (b->options->lab) {
    char *name = xasprintf("students/%s", w->student->id);
    student_lab_plan(b->course, w, &plan);
    rc = settle(b, name, &plan, err);
    free((void *)plan.branches);
    free(name);
  }
  if (b->options->clinic && w->clinic_count && rc == 0) {
    char *name = xasprintf("clinic/%s", w->student->id);
    student_clinic_plan(w, &plan);
    rc = settle(b, name, &plan, err);
    free((void *)plan.branches);
    free(name);
  }
  return rc;
}

static int student_kernels(struct build *b, const struct student_work *w,
                           struct student_kernels *ret, struct error *err)
{
  int rc = 0;
  if (b->kernels && b->options->lab) {
    char *label = xasprintf("student %s, branch %s", w->student->id,
                            b->course->lab.start.branch);
    rc = kernels_add(b->kernels, &w->lab_tree, label, ret->lab, err);
    free(label);
  }
  for (size_t i = 0;
       b->kernels && b->options->clinic && rc == 0 && i < w->clinic_count;
       i++) {
    char *label =
        xasprintf("student %s, branch %s", w->student->id, w->clinic[i].name);
    rc =
        kernels_add(b->kernels, &w->clinic[i].tree, label, ret->clinic[i], err);
    free(label);
  }
  return rc;
}

static int write_key(struct build *b, const struct student_work *w,
                     const struct student_kernels *kernels, struct error *err)
{
  struct buf text = BUF_INIT;
  bool changed;
  json_t *before = key_read(b->options->out, w->student->id);
  json_t *key = key_make(b->course, w, kernels, before);
  char *path = xasprintf("%s/keys/%s.json", b->options->out, w->student->id);
  json_format(key, &text);
  int rc = write_if_changed(path, &text, &changed, err);
  json_decref(before);
  json_decref(key);
  free(path);
  buf_release(&text);
  return rc;
}

// The key is on the disk before the repository appears, so that no start is
// ever handed out that staff know nothing of.
static int build_student(struct build *b, const struct student *s,
                         struct error *err)
{
  struct student_work w;
  struct student_kernels kernels = {0};
  size_t mark = objects_mark(b->course->objects);
  int rc = student_make(b->course, s, &w, err);
  if (rc)
    return rc;
  kernels.clinic = xcalloc(w.clinic_count + 1, KERNEL_KEY_BYTES);
  rc = student_kernels(b, &w, &kernels, err);
  rc = rc ? rc : write_key(b, &w, &kernels, err);
  rc = rc ? rc : student_repositories(b, &w, err);
  free(kernels.clinic);
  student_release(&w);
  objects_rollback(b->course->objects, mark);
  return rc;
}

static bool is_wanted(const struct build_options *o, const char *id)
{
  for (size_t i = 0; i < o->student_count; i++)
    if (strcmp(o->students[i], id) == 0)
      return true;
  return o->student_count == 0;
}

static void count_totals(struct build *b, const struct instructor *in)
{
  const struct build_options *o = b->options;
  const struct course *c = b->course;
  size_t students = 0, picks = c->lab.clinic.picks.count;
  for (size_t i = 0; i < c->roster.count; i++)
    students += is_wanted(o, c->roster.students[i].id);
  b->counts.trees_total = 1 + students * (o->lab + (o->clinic && picks > 0));
  if (o->kernels)
    b->counts.kernels_total =
        in->count - 1 + students * (o->lab + (o->clinic ? picks : 0));
}

static int write_manifest(struct build *b, const struct repo_plan *instructor,
                          struct error *err)
{
  struct buf text = BUF_INIT;
  bool changed;
  char *path = path_join(b->options->out, "manifest.json");
  int rc = manifest_make(b->course, b->options->out, instructor, &text, err);
  rc = rc ? rc : write_if_changed(path, &text, &changed, err);
  buf_release(&text);
  free(path);
  return rc;
}

static int build_all(struct build *b, struct instructor *in, struct error *err)
{
  struct course *c = b->course;
  struct repo_plan plan = {in->branches, in->count, 0, NULL};
  plan.head = find_branch(in, "reference");
  plan.tree = &in->trees[plan.head];
  count_totals(b, in);
  tell(b);
  int rc = settle(b, "instructor", &plan, err);
  rc = rc ? rc : instructor_kernels(b, in, err);
  for (size_t i = 0; i < c->roster.count && rc == 0; i++)
    if (is_wanted(b->options, c->roster.students[i].id))
      rc = build_student(b, &c->roster.students[i], err);
  if (b->kernels)
    rc = rc ? rc : kernels_finish(b->kernels, err);
  rc = rc ? rc : publish_flush(b->publish, err);
  return rc ? rc : write_manifest(b, &plan, err);
}

// Makes one student's trees and forgets them: what is wrong with handouts or
// with the rendering is wrong for everybody, and is said before anything is
// written.
static int try_student(struct course *c, struct error *err)
{
  struct student_work w;
  size_t mark = objects_mark(c->objects);
  int rc = student_make(c, &c->roster.students[0], &w, err);
  if (rc == 0)
    student_release(&w);
  objects_rollback(c->objects, mark);
  return rc;
}

int build_run(struct course *course, const struct build_options *options,
              struct build_counts *ret, struct error *err)
{
  struct build b = {.course = course, .options = options};
  struct instructor in = {0};
  char *keys = path_join(options->out, "keys");
  char *cache = path_join(options->out, ".cache");
  size_t mark = objects_mark(course->objects);
  int rc = make_instructor(course, &in, err);
  rc = rc ? rc : try_student(course, err);
  rc = rc ? rc : publish_open(options->out, &b.publish, err);
  rc = rc ? rc : file_mkdirs(keys, err);
  if (rc == 0 && chmod(keys, 0700))
    rc = error_errno(err, LG_EIO, "%s", keys);
  if (rc == 0 && options->kernels) {
    struct kernel_options k = {
        .publish = b.publish,
        .cache = cache,
        .jobs = options->jobs,
        .limits = course->lab.limits,
        .products = course->lab.base.products,
        .on_done = kernel_done,
        .arg = &b,
    };
    b.kernels = kernels_open(&k);
  }
  rc = rc ? rc : build_all(&b, &in, err);
  // What was complete when something failed is kept.
  if (rc && b.publish)
    publish_flush(b.publish, NULL);
  objects_rollback(course->objects, mark);
  *ret = b.counts;
  kernels_close(b.kernels);
  publish_close(b.publish);
  instructor_release(&in);
  free(keys);
  free(cache);
  return rc;
}

size_t build_coincidences(const struct course *c)
{
  size_t n = 0;
  bool before = false;
  for (size_t i = 0; i < c->roster.count; i++) {
    bool after = i + 1 < c->roster.count &&
                 student_same_bugs(c, &c->roster.students[i],
                                   &c->roster.students[i + 1]);
    n += before || after;
    before = after;
  }
  return n;
}
