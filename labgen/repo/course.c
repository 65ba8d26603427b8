// Brings a lab file, and the files that it names, into memory, and makes the
// trees that are the same for everybody. What each student gets is in
// student.c.
#include "labgen/repo/course.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/lab/assign.h"
#include "labgen/lab/ctext.h"
#include "labgen/repo/source.h"

#define PATCH_MAX_BYTES (4u << 20)

struct commit_words course_words(const struct course *c, const char *message)
{
  return (struct commit_words){c->lab.commits.author, c->lab.commits.email,
                               c->lab.commits.date, message};
}

const struct tree *course_reference(const struct course *c)
{
  return &c->chain[c->chain_count - 1].tree;
}

const struct tree *course_start(const struct course *c)
{
  return &c->chain[c->start].tree;
}

int course_step(struct objects *o, const struct commit_step *step,
                struct tree *tree, struct error *err)
{
  struct tree work = {0};
  struct buf diff = BUF_INIT;
  int rc = 0;
  tree_copy(&work, tree);
  if (step->files)
    rc = tree_add_folder(&work, step->files, "", err);
  for (size_t i = 0; i < step->overlay.count && rc == 0; i++) {
    const struct overlay *over = LIST_AT(step->overlay, struct overlay, i);
    char *prefix = over->to ? xasprintf("%s/", over->to) : xstrdup("");
    rc = tree_add_folder(&work, over->folder, prefix, err);
    free(prefix);
  }
  if (rc == 0 && step->patch)
    rc = file_read(step->patch, PATCH_MAX_BYTES, &diff, err);
  if (rc == 0 && step->patch)
    rc = source_patch(o, &work, step->patch, buf_str(&diff), err);
  if (rc == 0)
    rc = edits_apply(&work, step->edits.items, step->edits.count, NULL, 0, err);
  if (rc == 0) {
    tree_release(tree);
    *tree = work;
  } else {
    tree_release(&work);
  }
  buf_release(&diff);
  return rc;
}

// Makes *ret the commit of `folder` on top of `below`.
static int add_commit(struct course *c, const char *folder,
                      const struct course_commit *below,
                      struct course_commit *ret, struct error *err)
{
  struct commit_step step;
  int rc = commit_step_read(folder, &c->arena, &step, err);
  if (rc)
    return rc;
  ret->message = step.message;
  tree_copy(&ret->tree, &below->tree);
  rc = course_step(c->objects, &step, &ret->tree, err);
  if (rc)
    return rc;
  struct commit_words words = course_words(c, ret->message);
  return objects_commit(c->objects, &ret->tree, &below->id, &words, &ret->id,
                        err);
}

static int make_base(struct course *c, struct error *err)
{
  const struct lab_base *b = &c->lab.base;
  struct course_commit *base = &c->chain[0];
  int rc = b->folder ? tree_add_folder(&base->tree, b->folder, "", err)
                     : source_git(b->git, b->commit, &base->tree, err);
  if (rc && b->git)
    return error_at(err, rc, b->at.path, b->at.line, b->at.column,
                    "base: that commit of '%s' cannot be had; 'commit' needs "
                    "what 'git rev-parse' takes there",
                    b->git);
  if (rc)
    return rc;
  if (base->tree.count == 0)
    return error_at(err, LG_EINPUT, b->at.path, b->at.line, b->at.column,
                    "base: there is no file in it");
  base->message = "Base kernel";
  struct commit_words words = course_words(c, base->message);
  return objects_commit(c->objects, &base->tree, NULL, &words, &base->id, err);
}

static int make_chain(struct course *c, struct error *err)
{
  const struct lab *lab = &c->lab;
  size_t total = 2 + lab->start.corrections.count + lab->reference.count;
  c->chain = xcalloc(total, sizeof(*c->chain));
  c->branches = xcalloc(lab->branches.count + 1, sizeof(*c->branches));
  c->start = 1 + lab->start.corrections.count;
  c->chain_count = total;
  int rc = make_base(c, err);
  for (size_t i = 1; i < total && rc == 0; i++) {
    const char *folder = i == 1 ? lab->start.commit
                         : i <= c->start
                             ? lab->start.corrections.items[i - 2]
                             : lab->reference.items[i - c->start - 1];
    rc = add_commit(c, folder, &c->chain[i - 1], &c->chain[i], err);
  }
  for (size_t i = 0; i < lab->branches.count && rc == 0; i++)
    rc = add_commit(c, LIST_AT(lab->branches, struct lab_branch, i)->commit,
                    &c->chain[total - 1], &c->branches[i], err);
  return rc;
}

