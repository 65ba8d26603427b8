// What one student gets: feedback.md, and results.json as Gradescope reads it.
// Neither shows what the student must not see yet.
#include <stdlib.h>
#include <string.h>

#include "graders/class.h"

static void add_md(struct buf *b, const char *text)
{
  buf_add_markdown(b, text, strlen(text));
}

// Lines as a block of code: each is indented behind an empty line, which no
// line can end.
static void add_block(struct buf *b, const json_t *lines)
{
  size_t i;
  json_t *line;
  json_array_foreach(lines, i, line)
  {
    buf_addf(b, "%s    %s\n", i ? "" : "\n", json_string_value(line));
  }
}

// --- feedback.md ------------------------------------------------------------

static void add_lateness(const struct class_spec *spec,
                         const struct class_student *s, struct buf *b)
{
  long most = spec->marks.dates->late_days;
  if (s->marks.too_late)
    buf_addf(b, "\nHanded in %ld days late; %ld late days are allowed.\n",
             s->marks.days_late, most);
  else if (s->marks.days_late > 0)
    buf_addf(b, "\nLate days used: %ld of %ld.\n", s->marks.days_late, most);
  if (s->marks.off)
    buf_addf(b, "That takes %ld mark%s off the %ld of the checks below.\n",
             s->marks.off, s->marks.off == 1 ? "" : "s",
             s->marks.total + s->marks.off);
  else if (s->marks.late_unknown)
    buf_adds(b, "\nThe platform marked it as late.\n");
}

static void add_check(const struct class_spec *spec,
                      const struct class_student *s, const struct check *c,
                      struct buf *b)
{
  const json_t *row = class_check_of(s->record, c->id);
  const char *reason;
  long marks = class_marks_of(s->record, c, &reason);
  if (!row || (marks >= c->marks && !reason &&
               strcmp(record_text(row, "verdict"), "pass") == 0))
    return;
  const char *verdict = record_text(row, "verdict");
  buf_adds(b, "\n## ");
  add_md(b, c->title);
  if (strcmp(verdict, verdict_words(VERDICT_NOT_JUDGED)) == 0 && !reason)
    buf_addf(b, ": %s\n", verdict);
  else
    buf_addf(b, ": %ld of %ld\n", marks, c->marks);
  if (reason) {
    buf_adds(b, "\nStaff decided: ");
    add_md(b, reason);
    buf_addc(b, '\n');
  }
  if (!marks_shown(&spec->marks, c)) {
    buf_adds(b, "\nDetails are shown after the last late day.\n");
    return;
  }
  add_block(b, json_object_get(row, "evidence"));
  if (c->hint) {
    size_t len = strlen(c->hint);
    len -= len && c->hint[len - 1] == '\n';
    buf_adds(b, "\nHint: ");
    buf_add_markdown(b, c->hint, len);
    buf_addc(b, '\n');
  }
}

static void add_changes(const struct class_student *s, struct buf *b)
{
  const json_t *changes = json_object_get(s->record, "changes");
  size_t i;
  json_t *row;
  if (json_array_size(changes))
    buf_adds(b, "\n## What you changed\n\n");
  json_array_foreach(changes, i, row)
  {
    const char *parts = record_text(row, "parts");
    buf_adds(b, "- ");
    add_md(b, record_text(row, "path"));
    buf_adds(b, ": ");
    add_md(b, record_text(row, "change"));
    if (*parts) {
      buf_adds(b, " (");
      add_md(b, parts);
      buf_addc(b, ')');
    }
    buf_addf(b, "; %s\n", record_text(row, "use"));
  }
}

// What the student said of a kernel of the clinic, for who talks about it.
static void add_answers(const json_t *kernel, struct buf *b)
{
  const json_t *answers = json_object_get(kernel, "answers");
  if (!answers)
    return;
  buf_adds(b, "\n## What you answered for ");
  add_md(b, record_text(kernel, "branch"));
  buf_adds(b, "\n\nClass: ");
  add_md(b, record_text(answers, "class"));
  buf_adds(b, "; function: ");
  add_md(b, record_text(answers, "function"));
  buf_addf(b, "; line: %ld.\n", record_number(answers, "line"));
  add_block(b, json_object_get(answers, "explanation"));
  add_block(b, json_object_get(answers, "seen"));
}

