// Goes through the students once and feeds every report. What a report looks
// like is not decided here.
#include "graders/class.h"

#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

static const struct class_form *const forms[] = {
    &class_csv, &class_canvas, &class_moodle, &class_junit, &class_html};
static const struct student_form *const student_forms[] = {&student_feedback,
                                                           &student_gradescope};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

bool class_knows_format(const char *name)
{
  for (size_t i = 0; i < COUNT(forms); i++)
    if (strcmp(forms[i]->name, name) == 0)
      return true;
  for (size_t i = 0; i < COUNT(student_forms); i++)
    if (strcmp(student_forms[i]->name, name) == 0)
      return true;
  return false;
}

void class_format_names(struct buf *ret)
{
  for (size_t i = 0; i < COUNT(forms); i++)
    buf_addf(ret, "%s%s", ret->len ? ", " : "", forms[i]->name);
  for (size_t i = 0; i < COUNT(student_forms); i++)
    buf_addf(ret, ", %s", student_forms[i]->name);
}

static bool is_wanted(const struct texts *formats, const char *name)
{
  for (size_t i = 0; formats && i < formats->count; i++)
    if (strcmp(formats->items[i], name) == 0)
      return true;
  return !formats || !formats->count;
}

const json_t *class_check_of(const json_t *record, const char *check)
{
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(record, "checks"), i, row)
  {
    if (strcmp(record_text(row, "id"), check) == 0)
      return row;
  }
  return NULL;
}

static const json_t *override_of(const json_t *record, const char *check)
{
  const json_t *final = json_object_get(record, "final");
  return json_object_get(json_object_get(final, "overrides"), check);
}

long class_marks_of(const json_t *record, const struct check *check,
                    const char **ret_reason)
{
  const json_t *decided = override_of(record, check->id);
  const json_t *row = class_check_of(record, check->id);
  *ret_reason = decided ? record_text(decided, "reason") : NULL;
  return record_number(decided ? decided : row, "marks");
}

void class_flags(const struct class_student *s, struct buf *ret)
{
  const json_t *changes = json_object_get(s->record, "changes");
  size_t unused = 0, i;
  json_t *row;
  json_array_foreach(changes, i, row)
  {
    unused += strcmp(record_text(row, "use"), "not used") == 0;
  }
  if (s->marks.too_late)
    buf_addf(ret, "%ld days late; ", s->marks.days_late);
  else if (s->marks.days_late > 0)
    buf_addf(ret, "%ld late days used; ", s->marks.days_late);
  if (s->marks.off)
    buf_addf(ret, "%ld mark%s off for it; ", s->marks.off,
             s->marks.off == 1 ? "" : "s");
  if (s->marks.late_unknown)
    buf_adds(ret, "marked as late; ");
  if (s->marks.overridden)
    buf_adds(ret, "marks decided by staff; ");
  if (unused)
    buf_addf(ret, "%zu changed files not used; ", unused);
  if (json_array_size(json_object_get(s->record, "held")))
    buf_adds(ret, "held: tampering was seen; ");
  if (json_array_size(json_object_get(s->record, "staff")) ||
      json_array_size(json_object_get(s->record, "copies")))
    buf_adds(ret, "clinic: read the notes for staff; ");
  if (ret->len)
    buf_truncate(ret, ret->len - 2);
}

// --- files ------------------------------------------------------------------

static int publish_bytes(struct publish *p, const char *name,
                         const struct buf *text, struct error *err)
{
  const char *made = publish_begin(p, name);
  int rc = file_write(made, buf_str(text), text->len, 0644, err);
  int ended = publish_end(p, rc, err);
  return rc ? rc : ended;
}

// Writes a file of the results unless it is there with the same bytes.
static int write_changed(const struct class_spec *spec, const char *name,
                         const struct buf *text, struct error *err)
{
  struct buf there = BUF_INIT;
  char *path = path_join(spec->results, name);
  int rc = 0;
  if (file_read(path, text->len + 1, &there, NULL) != 0 ||
      there.len != text->len ||
      memcmp(buf_str(&there), buf_str(text), text->len) != 0)
    rc = publish_bytes(spec->publish, name, text, err);
  buf_release(&there);
  free(path);
  return rc;
}

static int write_students(const struct class_spec *spec,
                          const struct class_student *s, const char *file,
                          const struct buf *text, struct error *err)
{
  char *name = path_join(s->student->id, file);
  int rc = write_changed(spec, name, text, err);
  free(name);
  return rc;
}

static int write_student(const struct class_spec *spec,
                         const struct class_student *s,
                         const struct texts *formats, struct error *err)
{
  struct buf text = BUF_INIT;
  record_format(s->record, &text);
  int rc = write_students(spec, s, "result.json", &text, err);
  for (size_t i = 0; i < COUNT(student_forms) && rc == 0; i++) {
    if (!is_wanted(formats, student_forms[i]->name))
      continue;
    buf_truncate(&text, 0);
    student_forms[i]->write(spec, s, &text);
    rc = write_students(spec, s, student_forms[i]->file, &text, err);
  }
  buf_release(&text);
  return rc;
}

