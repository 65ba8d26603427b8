// Whose work it is. Every student's kernel is written in its own words: two
// renderings of one reference have about two of five lines in common, and a
// repaired kernel nearly all with the one that it was made of. What is found
// here is for staff to judge; it costs nothing.
#include "graders/clinic.h"

#include <stdlib.h>
#include <string.h>

#include "graders/splice.h"
#include "labgen/base/alloc.h"

// Percent of a file's lines. Renderings were measured to share 27 to 44.
#define OWN_LEAST 60
#define OTHERS_LEAST 70
// An answer that could be meant for the own kernel is worth a look only when it
// fits hardly anybody else's.
#define FEW 2

// A kernel whose answer or file is to be explained.
struct suspect {
  struct clinic_kernel *k;
  const struct content *file;
  bool answer, consistent;
  size_t fits;
  struct buf who;  // whose kernel the answer fits
  bool lines;
  size_t own, best;  // percent of lines in common
  char *whose;       // owned; with whom the best are
};

static const struct content *file_of(const struct clinic_spec *spec,
                                     const struct tree *tree)
{
  const struct tree_file *f = tree_find(tree, spec->course->rendering.file);
  return f ? f->content : NULL;
}

// How many percent of the lines of `is` are lines of `was`.
static int percent_kept(const struct content *was, const struct content *is,
                        size_t *ret, struct error *err)
{
  struct changed_lines *runs = NULL;
  size_t count = 0, lines = 0, changed = 0;
  int rc = source_diff(was, is, &runs, &count, err);
  for (size_t i = 0; i < is->len; i++)
    lines += is->bytes[i] == '\n' || i + 1 == is->len;
  for (size_t i = 0; i < count; i++)
    changed += runs[i].count;
  if (rc == 0)
    *ret = lines > changed ? 100 * (lines - changed) / lines : 0;
  free(runs);
  return rc;
}

// Whether the answer could have been read off the student's own file: it has the
// function, and the line is within.
static bool is_consistent(const struct content *own, const struct answers *a)
{
  size_t start, end;
  if (!splice_find_function(own->bytes, a->function, &start, &end))
    return false;
  long first = 1, last;
  for (size_t i = 0; i < start; i++)
    first += own->bytes[i] == '\n';
  last = first;
  for (size_t i = start; i < end; i++)
    last += own->bytes[i] == '\n';
  return a->line >= first && a->line <= last;
}

static int look_at(const struct clinic_spec *spec, struct clinic_kernel *k,
                   struct suspect *ret, struct error *err)
{
  const struct answers *a = &k->answers;
  const struct content *own = file_of(spec, &k->key->tree);
  struct suspect s = {
      .k = k, .file = k->changed ? file_of(spec, &k->tree) : NULL, .own = 100};
  int rc = 0;
  s.answer = a->class_id && a->function && a->line > 0 &&
             (k->verdicts[CLINIC_CLASS] != VERDICT_PASS ||
              k->verdicts[CLINIC_PLACE] != VERDICT_PASS);
  s.consistent = s.answer && is_consistent(own, a);
  if (s.file)
    rc = percent_kept(own, s.file, &s.own, err);
  s.lines = s.file && s.own < OWN_LEAST;
  if (rc == 0)
    *ret = s;
  return rc;
}

// Holds a suspect against a kernel of another student's.
static int hold_against(const struct clinic_spec *spec, struct suspect *s,
                        const struct student *other,
                        const struct clinic_branch *key, struct error *err)
{
  const struct answers *a = &s->k->answers;
  size_t kept = 0;
  int rc = 0;
  if (s->answer && strcmp(a->class_id, key->assignment.bug->class_id) == 0 &&
      clinic_fits_function(key, a) && clinic_fits_line(key, a, 0)) {
    s->fits++;
    if (s->fits <= FEW + 1)
      buf_addf(&s->who, "%s%s (%s)", s->fits > 1 ? ", " : "", other->id,
               key->name);
  }
  if (s->lines)
    rc = percent_kept(file_of(spec, &key->tree), s->file, &kept, err);
  if (kept > s->best) {
    s->best = kept;
    free(s->whose);
    s->whose = xasprintf("%s (%s)", other->id, key->name);
  }
  return rc;
}

static int hold_against_all(const struct clinic_spec *spec,
                            struct suspect *suspects, size_t count,
                            struct error *err)
{
  struct course *course = spec->course;
  size_t mark = objects_mark(course->objects);
  int rc = 0;
  for (size_t i = 0; i < course->roster.count && rc == 0; i++) {
    const struct student *other = &course->roster.students[i];
    struct student_work work = {0};
    if (strcmp(other->id, spec->student->id) == 0)
      continue;
    rc = student_make(course, other, &work, err);
    for (size_t k = 0; k < work.clinic_count; k++)
      for (size_t s = 0; s < count && rc == 0; s++)
        rc = hold_against(spec, &suspects[s], other, &work.clinic[k], err);
    student_release(&work);
    objects_rollback(course->objects, mark);
  }
  return rc;
}

static void report(const struct clinic_spec *spec, const struct suspect *s,
                   struct buf *staff)
{
  const char *name = s->k->key->name, *file = spec->course->rendering.file;
  if (s->fits > 0 && (!s->consistent || s->fits <= FEW))
    buf_addf(
        staff,
        "%s: the answer does not fit the student's own kernel, but that "
        "of %s%s; %s\n",
        name, buf_str(&s->who), s->fits > FEW + 1 ? " and others" : "",
        s->consistent
            ? "it could be meant for the own kernel, so this may be chance"
            : "the student's own file has no such line in such a function");
  if (s->lines)
    buf_addf(staff,
             "%s: of the lines of %s only %zu %% are as they were handed out\n",
             name, file, s->own);
  if (s->lines && s->best >= OTHERS_LEAST)
    buf_addf(staff,
             "%s: of the lines of %s %zu %% are those of the kernel that was "
             "handed out to %s\n",
             name, file, s->best, s->whose);
}

int clinic_compare(const struct clinic_spec *spec, struct clinic *c,
                   struct error *err)
{
  struct suspect *suspects = xcalloc(c->count + 1, sizeof(*suspects));
  size_t count = 0;
  int rc = 0;
  for (size_t i = 0; i < c->count && rc == 0; i++) {
    struct suspect *s = &suspects[count];
    if (c->kernels[i].there)
      rc = look_at(spec, &c->kernels[i], s, err);
    count += rc == 0 && (s->answer || s->lines);
  }
  if (rc == 0 && count > 0)
    rc = hold_against_all(spec, suspects, count, err);
  for (size_t i = 0; i < count; i++) {
    if (rc == 0)
      report(spec, &suspects[i], &c->staff);
    buf_release(&suspects[i].who);
    free(suspects[i].whose);
  }
  free(suspects);
  return rc;
}
