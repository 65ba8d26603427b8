// The class as one page: report.html. It needs no network and no script, and
// its policy forbids both; what a student's bytes could bring in is escaped, and
// could do nothing if it were not.
#include <string.h>

#include "graders/class.h"
#include "graders/picture.h"

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
    "'none'; style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
    "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:75em;"
    "padding:0 1em;color:#1b1b1b;background:#fff}\n"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:1.6em}\n"
    "table{border-collapse:collapse}td,th{padding:.2em .7em;text-align:left;"
    "border-bottom:1px solid #ddd}td.n,th.n{text-align:right;"
    "font-variant-numeric:tabular-nums}\n"
    "details{border-bottom:1px solid #ddd;content-visibility:auto;"
    "contain-intrinsic-size:auto 2.2em}\n"
    "summary{padding:.35em 0;cursor:pointer;display:grid;"
    "grid-template-columns:1em 9em 15em 6em 8em 1fr;gap:.6em}\n"
    "summary::before{content:'\\25B8'}[open]>summary::before{content:'\\25BE'}"
    "\n"
    ".in{margin:0 0 1.2em 1.6em}pre{background:#f6f6f4;padding:.6em;"
    "overflow-x:auto;font-size:.85em;margin:.3em 0}\n"
    ".fail,.refused{color:#a11}.pass,.full{color:#06643b}.nr,.judged{color:"
    "#555}.nj{color:#8a5300}\n"
    "figure{display:inline-block;vertical-align:top;margin:.6em 1.2em .6em 0}"
    "figcaption{font-size:.85em;color:#444}\n"
    "svg{font:10px system-ui,sans-serif;overflow:visible}svg text{fill:#333}"
    ".own{fill:#3a6ea5}.rem{fill:#d95f02}.bar{fill:#3a6ea5}\n"
    ".l0{fill:#3a6ea5}.l1{fill:#d95f02}.l2{fill:#4a9a5b}.l3{fill:#8e5ea2}"
    ".l4{fill:#c4a000}.l5{fill:#5aa9b8}.l6{fill:#b0506b}.l7{fill:#777}\n"
    "</style>\n";

static void add_text(struct buf *b, const char *text)
{
  buf_add_html(b, text, strlen(text));
}

static void add_lines(struct buf *b, const json_t *lines)
{
  size_t i;
  json_t *line;
  if (!json_array_size(lines))
    return;
  buf_adds(b, "<pre>");
  json_array_foreach(lines, i, line)
  {
    add_text(b, json_string_value(line));
    buf_addc(b, '\n');
  }
  buf_adds(b, "</pre>");
}

// --- a student --------------------------------------------------------------

static const char *verdict_class(const char *verdict)
{
  return strcmp(verdict, "pass") == 0          ? "pass"
         : strcmp(verdict, "fail") == 0        ? "fail"
         : strcmp(verdict, "not reached") == 0 ? "nr"
                                               : "nj";
}

static void add_checks(const struct class_report *r,
                       const struct class_student *s, struct buf *b)
{
  const struct rubric *rubric = r->spec->rubric;
  if (s->state != RECORD_JUDGED && s->state != RECORD_NOT_JUDGED)
    return;
  buf_adds(b, "<table>");
  for (size_t i = 0; i < rubric->checks.count; i++) {
    const struct check *c = LIST_AT(rubric->checks, struct check, i);
    const json_t *row = class_check_of(s->record, c->id);
    const char *verdict = record_text(row, "verdict"), *reason;
    long marks = class_marks_of(s->record, c, &reason);
    if (!row)
      continue;
    buf_addf(b, "<tr><td class=\"%s\">", verdict_class(verdict));
    add_text(b, verdict);
    buf_addf(b, "<td class=\"n\">%ld/%ld<td>", marks, c->marks);
    add_text(b, c->title);
    if (reason) {
      buf_adds(b, "<br>Staff decided: ");
      add_text(b, reason);
    }
    add_lines(b, json_object_get(row, "evidence"));
  }
  buf_adds(b, "</table>");
}

static void add_changes(const struct class_student *s, struct buf *b)
{
  const json_t *changes = json_object_get(s->record, "changes");
  size_t i;
  json_t *row;
  if (!json_array_size(changes))
    return;
  buf_adds(b, "<h3>Changed</h3><table>");
  json_array_foreach(changes, i, row)
  {
    static const char *const keys[] = {"path", "change", "parts", "use"};
    buf_adds(b, "<tr>");
    for (size_t k = 0; k < 4; k++) {
      buf_adds(b, "<td>");
      add_text(b, record_text(row, keys[k]));
    }
  }
  buf_adds(b, "</table>");
}

