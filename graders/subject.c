// Reads designs, and makes the trees that the grader is proved on.

#include "graders/subject.h"

#include <stdlib.h>
#include <string.h>

#include "graders/stock.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/lab/edit.h"

enum { MAX_SOURCE_BYTES = 1 << 20 };

// A design: another allocator than the reference, as edits to the reference's
// tree or as a whole kalloc.c.
struct design {
  struct place at;
  const char *id, *title, *explanation;
  int kind;
  struct list edits;
  const char *source;
  struct texts checks;
  struct explore_claim explore;
};

static const char *const design_kinds[] = {"correct", "wasteful", NULL};

static int check_design(const void *value, struct reader *r)
{
  const struct design *d = value;

  if ((d->edits.count > 0) == (d->source != NULL))
    return reader_error(r, &d->at, "a design has either 'edits' or 'source'");
  if ((d->kind != 0) != (d->checks.count > 0))
    return reader_error(r, &d->at,
                        "a wasteful design names the checks that it fails, "
                        "and a correct one none");
  return 0;
}

static const struct field design_fields[] = {
    FIELD(struct design, id, FIELD_ID, .required = true,
          .doc = "the file's name without .yaml"),
    FIELD(struct design, kind, FIELD_CHOICE, .required = true,
          .choices = design_kinds, .doc = "what it must score"),
    FIELD(struct design, title, FIELD_TEXT, .required = true,
          .doc = "what it does, in a line"),
    FIELD(struct design, edits, FIELD_STRUCTS, .sub = &edit_schema,
          .doc = "edits to the reference's tree"),
    FIELD(struct design, source, FIELD_FILE, .doc = "or a whole kalloc.c"),
    FIELD(struct design, checks, FIELD_TEXTS, .doc = "checks that must fail"),
    FIELD(struct design, explore, FIELD_STRUCT, .sub = &explore_claim_schema,
          .doc = "what the explorer must say"),
    FIELD(struct design, explanation, FIELD_TEXT, .required = true,
          .doc = "why it is correct, or what it wastes"),
    FIELD_END,
};

const struct schema design_schema = {
    .name = "design",
    .doc = "An allocator other than the reference.",
    .size = sizeof(struct design),
    .fields = design_fields,
    .check = check_design,
};

const char *subject_kind_name(enum subject_kind kind)
{
  static const char *const names[] = {
#define NAME(number, name) name,
      SUBJECT_KINDS(NAME)
#undef NAME
  };
  return names[kind];
}

static struct subject *add(struct subjects *s, const struct place *at,
                           const char *id, const char *title,
                           enum subject_kind kind, const struct tree *tree,
                           struct texts fails)
{
  GROW(s->items, s->count, s->room);
  struct subject *new = &s->items[s->count++];
  *new = (struct subject){
      .at = *at, .id = id, .title = title, .kind = kind, .fails = fails};
  tree_copy(&new->tree, tree);
  return new;
}

struct reading {
  const struct course *course;
  const char *folder;
  struct subjects *subjects;
};

static int put_source(struct tree *tree, const char *source, struct error *err)
{
  struct buf text = BUF_INIT;
  int rc = file_read(source, MAX_SOURCE_BYTES, &text, err);

  if (rc == 0)
    rc = tree_put(tree, STUDENT_FILE, buf_str(&text), text.len, false, err);
  buf_release(&text);
  return rc;
}

static int add_design(void *arg, const char *name, struct error *err)
{
  const struct reading *r = arg;
  size_t len = strlen(name);
  struct design d;

  if (len < 6 || strcmp(name + len - 5, ".yaml") != 0)
    return 0;
  char *path = path_join(r->folder, name);
  int rc = schema_read_file(&design_schema, path, &r->subjects->arena, &d, err);
  if (rc == 0) {
    struct subject *s = add(r->subjects, &d.at, d.id, d.title,
                            d.kind == 0 ? SUBJECT_CORRECT : SUBJECT_WASTEFUL,
                            course_reference(r->course), d.checks);
    s->explore = d.explore;
    rc = d.source ? put_source(&s->tree, d.source, err)
                  : edits_apply(&s->tree, d.edits.items, d.edits.count, NULL, 0,
                                err);
  }
  free(path);
  return rc;
}

static int by_kind(const void *a, const void *b)
{
  const struct subject *x = a, *y = b;
  return x->kind != y->kind ? (int)x->kind - (int)y->kind
                            : strcmp(x->id, y->id);
}

int subjects_make(const struct course *course, const struct rubric *rubric,
                  struct subjects *ret, struct error *err)
{
  struct subjects s = {0};
  struct reading reading = {course, rubric->designs, &s};

  add(&s, &rubric->at, "start", "What students start from", SUBJECT_START,
      course_start(course), rubric->start_fails)
      ->explore.notes = rubric->start_notes;
  add(&s, &(struct place){0}, "reference", "The reference", SUBJECT_REFERENCE,
      course_reference(course), (struct texts){0});
  int rc = file_walk(rubric->designs, add_design, &reading, err);
  for (size_t i = 0; rc == 0 && i < course->catalogue.bug_count; i++) {
    const struct bug *bug = &course->catalogue.bugs[i];
    struct subject *new = add(&s, &bug->at, bug->id, bug->title, SUBJECT_BUG,
                              course_reference(course), bug->checks);
    new->explore = bug->explore;
    rc = bug_apply(bug, NULL, &new->tree, err);
  }
  if (rc != 0) {
    subjects_release(&s);
    return rc;
  }
  qsort(s.items, s.count, sizeof *s.items, by_kind);
  *ret = s;
  return 0;
}

void subjects_release(struct subjects *s)
{
  for (size_t i = 0; i < s->count; i++)
    tree_release(&s->items[i].tree);
  free(s->items);
  arena_release(&s->arena);
  *s = (struct subjects){0};
}
