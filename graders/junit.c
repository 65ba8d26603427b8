// The class as JUnit XML, in the form that GitLab and others read: a suite for
// each student, a case for each check, the words in the bodies.
#include <string.h>

#include "graders/class.h"

static void add_text(struct buf *b, const char *text)
{
  buf_add_html(b, text, strlen(text));
}

static void add_lines(struct buf *b, const json_t *lines)
{
  size_t i;
  json_t *line;
  json_array_foreach(lines, i, line)
  {
    add_text(b, json_string_value(line));
    buf_addc(b, '\n');
  }
}

static void begin_junit(struct class_report *r)
{
  buf_adds(&r->text,
           "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
}

// What stands in the case's body; nothing for what passed.
static const char *element_of(enum record_state state, const char *verdict)
{
  if (state == RECORD_NOT_JUDGED ||
      strcmp(verdict, verdict_words(VERDICT_NOT_JUDGED)) == 0)
    return "error";
  if (state == RECORD_REFUSED ||
      strcmp(verdict, verdict_words(VERDICT_FAIL)) == 0)
    return "failure";
  return strcmp(verdict, verdict_words(VERDICT_PASS)) == 0 ? NULL : "skipped";
}

static void add_case(struct class_report *r, const struct class_student *s,
                     const struct check *c, struct buf *body)
{
  const json_t *row = class_check_of(s->record, c->id);
  const char *verdict = record_text(row, "verdict");
  const char *element = element_of(s->state, verdict);
  buf_adds(body, "  <testcase classname=\"");
  add_text(body, r->spec->id);
  buf_addc(body, '.');
  add_text(body, s->student->id);
  buf_adds(body, "\" name=\"");
  add_text(body, c->id);
  buf_adds(body, "\" time=\"0\">");
  if (element) {
    buf_addf(body, "<%s message=\"", element);
    add_text(body, c->title);
    buf_adds(body, "\">");
    add_lines(body, row ? json_object_get(row, "evidence")
                        : json_object_get(s->record, "reason"));
    add_text(body, c->hint ? c->hint : "");
    buf_addf(body, "</%s>", element);
  }
  buf_adds(body, "</testcase>\n");
}

static void add_junit(struct class_report *r, const struct class_student *s)
{
  const struct rubric *rubric = r->spec->rubric;
  struct buf body = BUF_INIT;
  if (s->state == RECORD_MISSING)
    return;
  buf_adds(&r->text, " <testsuite name=\"");
  add_text(&r->text, s->student->id);
  buf_addf(&r->text, "\" tests=\"%zu\">\n", rubric->checks.count);
  for (size_t i = 0; i < rubric->checks.count; i++)
    add_case(r, s, LIST_AT(rubric->checks, struct check, i), &body);
  buf_add(&r->text, buf_str(&body), body.len);
  buf_adds(&r->text, " </testsuite>\n");
  buf_release(&body);
}

static void end_junit(struct class_report *r)
{
  buf_adds(&r->text, "</testsuites>\n");
}

const struct class_form class_junit = {.name = "junit",
                                       .file = "junit.xml",
                                       .begin = begin_junit,
                                       .add = add_junit,
                                       .end = end_junit};