static int expect_file(const struct course *c, const char *path,
                       const struct tree_file **ret, struct error *err)
{
  const struct tree *tree = course_reference(c);
  const struct place *at = &c->lab.submission.at;
  *ret = tree_find(tree, path);
  if (*ret)
    return 0;
  const char **paths = xcalloc(tree->count + 1, sizeof(*paths));
  for (size_t i = 0; i < tree->count; i++)
    paths[i] = tree->files[i].path;
  const char *near = nearest_name(path, paths, tree->count);
  free(paths);
  return error_at(err, LG_EINPUT, at->path, at->line, at->column,
                  "submission: the reference has no file '%s'%s%s%s", path,
                  near ? " (did you mean '" : "", near ? near : "",
                  near ? "'?)" : "");
}

// A file that does not parse has whatever function it is said to have.
static int expect_function(const struct lab_function *f,
                           const struct tree_file *file, struct error *err)
{
  struct ctext_items all = {0};
  struct buf code = BUF_INIT;
  ctext_strip(file->content->bytes, &code);
  bool found = ctext_split(buf_str(&code), &all, NULL) != 0;
  for (size_t i = 0; i < all.count && !found; i++)
    found = all.items[i].function && !all.items[i].is_prototype &&
            strcmp(all.items[i].function, f->function) == 0;
  ctext_items_release(&all);
  buf_release(&code);
  if (found)
    return 0;
  return error_at(err, LG_EINPUT, f->at.path, f->at.line, f->at.column,
                  "submission: the reference's %s defines no function '%s'",
                  f->file, f->function);
}

// What a submission may change is there to be changed.
static int check_submission(const struct course *c, struct error *err)
{
  const struct lab_submission *s = &c->lab.submission;
  const struct texts lists[] = {s->files, s->prototypes};
  const struct tree_file *file;
  int rc = 0, one;
  for (size_t i = 0; i < 2; i++) {
    for (size_t k = 0; k < lists[i].count; k++) {
      one = expect_file(c, lists[i].items[k], &file, err);
      rc = rc ? rc : one;
    }
  }
  for (size_t i = 0; i < s->functions.count; i++) {
    const struct lab_function *f =
        LIST_AT(s->functions, struct lab_function, i);
    one = expect_file(c, f->file, &file, err);
    one = one ? one : expect_function(f, file, err);
    rc = rc ? rc : one;
  }
  return rc;
}

int course_load(const char *lab_file, bool need_secret, struct course *ret,
                struct error *err)
{
  struct course c = {0};
  int rc = sodium_init() < 0 ? error_set(err, LG_EHARNESS, "libsodium") : 0;
  rc = rc ? rc : lab_read(lab_file, &c.arena, &c.lab, err);
  if (rc)
    goto out;
  int parts[] = {
      roster_read(c.lab.roster, &c.roster, err),
      catalogue_read(c.lab.clinic.bugs, c.lab.clinic.classes, &c.catalogue,
                     err),
      schema_read_file(&rendering_schema, c.lab.clinic.rendering, &c.arena,
                       &c.rendering, err),
  };
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
    rc = rc ? rc : parts[i];
  if (parts[1] == 0) {
    int picks = assign_check(&c.lab.clinic, &c.catalogue, err);
    rc = rc ? rc : picks;
  }
  if (parts[0] == 0 && need_secret) {
    int secret = lab_read_secret(&c.lab, &c.roster, &c.secret, err);
    rc = rc ? rc : secret;
  }
  rc = rc ? rc : objects_open(&c.objects, err);
  rc = rc ? rc : make_chain(&c, err);
  rc = rc ? rc : check_submission(&c, err);
out:
  if (rc)
    course_release(&c);
  else
    *ret = c;
  return rc;
}

void course_release(struct course *c)
{
  for (size_t i = 0; c->chain && i < c->chain_count; i++)
    tree_release(&c->chain[i].tree);
  for (size_t i = 0; c->branches && i < c->lab.branches.count; i++)
    tree_release(&c->branches[i].tree);
  free(c->chain);
  free(c->branches);
  objects_close(c->objects);
  catalogue_release(&c->catalogue);
  roster_release(&c->roster);
  if (c->secret.data)
    sodium_memzero(c->secret.data, c->secret.len);
  buf_release(&c->secret);
  arena_release(&c->arena);
  *c = (struct course){0};
}
