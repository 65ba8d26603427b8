// Reads the catalogue and commit folders, and applies them to trees. It does
// not choose bugs (assign.c) and does not rewrite code (render.c).
#include "labgen/lab/bug.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

static const struct field explore_fields[] = {
    FIELD(struct explore_claim, findings, FIELD_TEXTS,
          .doc = "findings that the explorer reports, no others"),
    FIELD(struct explore_claim, notes, FIELD_TEXTS,
          .doc = "notes that the explorer reports, no others"),
    FIELD_END,
};

const struct schema explore_claim_schema = {
    .name = "explore",
    .doc = "What the explorer must say.",
    .size = sizeof(struct explore_claim),
    .fields = explore_fields,
};

static const struct field bug_fields[] = {
    FIELD(struct bug, id, FIELD_ID, .required = true,
          .doc = "the file's name without .yaml"),
    FIELD_KEY("class", struct bug, class_id, FIELD_ID, .required = true,
              .doc = "one of the catalogue's classes"),
    FIELD(struct bug, title, FIELD_TEXT, .required = true,
          .doc = "one line for staff"),
    FIELD(struct bug, difficulty, FIELD_INT, .required = true, .min = 1,
          .max = 3, .doc = "how hard it is to find"),
    FIELD(struct bug, params, FIELD_NAMED_TEXTS,
          .doc = "choices drawn from the student's seed; ${name} in edits"),
    FIELD(struct bug, edits, FIELD_STRUCTS, .required = true,
          .sub = &edit_schema, .doc = "what changes in the reference"),
    FIELD(struct bug, file, FIELD_TREE_PATH,
          .doc = "file with the bug, for the answer key"),
    FIELD(struct bug, function, FIELD_TEXT,
          .doc = "function with the bug, for the answer key"),
    FIELD(struct bug, symptom, FIELD_TEXT, .required = true,
          .doc = "what is seen when it strikes"),
    FIELD(struct bug, checks, FIELD_TEXTS,
          .doc = "checks of the rubric that must fail"),
    FIELD(struct bug, explore, FIELD_STRUCT, .sub = &explore_claim_schema,
          .doc = "what the explorer must say"),
    FIELD(struct bug, explanation, FIELD_TEXT, .required = true,
          .doc = "why it is wrong and what puts it right"),
    FIELD_KEY("clinic", struct bug, in_clinic, FIELD_BOOL, .fallback = "true",
              .doc = "may be given to students in a clinic"),
    FIELD_END,
};

static int check_bug(const void *value, struct reader *r)
{
  const struct bug *b = value;
  if (b->edits.count == 0)
    return reader_error(r, &b->at, "'%s' changes nothing: 'edits' is empty",
                        b->id);
  for (size_t p = 0; p < b->params.count; p++) {
    const char *name = LIST_AT(b->params, struct named_texts, p)->name;
    char *mark = xasprintf("${%s}", name);
    bool used = false;
    for (size_t i = 0; i < b->edits.count && !used; i++) {
      const struct edit *e = LIST_AT(b->edits, struct edit, i);
      const char *texts[] = {e->after, e->before, e->replace, e->insert,
                             e->with};
      for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
        used = used || (texts[t] && strstr(texts[t], mark));
    }
    free(mark);
    if (!used)
      return reader_error(r, &b->at, "parameter '%s' is used by no edit", name);
  }
  return 0;
}

const struct schema bug_schema = {
    .name = "bug",
    .doc = "An entry of the catalogue.",
    .size = sizeof(struct bug),
    .fields = bug_fields,
    .check = check_bug,
};

static const struct field class_fields[] = {
    FIELD(struct bug_class, id, FIELD_ID, .required = true, .doc = "its name"),
    FIELD(struct bug_class, meaning, FIELD_TEXT, .required = true,
          .doc = "one line for students"),
    FIELD_END,
};

static const struct schema class_schema = {
    .name = "class",
    .doc = "A class of bugs.",
    .size = sizeof(struct bug_class),
    .fields = class_fields,
};

// --- the catalogue ---------------------------------------------------------

