// Adds up marks. A verdict is never changed here: an override stands beside it.
#include "graders/marks.h"

#include <string.h>

#include "graders/record.h"
#include "labgen/base/file.h"

#define DAY_S 86400
#define TOTAL "total"

static const struct field override_fields[] = {
    FIELD(struct override, student, FIELD_TEXT, .required = true,
          .doc = "the student's id"),
    FIELD(struct override, check, FIELD_TEXT, .required = true,
          .doc = "a check's id, or 'total'"),
    FIELD(struct override, marks, FIELD_INT, .required = true, .min = 0,
          .max = 100000, .doc = "marks in the place of those given"),
    FIELD(struct override, reason, FIELD_TEXT, .required = true,
          .doc = "why; the student reads it"),
    FIELD_END,
};

const struct schema override_schema = {
    .name = "override",
    .doc = "Marks that staff decided, whatever the checks say.",
    .size = sizeof(struct override),
    .fields = override_fields,
};

static int check_override(const struct override *o, const struct list *all,
                          const struct rubric *rubric,
                          const struct roster *roster, struct error *err)
{
  const struct check *check = rubric_find(rubric, o->check);
  const struct place *at = &o->at;
  bool total = strcmp(o->check, TOTAL) == 0;
  int rc = 0;
  if (!roster_find(roster, o->student))
    rc = error_at(err, LG_EINPUT, at->path, at->line, at->column,
                  "no student '%s' in %s", o->student, roster->path);
  if (!check && !total)
    rc = error_at(err, LG_EINPUT, at->path, at->line, at->column,
                  "no check '%s'; 'labgen show checks' lists them", o->check);
  if (check && o->marks > check->marks)
    rc = error_at(err, LG_EINPUT, at->path, at->line, at->column,
                  "'%s' has %ld marks, and %ld are given here", o->check,
                  check->marks, o->marks);
  for (size_t i = 0; LIST_AT(*all, struct override, i) != o; i++) {
    const struct override *other = LIST_AT(*all, struct override, i);
    if (strcmp(other->student, o->student) == 0 &&
        strcmp(other->check, o->check) == 0)
      rc = error_at(err, LG_EINPUT, at->path, at->line, at->column,
                    "line %zu decides the same", other->at.line);
  }
  return rc;
}

int overrides_read(const char *path, const struct rubric *rubric,
                   const struct roster *roster, struct arena *arena,
                   struct list *ret, struct error *err)
{
  struct list all = {0};
  int rc = 0;
  if (file_exists(path))
    rc = schema_read_list_file(&override_schema, path, arena, &all, err);
  for (size_t i = 0; i < all.count && !rc; i++)
    rc = check_override(LIST_AT(all, struct override, i), &all, rubric, roster,
                        err);
  if (rc == 0)
    *ret = all;
  return rc;
}

long marks_max(const struct rubric *rubric)
{
  long sum = 0;
  for (size_t i = 0; i < clinic_first_check(rubric); i++)
    sum += LIST_AT(rubric->checks, struct check, i)->marks;
  return sum;
}

bool marks_shown(const struct marks_spec *spec, const struct check *check)
{
  const struct lab_dates *d = spec->dates;
  return check->visible || !d->deadline.set ||
         spec->now_s > d->deadline.seconds + d->late_days * DAY_S;
}

static const struct override *find(const struct list *all, const char *student,
                                   const char *check)
{
  for (size_t i = 0; i < all->count; i++) {
    const struct override *o = LIST_AT(*all, struct override, i);
    if (strcmp(o->student, student) == 0 && strcmp(o->check, check) == 0)
      return o;
  }
  return NULL;
}

static void find_lateness(const struct lab_dates *d, const json_t *record,
                          struct marks *m)
{
  const json_t *s = json_object_get(record, "submission");
  const json_t *time = json_object_get(s, "handed_in_s");
  bool marked = json_is_true(json_object_get(s, "late_mark"));
  m->days_late = -1;
  // The deadline is the lab's.
  if (json_is_true(json_object_get(s, "clinic_alone")))
    return;
  if (time && d->deadline.set) {
    int64_t after = json_integer_value(time) - d->deadline.seconds;
    m->days_late = after > 0 ? (long)((after + DAY_S - 1) / DAY_S) : 0;
    m->too_late = m->days_late > d->late_days;
  }
  // A commit's time is the student's own; the platform knows better.
  m->late_unknown = marked && m->days_late <= 0;
}

// What lateness takes off the marks that the work would have.
static long late_cost(const struct lab_dates *d, const struct marks *m)
{
  long days = m->too_late ? d->late_days : m->days_late;
  if (m->too_late && d->too_late == TOO_LATE_ZERO)
    return m->total;
  return days > 0 ? m->total * days * d->late_penalty / 100 : 0;
}

static json_t *override_json(const struct override *o)
{
  return json_pack("{s:I, s:s}", "marks", (json_int_t)o->marks, "reason",
                   o->reason);
}

// The deadline is the lab's, so the clinic's marks are safe from it.
static bool is_clinic(const struct rubric *rubric, const char *id)
{
  const struct check *check = rubric_find(rubric, id);
  return check && check->kind == CHECK_CLINIC;
}

void marks_finish(const struct marks_spec *spec, json_t *record,
                  struct marks *ret)
{
  long max = record_max(record), clinic = 0;
  struct marks m = {.max = max ? max : spec->max};
  const char *student = record_text(record, "student");
  json_t *final = json_object(), *checks = json_object(), *row;
  size_t i;
  json_array_foreach(json_object_get(record, "checks"), i, row)
  {
    const char *id = record_text(row, "id");
    const struct override *o = find(spec->overrides, student, id);
    long marks = o ? o->marks : record_number(row, "marks");
    *(is_clinic(spec->rubric, id) ? &clinic : &m.total) += marks;
    m.overridden = m.overridden || o;
    if (o)
      json_object_set_new(checks, id, override_json(o));
  }
  const struct override *o = find(spec->overrides, student, TOTAL);
  find_lateness(spec->dates, record, &m);
  m.off = o ? 0 : late_cost(spec->dates, &m);
  m.total += clinic - m.off;
  if (o) {
    m.total = o->marks;
    m.overridden = true;
    json_object_set_new(checks, TOTAL, override_json(o));
  }
  json_object_set_new(final, "marks", json_integer(m.total));
  json_object_set_new(final, "max", json_integer(m.max));
  json_object_set_new(final, "late_marks_off", json_integer(m.off));
  json_object_set_new(final, "days_late", json_integer(m.days_late));
  json_object_set_new(final, "too_late", json_boolean(m.too_late));
  json_object_set_new(final, "late_unknown", json_boolean(m.late_unknown));
  json_object_set_new(final, "overrides", checks);
  json_object_set_new(record, "final", final);
  *ret = m;
}
