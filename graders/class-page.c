// The class as one page: report.html. It needs no network and no script, and
// its policy forbids both; what a student's bytes could bring in is escaped, and
// could do nothing if it were not.
#include <stdlib.h>
#include <string.h>

#include "graders/class.h"
#include "graders/picture.h"
#include "labgen/base/alloc.h"

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
    "'none'; style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
    "<style>\n"
    // Colours: text, weaker text, paper, panels, lines; verdicts; data.
    ":root{color-scheme:light dark;--t:#1c1e21;--w:#5b6068;--p:#fff;"
    "--b:#f4f5f6;--l:#dcdfe3;--bad:#b3261e;--ok:#1b7a4b;--hm:#9a5b00;"
    "--d:#3a6ea5;--e:#d95f02}\n"
    "@media(prefers-color-scheme:dark){:root{--t:#e4e6e9;--w:#9aa1ab;"
    "--p:#16181b;--b:#202327;--l:#363b42;--bad:#f2867d;--ok:#63c592;"
    "--hm:#e0a64a;--d:#6ea3db;--e:#f09048}}\n"
    "*{box-sizing:border-box}body{font:15px/1.45 system-ui,sans-serif;"
    "margin:1.5em auto;max-width:78em;padding:0 1em;color:var(--t);"
    "background:var(--p)}\n"
    "h1{font-size:1.5em;margin:.2em 0 .6em}h2{font-size:1.1em;margin:0 0 .5em}"
    "h3{font-size:1em;margin:.9em 0 .3em}a{color:var(--d)}\n"
    "table{border-collapse:collapse}td,th{padding:.2em .7em .2em 0;"
    "text-align:left;vertical-align:top;border-bottom:1px solid var(--l)}"
    "td.n,th.n{text-align:right;white-space:nowrap;"
    "font-variant-numeric:tabular-nums}th{font-weight:600;color:var(--w)}\n"
    ".tiles{display:flex;flex-wrap:wrap;gap:.6em;margin-bottom:1em}"
    ".tiles div{background:var(--b);border-radius:.4em;padding:.45em .9em}"
    ".tiles b{font-size:1.5em;line-height:1.2;display:block}\n"
    ".panels{display:flex;flex-wrap:wrap;gap:1.4em 2.5em;margin-bottom:1.6em}"
    ".panels section{min-width:0}.wide{flex:1 1 30em}"
    ".wide table{width:100%}td.bar{width:5.5em}td.bar "
    "i{display:block;height:.8em;"
    "margin-top:.35em;background:var(--e)}\n"
    "details{border-bottom:1px solid var(--l);content-visibility:auto;"
    "contain-intrinsic-size:auto 2.2em}\n"
    "summary{padding:.35em 0;cursor:pointer;display:grid;align-items:center;"
    "grid-template-columns:1em 8em 14em 5em 15em 1fr;gap:0 .7em}\n"
    "summary::before{content:'\\25B8';color:var(--w)}"
    "[open]>summary::before{content:'\\25BE'}"
    "summary span{overflow-wrap:anywhere}.m{text-align:right;"
    "font-variant-numeric:tabular-nums}\n"
    // One mark a check: filled, hollow, a line, dotted.
    ".s{display:flex;flex-wrap:wrap;gap:2px}.s i{width:9px;height:9px;"
    "border:1px solid var(--ok);background:var(--ok)}"
    ".s .fail{border-color:var(--bad);background:none;border-width:2px}"
    ".s .nr{border-color:var(--l);background:var(--l);height:3px;margin:3px 0}"
    ".s .nj{border:1px dashed var(--hm);background:none}\n"
    ".in{margin:0 0 1.2em 1.7em}.ck{table-layout:fixed;width:100%}"
    ".ck td:nth-child(1){width:7em}.ck td:nth-child(2){width:4.2em}"
    "pre{background:var(--b);padding:.6em;"
    "overflow-x:auto;font-size:.85em;margin:.3em 0;max-height:26em}\n"
    ".fail,.refused{color:var(--bad)}.pass,.full{color:var(--ok)}"
    ".nr,.few{color:var(--w)}.nj{color:var(--hm)}\n"
    "figure{display:inline-block;vertical-align:top;max-width:100%;"
    "margin:.6em 1.6em .6em 0}figcaption{font-size:.85em;color:var(--w);"
    "margin-bottom:.3em}\n"
    "svg{font:11px system-ui,sans-serif;max-width:100%;height:auto;"
    "display:block;fill:var(--t)}.own,.hist{fill:var(--d)}"
    ".rem{fill:var(--e)}.axis{stroke:var(--l)}\n"
    ".l0{fill:#3a6ea5}.l1{fill:#d95f02}.l2{fill:#4a9a5b}.l3{fill:#8e5ea2}"
    ".l4{fill:#c4a000}.l5{fill:#5aa9b8}.l6{fill:#b0506b}.l7{fill:#888}\n"
    "@media(max-width:50em){summary{grid-template-columns:1em 1fr auto}"
    "summary span:nth-child(n+4){grid-column:2/4}.in{margin-left:0}"
    "summary span:nth-child(2),.bar,.wide th:last-child{display:none}"
    "table{font-size:.93em}}\n"
    "</style>\n";

