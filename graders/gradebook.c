// The class as CSV: for people, and for the imports of Canvas and Moodle. A
// student who is not judged gets an empty cell there, so that an import leaves
// what was there before.
#include <string.h>
#include <strings.h>

#include "graders/class.h"

static void add_field(struct buf *b, const char *text)
{
  if (b->len && b->data[b->len - 1] != '\n')
    buf_addc(b, ',');
  buf_add_csv(b, text, strlen(text));
}

static void add_number(struct buf *b, long number)
{
  buf_addf(b, "%s%ld", b->len && b->data[b->len - 1] != '\n' ? "," : "",
           number);
}

// Marks that may be imported.
static bool has_marks(const struct class_student *s)
{
  return s->state == RECORD_JUDGED || s->state == RECORD_REFUSED ||
         s->marks.overridden;
}

// --- for people -------------------------------------------------------------

static void begin_csv(struct class_report *r)
{
  static const char *const names[] = {
      "id",    "name", "email",     "section",        "status",
      "marks", "max",  "days_late", "late_marks_off", "look_at"};
  const struct rubric *rubric = r->spec->rubric;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    add_field(&r->text, names[i]);
  for (size_t i = 0; i < rubric->checks.count; i++)
    add_field(&r->text, LIST_AT(rubric->checks, struct check, i)->id);
  buf_adds(&r->text, "\r\n");
}

static void add_csv(struct class_report *r, const struct class_student *s)
{
  struct buf *b = &r->text, flags = BUF_INIT;
  const struct rubric *rubric = r->spec->rubric;
  const char *reason;
  class_flags(s, &flags);
  add_field(b, s->student->id);
  add_field(b, s->student->name);
  add_field(b, s->student->email);
  add_field(b, s->student->section);
  add_field(b, record_state_name(s->state));
  if (has_marks(s))
    add_number(b, s->marks.total);
  else
    buf_addc(b, ',');
  add_number(b, s->record ? s->marks.max : r->spec->marks.max);
  if (s->record && s->marks.days_late >= 0) {
    add_number(b, s->marks.days_late);
    add_number(b, s->marks.off);
  } else {
    buf_adds(b, ",,");
  }
  add_field(b, buf_str(&flags));
  for (size_t i = 0; i < rubric->checks.count; i++) {
    const struct check *c = LIST_AT(rubric->checks, struct check, i);
    if (s->state == RECORD_JUDGED && class_check_of(s->record, c->id))
      add_number(b, class_marks_of(s->record, c, &reason));
    else
      buf_addc(b, ',');
  }
  buf_adds(b, "\r\n");
  buf_release(&flags);
}

const struct class_form class_csv = {
    .name = "csv", .file = "gradebook.csv", .begin = begin_csv, .add = add_csv};

// --- Canvas -----------------------------------------------------------------

// The value of a further column of the roster, or "".
static const char *column(const struct class_report *r,
                          const struct class_student *s, const char *name)
{
  const struct roster *roster = r->spec->roster;
  for (size_t i = 0; i < roster->column_count; i++)
    if (strcasecmp(roster->columns[i], name) == 0)
      return s->student->more[i];
  return "";
}

// Canvas wants these columns, and the points that are possible in a row below.
static void begin_canvas(struct class_report *r)
{
  struct buf *b = &r->text;
  static const char *const names[] = {"Student", "ID", "SIS User ID",
                                      "SIS Login ID", "Section"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    add_field(b, names[i]);
  add_field(b, r->spec->title);
  buf_adds(b, "\r\n");
  add_field(b, "    Points Possible");
  buf_adds(b, ",,,,");
  add_number(b, r->spec->marks.max);
  buf_adds(b, "\r\n");
}

static void add_canvas(struct class_report *r, const struct class_student *s)
{
  struct buf *b = &r->text;
  add_field(b, *s->student->name ? s->student->name : s->student->id);
  add_field(b, column(r, s, "canvas_id"));
  add_field(b, column(r, s, "sis_user_id"));
  add_field(b, s->student->id);
  add_field(b, s->student->section);
  if (has_marks(s))
    add_number(b, s->marks.total);
  else
    buf_addc(b, ',');
  buf_adds(b, "\r\n");
}

const struct class_form class_canvas = {.name = "canvas",
                                        .file = "gradebook-canvas.csv",
                                        .begin = begin_canvas,
                                        .add = add_canvas};

// --- Moodle -----------------------------------------------------------------

static void begin_moodle(struct class_report *r)
{
  static const char *const names[] = {"Username", "Full name", "Email address"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    add_field(&r->text, names[i]);
  add_field(&r->text, r->spec->title);
  add_field(&r->text, "Feedback comments");
  buf_adds(&r->text, "\r\n");
}

static void add_moodle(struct class_report *r, const struct class_student *s)
{
  struct buf *b = &r->text, words = BUF_INIT;
  const struct rubric *rubric = r->spec->rubric;
  const char *reason;
  for (size_t i = 0; s->state == RECORD_JUDGED && i < rubric->checks.count;
       i++) {
    const struct check *c = LIST_AT(rubric->checks, struct check, i);
    long marks = class_marks_of(s->record, c, &reason);
    if (class_check_of(s->record, c->id) && marks < c->marks)
      buf_addf(&words, "%s%s: %ld of %ld", words.len ? "; " : "", c->title,
               marks, c->marks);
  }
  add_field(b, s->student->id);
  add_field(b, s->student->name);
  add_field(b, s->student->email);
  if (has_marks(s))
    add_number(b, s->marks.total);
  else
    buf_addc(b, ',');
  add_field(b, buf_str(&words));
  buf_adds(b, "\r\n");
  buf_release(&words);
}

const struct class_form class_moodle = {.name = "moodle",
                                        .file = "gradebook-moodle.csv",
                                        .begin = begin_moodle,
                                        .add = add_moodle};