static void add_joined(const json_t *all, struct buf *b)
{
  size_t i;
  json_t *one;
  json_array_foreach(all, i, one)
  {
    buf_adds(b, i ? ", " : "");
    if (json_is_integer(one))
      buf_addf(b, "%lld", (long long)json_integer_value(one));
    else
      add_text(b, json_string_value(one));
  }
}

// The clinic's keys beside the answers, since staff judge what is explained.
static void add_clinic(const struct class_student *s, struct buf *b)
{
  const json_t *kernels = json_object_get(s->record, "clinic");
  size_t i;
  json_t *kernel;
  if (json_array_size(kernels))
    buf_adds(b,
             "<h3>Clinic</h3><table><tr><th>kernel<th>bug<th>class<th>function"
             "<th>line");
  json_array_foreach(kernels, i, kernel)
  {
    const json_t *key = json_object_get(kernel, "key");
    const json_t *answers = json_object_get(kernel, "answers");
    buf_adds(b, "<tr><td>");
    add_text(b, record_text(kernel, "branch"));
    buf_adds(b, "<td>");
    add_text(b, record_text(key, "bug"));
    buf_adds(b, "<td>");
    add_text(b, record_text(key, "class"));
    buf_adds(b, "<td>");
    add_joined(json_object_get(key, "functions"), b);
    buf_adds(b, "<td>");
    add_joined(json_object_get(key, "lines"), b);
    buf_adds(b, "<tr><td><td>answer<td>");
    add_text(b, record_text(answers, "class"));
    buf_adds(b, "<td>");
    add_text(b, record_text(answers, "function"));
    buf_addf(b, "<td>%ld<tr><td><td colspan=\"4\">",
             record_number(answers, "line"));
    add_lines(b, json_object_get(answers, "explanation"));
    add_lines(b, json_object_get(answers, "seen"));
  }
  if (json_array_size(kernels))
    buf_adds(b, "</table>");
}

static void add_submission(const struct class_student *s, struct buf *b)
{
  const json_t *submission = json_object_get(s->record, "submission");
  static const char *const keys[] = {"handed_in", "branch", "commit"};
  buf_adds(b, "<p>");
  for (size_t i = 0; i < 3; i++) {
    const char *text = record_text(submission, keys[i]);
    if (!*text)
      continue;
    buf_addf(b, "%s ", i == 0 ? "handed in" : keys[i]);
    add_text(b, text);
    buf_adds(b, "; ");
  }
  buf_adds(b, "files in <a href=\"");
  add_text(b, s->student->id);
  buf_adds(b, "/\">");
  add_text(b, s->student->id);
  buf_adds(b, "/</a></p>");
  add_lines(b, json_object_get(submission, "entries"));
}

static void add_pictures(const struct class_report *r,
                         const struct class_student *s, struct buf *b)
{
  if (!json_array_size(json_object_get(s->evidence, "counted"))) {
    picture_free_pages(s->evidence, b);
    return;
  }
  picture_locks(s->evidence,
                "Locks taken by their own CPU, and <b>by others</b>", b);
  picture_locks(r->spec->start, "The same, start kernel", b);
  picture_locks(r->spec->reference, "The same, reference", b);
  picture_free_pages(s->evidence, b);
}

static const char *state_class(const struct class_student *s)
{
  static const char *const names[] = {"judged", "refused", "nj", "nr"};
  return s->state == RECORD_JUDGED && s->marks.total >= s->marks.max
             ? "full"
             : names[s->state];
}

static void add_html(struct class_report *r, const struct class_student *s)
{
  struct buf *b = &r->more, flags = BUF_INIT;
  class_flags(s, &flags);
  buf_adds(b, "<details id=\"s-");
  add_text(b, s->student->id);
  buf_adds(b, "\"><summary><span>");
  add_text(b, s->student->id);
  buf_adds(b, "</span><span>");
  add_text(b, s->student->name);
  buf_addf(b, "</span><span class=\"%s\">", state_class(s));
  if (s->state == RECORD_JUDGED || s->state == RECORD_REFUSED ||
      s->marks.overridden)
    buf_addf(b, "%ld/%ld", s->marks.total, s->marks.max);
  buf_adds(b, "</span><span>");
  add_text(b, record_state_name(s->state));
  buf_adds(b, "</span><span>");
  add_text(b, buf_str(&flags));
  buf_adds(b, "</span></summary><div class=\"in\">");
  if (s->record) {
    add_submission(s, b);
    add_lines(b, json_object_get(s->record, "reason"));
    add_lines(b, json_object_get(s->record, "staff"));
    add_lines(b, json_object_get(s->record, "copies"));
    add_lines(b, json_object_get(s->record, "notes"));
    add_checks(r, s, b);
    add_clinic(s, b);
    add_pictures(r, s, b);
    add_changes(s, b);
  }
  buf_adds(b, "</div></details>\n");
  buf_release(&flags);
}