static void write_feedback(const struct class_spec *spec,
                           const struct class_student *s, struct buf *b)
{
  const struct rubric *rubric = spec->rubric;
  size_t k;
  json_t *kernel;
  buf_adds(b, "# ");
  add_md(b, spec->title);
  buf_adds(b, ": ");
  add_md(b, *s->student->name ? s->student->name : s->student->id);
  buf_addc(b, '\n');
  if (s->state == RECORD_NOT_JUDGED && !s->marks.overridden)
    buf_adds(b,
             "\nNot judged as a whole: the grader or its machine was at fault. "
             "It will be run again; you lose nothing by it.\n");
  else
    buf_addf(b, "\nMarks: %ld of %ld.\n", s->marks.total, s->marks.max);
  if (s->state == RECORD_REFUSED)
    buf_adds(b, "\nThe submission was not used:\n");
  if (s->state == RECORD_REFUSED)
    add_block(b, json_object_get(s->record, "reason"));
  add_lateness(spec, s, b);
  bool some = s->state == RECORD_JUDGED || s->state == RECORD_NOT_JUDGED;
  for (size_t i = 0; i < rubric->checks.count && some; i++)
    add_check(spec, s, LIST_AT(rubric->checks, struct check, i), b);
  add_changes(s, b);
  json_array_foreach(json_object_get(s->record, "clinic"), k, kernel)
  {
    add_answers(kernel, b);
  }
  if (json_array_size(json_object_get(s->record, "notes"))) {
    buf_adds(b, "\n## Notes\n");
    add_block(b, json_object_get(s->record, "notes"));
  }
}

const struct student_form student_feedback = {
    .name = "feedback", .file = "feedback.md", .write = write_feedback};

// --- Gradescope -------------------------------------------------------------

static json_t *joined(const json_t *lines)
{
  struct buf b = BUF_INIT;
  size_t i;
  json_t *line;
  json_array_foreach(lines, i, line)
  {
    buf_addf(&b, "%s\n", json_string_value(line));
  }
  json_t *text = json_string(buf_str(&b));
  buf_release(&b);
  return text;
}

// A test with "after_due_date" hides no total, unlike one that is "hidden".
static json_t *gradescope_test(const struct class_spec *spec,
                               const struct class_student *s,
                               const struct check *c)
{
  const json_t *row = class_check_of(s->record, c->id);
  const char *reason;
  long marks = class_marks_of(s->record, c, &reason);
  json_t *test = json_object();
  json_object_set_new(test, "name", json_string(c->title));
  json_object_set_new(test, "score", json_integer(marks));
  json_object_set_new(test, "max_score", json_integer(c->marks));
  json_object_set_new(test, "status",
                      json_string(marks >= c->marks ? "passed" : "failed"));
  json_object_set_new(test, "output_format", json_string("text"));
  json_object_set_new(test, "output",
                      marks_shown(&spec->marks, c)
                          ? joined(json_object_get(row, "evidence"))
                          : json_string(""));
  json_object_set_new(test, "visibility",
                      json_string(c->visible ? "visible" : "after_due_date"));
  return test;
}

static void write_gradescope(const struct class_spec *spec,
                             const struct class_student *s, struct buf *ret)
{
  const struct rubric *rubric = spec->rubric;
  json_t *all = json_object(), *tests = json_array();
  json_object_set_new(all, "score", json_integer(s->marks.total));
  json_object_set_new(all, "output_format", json_string("text"));
  json_object_set_new(all, "output",
                      joined(json_object_get(s->record, "reason")));
  json_object_set_new(all, "visibility", json_string("visible"));
  for (size_t i = 0; i < rubric->checks.count && s->state == RECORD_JUDGED;
       i++) {
    const struct check *c = LIST_AT(rubric->checks, struct check, i);
    if (class_check_of(s->record, c->id))
      json_array_append_new(tests, gradescope_test(spec, s, c));
  }
  json_object_set_new(all, "tests", tests);
  record_format(all, ret);
  json_decref(all);
}

const struct student_form student_gradescope = {
    .name = "gradescope", .file = "results.json", .write = write_gradescope};