static int by_name(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

// The names of a folder's *.yaml files in byte order, without the ending.
static int list_yaml(const char *folder, char ***ret, size_t *ret_count,
                     struct error *err)
{
  DIR *dir = opendir(folder);
  if (!dir)
    return error_errno(err, errno == ENOENT ? LG_ENOTFOUND : LG_EIO, "%s",
                       folder);
  char **names = NULL;
  size_t count = 0, room = 0;
  for (struct dirent *d = readdir(dir); d; d = readdir(dir)) {
    const char *dot = strrchr(d->d_name, '.');
    if (d->d_name[0] == '.' || !dot || strcmp(dot, ".yaml") != 0)
      continue;
    GROW(names, count, room);
    names[count++] = xstrndup(d->d_name, (size_t)(dot - d->d_name));
  }
  closedir(dir);
  if (count)
    qsort(names, count, sizeof(*names), by_name);
  *ret = names;
  *ret_count = count;
  return 0;
}

const char *catalogue_near_class(const struct catalogue *c, const char *id)
{
  const char *names[64];
  size_t known = 0;
  for (; known < c->class_count && known < 64; known++)
    names[known] = c->classes[known].id;
  return nearest_name(id, names, known);
}

static int read_bug(struct catalogue *c, const char *folder, const char *name,
                    struct bug *bug, struct error *err)
{
  char *path = xasprintf("%s/%s.yaml", folder, name);
  int rc = schema_read_file(&bug_schema, path, &c->arena, bug, err);
  free(path);
  if (rc)
    return rc;
  if (strcmp(bug->id, name) != 0)
    return error_at(err, LG_EINPUT, bug->at.path, bug->at.line, bug->at.column,
                    "id '%s' must be the file's name, '%s'", bug->id, name);
  for (size_t i = 0; i < c->class_count; i++)
    if (strcmp(c->classes[i].id, bug->class_id) == 0)
      return 0;
  const char *near = catalogue_near_class(c, bug->class_id);
  return error_at(err, LG_EINPUT, bug->at.path, bug->at.line, bug->at.column,
                  "unknown class '%s'%s%s%s", bug->class_id,
                  near ? " (did you mean '" : "", near ? near : "",
                  near ? "'?)" : "");
}

int catalogue_read(const char *bugs_folder, const char *classes_file,
                   struct catalogue *ret, struct error *err)
{
  struct catalogue c = {0};
  struct list classes;
  char **names = NULL;
  size_t count = 0;
  int rc = schema_read_list_file(&class_schema, classes_file, &c.arena,
                                 &classes, err);
  if (rc == 0)
    rc = list_yaml(bugs_folder, &names, &count, err);
  if (rc)
    goto out;
  c.classes = classes.items;
  c.class_count = classes.count;
  c.bugs = arena_alloc(&c.arena, count * sizeof(*c.bugs));
  for (size_t i = 0; i < count; i++) {
    int one = read_bug(&c, bugs_folder, names[i], &c.bugs[i], err);
    rc = rc ? rc : one;
  }
  c.bug_count = count;
out:
  for (size_t i = 0; i < count; i++)
    free(names[i]);
  free(names);
  if (rc)
    catalogue_release(&c);
  else
    *ret = c;
  return rc;
}

void catalogue_release(struct catalogue *c)
{
  arena_release(&c->arena);
  *c = (struct catalogue){0};
}

const struct bug *catalogue_find(const struct catalogue *c, const char *id)
{
  for (size_t i = 0; i < c->bug_count; i++)
    if (strcmp(c->bugs[i].id, id) == 0)
      return &c->bugs[i];
  return NULL;
}

int bug_apply(const struct bug *bug, const size_t *choice, struct tree *tree,
              struct error *err)
{
  struct param params[16];
  size_t count = bug->params.count;
  if (count > 16)
    return error_at(err, LG_EINPUT, bug->at.path, bug->at.line, bug->at.column,
                    "more than 16 parameters");
  for (size_t i = 0; i < count; i++) {
    const struct named_texts *p = LIST_AT(bug->params, struct named_texts, i);
    params[i] =
        (struct param){p->name, p->values.items[choice ? choice[i] : 0]};
  }
  return edits_apply(tree, bug->edits.items, bug->edits.count, params, count,
                     err);
}

// --- commits ---------------------------------------------------------------

static const struct field overlay_fields[] = {
    FIELD(struct overlay, folder, FIELD_FOLDER, .required = true,
          .doc = "the folder"),
    FIELD(struct overlay, to, FIELD_TREE_PATH,
          .doc = "where in the tree; without it, its top"),
    FIELD_END,
};

static const struct schema overlay_schema = {
    .name = "overlay",
    .doc = "A folder that is laid over the tree.",
    .size = sizeof(struct overlay),
    .fields = overlay_fields,
};

static const struct field commit_fields[] = {
    FIELD(struct commit_step, message, FIELD_TEXT, .required = true,
          .doc = "the commit's message"),
    FIELD(struct commit_step, overlay, FIELD_STRUCTS, .sub = &overlay_schema,
          .doc = "further folders, laid over after files/"),
    FIELD(struct commit_step, patch, FIELD_FILE,
          .doc = "a unified diff, applied after the overlay"),
    FIELD(struct commit_step, edits, FIELD_STRUCTS, .sub = &edit_schema,
          .doc = "edits, applied last"),
    FIELD_END,
};

const struct schema commit_schema = {
    .name = "commit",
    .doc =
        "A commit: files below files/ are laid over, then the patch, then "
        "the edits.",
    .size = sizeof(struct commit_step),
    .fields = commit_fields,
};

int commit_step_read(const char *folder, struct arena *arena,
                     struct commit_step *ret, struct error *err)
{
  struct commit_step step;
  char *path = xasprintf("%s/commit.yaml", folder);
  int rc = schema_read_file(&commit_schema, path, arena, &step, err);
  free(path);
  if (rc)
    return rc;
  const char *files = arena_printf(arena, "%s/files", folder);
  step.files = file_exists(files) ? files : NULL;
  *ret = step;
  return 0;
}