static void add_text(struct buf *b, const char *text)
{
  if (text)
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

// Why a check was not reached is said in passing.
static void add_evidence(const char *verdict, const json_t *lines,
                         struct buf *b)
{
  if (strcmp(verdict, verdict_words(VERDICT_NOT_REACHED)) != 0) {
    add_lines(b, lines);
    return;
  }
  buf_adds(b, " <small class=nr>(");
  add_text(b, json_string_value(json_array_get(lines, 0)));
  buf_adds(b, ")</small>");
}

static void add_checks(const struct class_report *r,
                       const struct class_student *s, struct buf *b)
{
  const struct rubric *rubric = r->spec->rubric;
  if (s->state != RECORD_JUDGED && s->state != RECORD_NOT_JUDGED)
    return;
  buf_adds(b, "<table class=ck>");
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
    add_evidence(verdict, json_object_get(row, "evidence"), b);
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

// Pictures that are the same for all students stand in the page once.
#define START_PICTURE "locks-start"
#define REFERENCE_PICTURE "locks-reference"

static void add_pictures(const struct class_report *r,
                         const struct class_student *s, struct buf *b)
{
  char stem[64];
  if (!json_array_size(json_object_get(s->evidence, "counted"))) {
    picture_free_pages(s->evidence, b);
    return;
  }
  picture_stem(r->spec->reference, stem, sizeof(stem));
  picture_locks(s->evidence, stem, NULL,
                "Locks: taken by their own CPU, by others", b);
  picture_locks_again(r->spec->start, stem, START_PICTURE,
                      "The start kernel's, up to the lab's tests", b);
  picture_locks_again(r->spec->reference, stem, REFERENCE_PICTURE,
                      "The reference's, up to the lab's tests", b);
  picture_free_pages(s->evidence, b);
}

static const char *state_class(const struct class_student *s)
{
  static const char *const names[] = {"few", "refused", "nj", "nr"};
  return s->state == RECORD_JUDGED && s->marks.total >= s->marks.max
             ? "full"
             : names[s->state];
}

// A mark for each check, in the rubric's order.
static void add_strip(const struct class_report *r,
                      const struct class_student *s, struct buf *b)
{
  const struct rubric *rubric = r->spec->rubric;
  for (size_t i = 0; i < rubric->checks.count; i++) {
    const struct check *c = LIST_AT(rubric->checks, struct check, i);
    const json_t *row = class_check_of(s->record, c->id);
    if (row)
      buf_addf(b, "<i class=%s></i>",
               verdict_class(record_text(row, "verdict")));
  }
}

// Until the page is made, r->text is the list of whom a person must look at.
static void add_link(struct class_report *r, const struct class_student *s,
                     const char *flags)
{
  struct buf *b = &r->text;
  bool judged = s->state == RECORD_JUDGED;
  if (!s->record || (judged && !*flags))
    return;
  buf_adds(b, b->len ? ", <a href=\"#s-" : "<a href=\"#s-");
  add_text(b, s->student->id);
  buf_adds(b, "\">");
  add_text(b, s->student->id);
  buf_adds(b, "</a>");
  if (!judged)
    buf_addf(b, " <span class=%s>(%s)</span>", state_class(s),
             record_state_name(s->state));
}

static void add_html(struct class_report *r, const struct class_student *s)
{
  struct buf *b = &r->more, flags = BUF_INIT;
  class_flags(s, &flags);
  add_link(r, s, buf_str(&flags));
  buf_adds(b, "<details id=\"s-");
  add_text(b, s->student->id);
  buf_adds(b, "\"><summary><span>");
  add_text(b, s->student->id);
  buf_adds(b, "</span><span>");
  add_text(b, s->student->name);
  buf_addf(b, "</span><span class=\"m %s\">", state_class(s));
  if (s->state == RECORD_JUDGED || s->state == RECORD_REFUSED ||
      s->marks.overridden)
    buf_addf(b, "%ld/%ld", s->marks.total, s->marks.max);
  if (s->state == RECORD_JUDGED) {
    buf_adds(b, "</span><span class=s>");
    add_strip(r, s, b);
  } else {
    buf_addf(b, "</span><span class=%s>", state_class(s));
    add_text(b, record_state_name(s->state));
  }
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
  const struct {
    size_t count;
    const char *class, *words;
  } tiles[] = {
      {n->judged, "few", "judged"},
      {n->full, "full", "with full marks"},
      {n->look, "few", "to look at"},
      {n->refused, "refused", "refused"},
      {n->not_judged, "nj", "not judged"},
      {n->missing, "few", "handed in nothing"},
      {n->nobodys, "nj", "entries are nobody's"},
  };
  buf_adds(b, "<div class=tiles>");
  for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++)
    buf_addf(b, "<div class=%s><b>%zu</b>%s</div>",
             tiles[i].count ? tiles[i].class : "nr", tiles[i].count,
             tiles[i].words);
  buf_adds(b, "</div>\n");
}

static void add_histogram(const struct class_report *r, struct buf *b)
{
  size_t most = 1;
  for (size_t i = 0; i < 11; i++)
    most = r->histogram[i] > most ? r->histogram[i] : most;
  buf_adds(b,
           "<section><h2>Students by marks, in percent</h2>"
           "<svg viewBox=\"0 0 448 176\" width=\"448\" role=\"img\">"
           "<line class=axis x1=0 x2=448 y1=158.5 y2=158.5 />");
  for (size_t i = 0; i < 11; i++) {
    double height = 140.0 * (double)r->histogram[i] / (double)most;
    buf_addf(b,
             "<rect class=hist x=\"%zu\" y=\"%.1f\" width=\"34\" "
             "height=\"%.1f\"/><text x=\"%zu\" y=\"173\" "
             "text-anchor=\"middle\">%zu%s</text>",
             i * 41, 158 - height, height, i * 41 + 17, i * 10,
             i < 10 ? "+" : "");
    if (r->histogram[i])
      buf_addf(b,
               "<text x=\"%zu\" y=\"%.1f\" text-anchor=\"middle\">%zu</text>",
               i * 41 + 17, 154 - height, r->histogram[i]);
  }
  buf_adds(b, "</svg></section>\n");
}

// The check that cost most of those that were not shown yet.
static size_t next_cost(const struct class_report *r, const bool *shown)
{
  size_t count = r->spec->rubric->checks.count, best = count;
  for (size_t i = 0; i < count; i++)
    if (!shown[i] &&
        (best == count || r->checks[i].marks > r->checks[best].marks))
      best = i;
  return best;
}

static void add_costs(const struct class_report *r, struct buf *b)
{
  const struct rubric *rubric = r->spec->rubric;
  bool *shown = xcalloc(rubric->checks.count + 1, sizeof(*shown));
  long most = 1;
  buf_adds(b,
           "<section class=wide><h2>What the checks cost</h2><table><tr>"
           "<th>Check<th class=n>failed<th class=n>not reached<th class=n>"
           "marks lost<th>");
  for (size_t n = 0; n < rubric->checks.count; n++) {
    size_t i = next_cost(r, shown);
    const struct class_check *c = &r->checks[i];
    shown[i] = true;
    most = c->marks > most ? c->marks : most;
    buf_adds(b, "<tr><td>");
    add_text(b, LIST_AT(rubric->checks, struct check, i)->title);
    buf_addf(b,
             "<td class=n>%zu<td class=n>%zu<td class=n>%ld<td class=bar>"
             "<i style=\"width:%.0f%%\"></i>",
             c->lost, c->not_reached, c->marks,
             c->marks > 0 ? 100.0 * (double)c->marks / (double)most : 0);
  }
  buf_adds(b, "</table></section>\n");
  free(shown);
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
  struct buf *b = &r->text, links = r->text;
  char stem[64];
  r->text = (struct buf)BUF_INIT;
  buf_adds(b, head);
  buf_adds(b, "<title>");
  add_text(b, r->spec->title);
  buf_adds(b, "</title></head><body>\n<h1>");
  add_text(b, r->spec->title);
  buf_adds(b, "</h1>\n");
  add_counts(r, b);
  buf_adds(b, "<div class=panels>");
  add_histogram(r, b);
  add_costs(r, b);
  buf_adds(b, "</div>\n");
  if (links.len) {
    buf_adds(b, "<h2>To look at</h2><p>");
    buf_add(b, buf_str(&links), links.len);
    buf_adds(b, "</p>\n");
  }
  buf_release(&links);
  add_nobodys(r, b);
  buf_adds(b, "<h2>Students</h2>\n");
  buf_add(b, buf_str(&r->more), r->more.len);
  buf_adds(b, "<h2>For comparison</h2>\n");
  picture_stem(r->spec->reference, stem, sizeof(stem));
  picture_locks(r->spec->start, stem, START_PICTURE,
                "Locks of the start kernel", b);
  picture_locks(r->spec->reference, stem, REFERENCE_PICTURE, "Of the reference",
                b);
  buf_adds(b, "</body></html>\n");
}

const struct class_form class_html = {
    .name = "html", .file = "report.html", .add = add_html, .end = end_html};