// --- the class --------------------------------------------------------------

static void add_counts(const struct class_report *r, struct buf *b)
{
  const struct class_counts *n = &r->counts;
  buf_addf(b,
           "<p>%zu judged, %zu of them with full marks; %zu refused; <span "
           "class=\"%s\">%zu not judged</span>; %zu handed in nothing; %zu "
           "entries are nobody's.</p>\n",
           n->judged, n->full, n->refused, n->not_judged ? "nj" : "nr",
           n->not_judged, n->missing, n->nobodys);
}

static void add_histogram(const struct class_report *r, struct buf *b)
{
  size_t most = 1;
  for (size_t i = 0; i < 11; i++)
    most = r->histogram[i] > most ? r->histogram[i] : most;
  buf_adds(b,
           "<figure><figcaption>Students by marks, in percent</figcaption>"
           "<svg viewBox=\"0 0 460 130\" width=\"460\" role=\"img\">");
  for (size_t i = 0; i < 11; i++) {
    double height = 90.0 * (double)r->histogram[i] / (double)most;
    buf_addf(b,
             "<rect class=\"bar\" x=\"%zu\" y=\"%.1f\" width=\"34\" "
             "height=\"%.1f\"/><text x=\"%zu\" y=\"125\" "
             "text-anchor=\"middle\">%zu%s</text>",
             i * 41, 108 - height, height, i * 41 + 17, i * 10,
             i < 10 ? "+" : "");
    if (r->histogram[i])
      buf_addf(b,
               "<text x=\"%zu\" y=\"%.1f\" text-anchor=\"middle\">%zu</text>",
               i * 41 + 17, 104 - height, r->histogram[i]);
  }
  buf_adds(b, "</svg></figure>\n");
}

static void add_costs(const struct class_report *r, struct buf *b)
{
  const struct rubric *rubric = r->spec->rubric;
  buf_adds(b,
           "<table><tr><th>Check<th class=\"n\">failed<th class=\"n\">not "
           "reached<th class=\"n\">marks lost");
  for (size_t i = 0; i < rubric->checks.count; i++) {
    const struct class_check *c = &r->checks[i];
    buf_adds(b, "<tr><td>");
    add_text(b, LIST_AT(rubric->checks, struct check, i)->title);
    buf_addf(b, "<td class=\"n\">%zu<td class=\"n\">%zu<td class=\"n\">%ld",
             c->lost, c->not_reached, c->marks);
  }
  buf_adds(b, "</table>\n");
}

static void add_nobodys(const struct class_report *r, struct buf *b)
{
  const struct intake *in = r->spec->intake;
  if (!r->counts.nobodys)
    return;
  buf_adds(b, "<h2>Nobody's</h2><table>");
  for (size_t i = 0; i < in->count; i++) {
    if (!in->entries[i].problem)
      continue;
    struct buf name = BUF_INIT;
    buf_add_terminal(&name, in->entries[i].name, strlen(in->entries[i].name));
    buf_adds(b, "<tr><td>");
    add_text(b, buf_str(&name));
    buf_truncate(&name, 0);
    buf_add_terminal(&name, in->entries[i].problem,
                     strlen(in->entries[i].problem));
    buf_adds(b, "<td>");
    add_text(b, buf_str(&name));
    buf_release(&name);
  }
  buf_adds(b, "</table>\n");
}

static void end_html(struct class_report *r)
{
  struct buf *b = &r->text;
  buf_adds(b, head);
  buf_adds(b, "<title>");
  add_text(b, r->spec->title);
  buf_adds(b, "</title></head><body>\n<h1>");
  add_text(b, r->spec->title);
  buf_adds(b, "</h1>\n");
  add_counts(r, b);
  add_histogram(r, b);
  buf_adds(b, "<h2>What the checks cost</h2>\n");
  add_costs(r, b);
  add_nobodys(r, b);
  buf_adds(b, "<h2>Students</h2>\n");
  buf_add(b, buf_str(&r->more), r->more.len);
  buf_adds(b, "</body></html>\n");
}

const struct class_form class_html = {
    .name = "html", .file = "report.html", .add = add_html, .end = end_html};