// --- counting ---------------------------------------------------------------

static void count_checks(struct class_report *r, const struct class_student *s)
{
  const struct rubric *rubric = r->spec->rubric;
  for (size_t i = 0; i < rubric->checks.count; i++) {
    const struct check *c = LIST_AT(rubric->checks, struct check, i);
    const json_t *row = class_check_of(s->record, c->id);
    const char *verdict = record_text(row, "verdict"), *reason;
    if (!row)
      continue;
    r->checks[i].lost += strcmp(verdict, verdict_words(VERDICT_FAIL)) == 0;
    r->checks[i].not_reached +=
        strcmp(verdict, verdict_words(VERDICT_NOT_REACHED)) == 0;
    r->checks[i].marks += c->marks - class_marks_of(s->record, c, &reason);
  }
}

static void count(struct class_report *r, const struct class_student *s)
{
  struct class_counts *n = &r->counts;
  struct buf flags = BUF_INIT;
  switch (s->state) {
  case RECORD_JUDGED:
    n->judged++;
    n->full += s->marks.total >= s->marks.max;
    if (s->marks.max > 0)
      r->histogram[s->marks.total < s->marks.max
                       ? 10 * s->marks.total / s->marks.max
                       : 10]++;
    class_flags(s, &flags);
    n->look += flags.len > 0;
    count_checks(r, s);
    break;
  case RECORD_REFUSED:
    n->refused++;
    break;
  case RECORD_NOT_JUDGED:
    n->not_judged++;
    break;
  case RECORD_MISSING:
    n->missing++;
    break;
  }
  buf_release(&flags);
}

// --- all --------------------------------------------------------------------

static int add_student(struct class_report *reports, const struct student *one,
                       const struct texts *formats, struct error *err)
{
  const struct class_spec *spec = reports[0].spec;
  char *folder = path_join(spec->results, one->id);
  char *result = path_join(folder, "result.json");
  char *evidence = path_join(folder, "evidence.json");
  json_t *record = record_read(result);
  struct class_student s = {.student = one,
                            .state = record_state_of(record),
                            .record = record,
                            .evidence = record ? record_read(evidence) : NULL};
  int rc = 0;
  if (record) {
    json_object_set_new(record, "copies", copies_of(reports[0].copies, one));
    marks_finish(&spec->marks, record, &s.marks);
    rc = write_student(spec, &s, formats, err);
  }
  for (size_t i = 0; i < COUNT(forms); i++) {
    count(&reports[i], &s);
    if (is_wanted(formats, forms[i]->name))
      forms[i]->add(&reports[i], &s);
  }
  json_decref(record);
  json_decref((json_t *)s.evidence);
  free(folder);
  free(result);
  free(evidence);
  return rc;
}

static size_t count_nobodys(const struct intake *in)
{
  size_t n = 0;
  for (size_t i = 0; in && i < in->count; i++)
    n += in->entries[i].problem != NULL;
  return n;
}

static int write_all(const struct class_spec *spec, const struct copies *copies,
                     const struct texts *formats, struct class_counts *ret,
                     struct error *err)
{
  struct class_report reports[COUNT(forms)] = {0};
  int rc = 0;
  for (size_t i = 0; i < COUNT(forms); i++) {
    reports[i].spec = spec;
    reports[i].copies = copies;
    reports[i].checks =
        xcalloc(spec->rubric->checks.count + 1, sizeof(*reports[i].checks));
    reports[i].histogram = xcalloc(11, sizeof(*reports[i].histogram));
    reports[i].counts.nobodys = count_nobodys(spec->intake);
    if (forms[i]->begin)
      forms[i]->begin(&reports[i]);
  }
  for (size_t i = 0; i < spec->roster->count && rc == 0; i++)
    rc = add_student(reports, &spec->roster->students[i], formats, err);
  for (size_t i = 0; i < COUNT(forms); i++) {
    if (rc == 0 && is_wanted(formats, forms[i]->name)) {
      if (forms[i]->end)
        forms[i]->end(&reports[i]);
      rc = write_changed(spec, forms[i]->file, &reports[i].text, err);
    }
    if (i == 0)
      *ret = reports[i].counts;
    buf_release(&reports[i].text);
    buf_release(&reports[i].more);
    free(reports[i].checks);
    free(reports[i].histogram);
  }
  return rc ? rc : publish_flush(spec->publish, err);
}

// Before anybody has a clinic, no report speaks of it.
int class_write(const struct class_spec *spec, const struct texts *formats,
                struct class_counts *ret, struct error *err)
{
  struct class_spec whole = *spec;
  struct rubric rubric = *spec->rubric;
  struct copies copies = {0};
  copies_read(spec->results, spec->roster, &copies);
  if (!copies.clinic)
    rubric.checks.count = clinic_first_check(&rubric);
  whole.rubric = &rubric;
  whole.marks.max = copies.max ? copies.max : marks_max(&rubric);
  int rc = write_all(&whole, &copies, formats, ret, err);
  copies_release(&copies);
  return rc;
}
