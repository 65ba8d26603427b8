// The three formats of a result.
#include "graders/explore/print.h"

#include <stdio.h>
#include <string.h>

enum { TIME_WIDTH = 4, CELL_LEAST = 20 };

// ---- escaping ---------------------------------------------------------------

static void add(struct buf *b, enum print_format format, const char *s)
{
  size_t len = strlen(s);
  switch (format) {
  case PRINT_TEXT:
    buf_add_terminal(b, s, len);
    break;
  case PRINT_MARKDOWN:
    buf_add_markdown(b, s, len);
    break;
  case PRINT_HTML:
    buf_add_html(b, s, len);
    break;
  }
}

// ---- the table as text ------------------------------------------------------

// Bytes of `s` that go on a line of `width`: up to a space, if there is one.
static size_t line_of(const char *s, size_t width)
{
  size_t len = strlen(s);
  if (len <= width)
    return len;
  for (size_t i = width; i > 0; i--) {
    if (s[i] == ' ')
      return i;
  }
  return width;
}

// A row whose cells are wrapped to `width`.
static void text_row(const struct table_row *r, size_t number, int columns,
                     size_t width, struct buf *b)
{
  struct buf safe[EX_HARTS] = {0};
  const char *rest[EX_HARTS];
  for (int c = 0; c < columns; c++) {
    add(&safe[c], PRINT_TEXT, buf_str(&r->cell[c]));
    rest[c] = buf_str(&safe[c]);
  }
  for (bool first = true, more = true; more; first = false) {
    more = false;
    if (first)
      buf_addf(b, "%*zu |", TIME_WIDTH, number);
    else
      buf_addf(b, "%*s |", TIME_WIDTH, "");
    for (int c = 0; c < columns; c++) {
      size_t len = line_of(rest[c], width);
      buf_addf(b, " %.*s%*s |", (int)len, rest[c], (int)(width - len), "");
      rest[c] += len + (rest[c][len] == ' ');
      more = more || *rest[c];
    }
    buf_addc(b, '\n');
  }
  for (int c = 0; c < columns; c++)
    buf_release(&safe[c]);
}

static void text_rule(struct buf *b, int columns, size_t width)
{
  for (int i = 0; i < TIME_WIDTH; i++)
    buf_addc(b, '-');
  buf_adds(b, "-+");
  for (int c = 0; c < columns; c++) {
    for (size_t i = 0; i < width + 2; i++)
      buf_addc(b, '-');
    buf_addc(b, '+');
  }
  buf_addc(b, '\n');
}

static void text_table(const struct table *t, int total, struct buf *b)
{
  int columns = t->columns > 0 ? t->columns : 1;
  int room = (total - TIME_WIDTH - 2) / columns - 3;
  size_t width = (size_t)(room < CELL_LEAST ? CELL_LEAST : room);
  char head[32];

  buf_addf(b, "%*s |", TIME_WIDTH, "time");
  for (int c = 0; c < t->columns; c++) {
    int n = snprintf(head, sizeof head, "hart %d", t->hart[c]);
    buf_addf(b, " %s%*s |", head, (int)width - n, "");
  }
  buf_addc(b, '\n');
  text_rule(b, columns, width);
  for (size_t i = 0; i < t->rows; i++)
    text_row(&t->row[i], i + 1, t->columns, width, b);
}

// ---- the table as Markdown and HTML -----------------------------------------

static void markdown_table(const struct table *t, struct buf *b)
{
  buf_adds(b, "| time |");
  for (int c = 0; c < t->columns; c++)
    buf_addf(b, " hart %d |", t->hart[c]);
  buf_adds(b, "\n|---|");
  for (int c = 0; c < t->columns; c++)
    buf_adds(b, "---|");
  buf_addc(b, '\n');
  for (size_t i = 0; i < t->rows; i++) {
    buf_addf(b, "| %zu |", i + 1);
    for (int c = 0; c < t->columns; c++) {
      buf_addc(b, ' ');
      add(b, PRINT_MARKDOWN, buf_str(&t->row[i].cell[c]));
      buf_adds(b, " |");
    }
    buf_addc(b, '\n');
  }
}

static void html_table(const struct table *t, struct buf *b)
{
  buf_adds(b, "<table>\n<tr><th>time</th>");
  for (int c = 0; c < t->columns; c++)
    buf_addf(b, "<th>hart %d</th>", t->hart[c]);
  buf_adds(b, "</tr>\n");
  for (size_t i = 0; i < t->rows; i++) {
    buf_addf(b, "<tr%s><td>%zu</td>",
             t->row[i].breaks ? " class=\"breaks\"" : "", i + 1);
    for (int c = 0; c < t->columns; c++) {
      buf_adds(b, "<td>");
      add(b, PRINT_HTML, buf_str(&t->row[i].cell[c]));
      buf_adds(b, "</td>");
    }
    buf_adds(b, "</tr>\n");
  }
  buf_adds(b, "</table>\n");
}

enum { LANE = 180, STEP = 34, TOP = 40, BOX = 150, LABEL = 24 };

static void svg_box(const struct table_row *r, size_t i, int column,
                    struct buf *b)
{
  int x = column * LANE + 15, y = TOP + (int)i * STEP;
  const char *text = buf_str(&r->cell[column]);
  size_t len = strcspn(text, ";(");
  if (!*text)
    return;
  buf_addf(b,
           "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"24\" rx=\"4\" "
           "fill=\"%s\"/><text x=\"%d\" y=\"%d\">%zu ",
           x, y, BOX,
           r->breaks      ? "#f4b6b6"
           : r->waits_for ? "#f6e3a8"
                          : "#cfe3f5",
           x + 6, y + 16, i + 1);
  buf_add_html(b, text, len < LABEL ? len : LABEL);
  buf_adds(b, "</text>\n");
}

static void svg_row(const struct table *t, size_t i, struct buf *b)
{
  const struct table_row *r = &t->row[i];
  for (int c = 0; c < t->columns; c++)
    svg_box(r, i, c, b);
  if (!r->waits_for || r->holder < 0 || r->holder == r->column)
    return;
  int x = r->column * LANE + 15, y = TOP + (int)i * STEP + 12;
  int from = r->holder > r->column ? x + BOX : x;
  int to = r->holder * LANE + 15 + (r->holder > r->column ? 0 : BOX);
  buf_addf(b,
           "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#b00\" "
           "marker-end=\"url(#tip)\"/>\n",
           from, y, to, y);
}

static void svg(const struct table *t, struct buf *b)
{
  int width = t->columns * LANE, height = TOP + (int)t->rows * STEP + 8;
  buf_addf(b,
           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
           "height=\"%d\" font-family=\"sans-serif\" font-size=\"11\" "
           "role=\"img\">\n<title>Who acts when, and who waits for "
           "whom</title>\n"
           "<defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" "
           "refX=\"7\" refY=\"4\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
           "fill=\"#b00\"/></marker></defs>\n",
           width, height);
  for (int c = 0; c < t->columns; c++) {
    int x = c * LANE + 15 + BOX / 2;
    buf_addf(b,
             "<text x=\"%d\" y=\"18\" text-anchor=\"middle\" "
             "font-weight=\"bold\">hart %d</text>"
             "<line x1=\"%d\" y1=\"26\" x2=\"%d\" y2=\"%d\" "
             "stroke=\"#bbb\"/>\n",
             x, t->hart[c], x, x, height);
  }
  for (size_t i = 0; i < t->rows; i++)
    svg_row(t, i, b);
  buf_adds(b, "</svg>\n");
}

// ---- findings and notes -----------------------------------------------------

static void ops_text(const struct ex_ops *ops, struct buf *b)
{
  for (int i = 0; i < ops->count; i++) {
    const struct ex_op *op = &ops->op[i];
    buf_addf(b, "%s%s", i ? ", " : "", ex_op_word(op->kind));
    bool one = (op->kind == OP_ALLOC || op->kind == OP_FREE) && op->number == 1;
    if (ex_op_has_number(op->kind) && !one)
      buf_addf(b, " %d", op->number);
  }
}

// "hart 0: alloc 2; hart 1: free".
static void threads_text(const struct story *s, const struct ex_ops *threads,
                         struct buf *b)
{
  bool any = false;
  for (int t = 0; t < EX_HARTS; t++) {
    if (threads[t].count == 0)
      continue;
    buf_addf(b, "%shart %d: ", any ? "; " : "", s->harts[t]);
    ops_text(&threads[t], b);
    any = true;
  }
  if (!any)
    buf_adds(b, "nothing");
}

static void describe_program(const struct story *s, struct buf *b)
{
  buf_addf(b, "With %d pages in all. Before: ", s->program.pages);
  threads_text(s, s->program.before, b);
  buf_adds(b, ". Then, at the same time: ");
  threads_text(s, s->program.thread, b);
  buf_adds(b, ".");
}

static void title(const struct story *s, struct buf *b)
{
  buf_addf(b, "%s: %s", ex_kind_name(s->kind), s->text);
  if (s->place.line > 0)
    buf_addf(b, ", in %s at %s:%d", s->place.function, s->place.file,
             s->place.line);
}

static void reason(const struct story *s, struct buf *b)
{
  if (s->at_boot) {
    buf_adds(b, "It happens before the harts run at the same time.");
    return;
  }
  if (s->preemptions < 0)
    buf_adds(b, "A random schedule shows it.");
  else if (s->preemptions == 0)
    buf_adds(b, "No hart has to be interrupted for it.");
  else
    buf_addf(b, "It takes %d switch%s at a bad moment.", s->preemptions,
             s->preemptions == 1 ? "" : "es");
  if (!s->repeats)
    buf_adds(b, " It could not be repeated.");
}

static void heading(const char *text, enum print_format format, struct buf *b)
{
  buf_adds(b, format == PRINT_HTML       ? "<h2>"
              : format == PRINT_MARKDOWN ? "### "
                                         : "");
  add(b, format, text);
  buf_adds(b, format == PRINT_HTML ? "</h2>\n" : "\n\n");
}

static void paragraph(const char *text, enum print_format format, struct buf *b)
{
  buf_adds(b, format == PRINT_HTML ? "<p>" : "");
  add(b, format, text);
  buf_adds(b, format == PRINT_HTML ? "</p>\n" : "\n\n");
}

void print_finding(const struct story *s, const struct table_words *words,
                   enum print_format format, int width, struct buf *b)
{
  struct table t;
  struct buf text = BUF_INIT;
  title(s, &text);
  heading(buf_str(&text), format, b);
  buf_release(&text);
  // What ended the explorer itself has no program and no steps.
  if (s->program.pages == 0)
    return;
  describe_program(s, &text);
  buf_addc(&text, ' ');
  reason(s, &text);
  paragraph(buf_str(&text), format, b);
  buf_release(&text);
  table_make(s, words, &t);
  switch (format) {
  case PRINT_TEXT:
    text_table(&t, width, b);
    break;
  case PRINT_MARKDOWN:
    markdown_table(&t, b);
    break;
  case PRINT_HTML:
    html_table(&t, b);
    svg(&t, b);
    break;
  }
  buf_addc(b, '\n');
  table_release(&t);
}

void print_note(const struct story *s, enum print_format format, struct buf *b)
{
  struct buf line = BUF_INIT;
  title(s, &line);
  if (*s->name)
    buf_addf(&line, ": %s", s->name);
  buf_adds(b, format == PRINT_HTML       ? "<li>"
              : format == PRINT_MARKDOWN ? "- "
                                         : "  ");
  add(b, format, buf_str(&line));
  buf_adds(b, format == PRINT_HTML ? "</li>\n" : "\n");
  buf_release(&line);
}

static bool finished(const struct story_coverage *c, int bound)
{
  for (int b = 0; b <= bound && b < SEARCH_BOUNDS; b++) {
    if (!c->complete[b])
      return false;
  }
  return true;
}

void print_coverage(const struct stories *s, int bound,
                    enum print_format format, struct buf *b)
{
  struct buf text = BUF_INIT;
  size_t open = 0, cut = 0;
  uint64_t random = 0;
  for (size_t i = 0; i < s->coverages; i++) {
    open += !finished(&s->coverage[i], bound);
    cut += s->coverage[i].cut;
    random += s->coverage[i].random;
  }
  if (s->findings == 0)
    buf_addf(&text, "%s within bound %d of these programs. ",
             cut ? "Not finished, nothing found yet" : "Nothing found", bound);
  else
    buf_addf(&text, "%zu finding%s: ", s->findings,
             s->findings == 1 ? "" : "s");
  for (size_t i = 0; i < s->findings; i++)
    buf_addf(&text, "%s%s", ex_kind_name(s->finding[i].kind),
             i + 1 < s->findings ? ", " : ". ");
  buf_addf(&text,
           "%lu schedules of %zu programs were run, with at most %d "
           "preemption%s each.",
           (unsigned long)s->schedules, s->coverages, bound,
           bound == 1 ? "" : "s");
  if (random > 0)
    buf_addf(&text, " %lu of them were random.", (unsigned long)random);
  if (open > 0)
    buf_addf(&text, " %zu program%s had more schedules than were run%s.", open,
             open == 1 ? "" : "s",
             cut ? "; the time was up, so that is not judged" : "");
  buf_adds(b, format == PRINT_HTML ? "<p>" : "");
  add(b, format, buf_str(&text));
  buf_adds(b, format == PRINT_HTML ? "</p>\n" : "\n");
  buf_release(&text);
}

static const char html_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<title>labgen explore</title>\n<style>body{font-family:sans-serif;"
    "max-width:60em;margin:1em auto}table{border-collapse:collapse}"
    "td,th{border:1px solid #bbb;padding:.3em .5em;vertical-align:top;"
    "text-align:left}tr.breaks td{background:#fbe3e3}</style></head><body>\n";

void print_all(const struct stories *s, const struct table_words *words,
               int bound, enum print_format format, int width, struct buf *b)
{
  if (format == PRINT_HTML)
    buf_adds(b, html_head);
  for (size_t i = 0; i < s->findings; i++)
    print_finding(&s->finding[i], words, format, width, b);
  if (s->notes > 0)
    buf_adds(b, format == PRINT_HTML ? "<h2>To look at</h2>\n<ul>\n"
                                     : "To look at (no finding by itself):\n");
  if (s->notes > 0 && format == PRINT_MARKDOWN)
    buf_addc(b, '\n');
  for (size_t i = 0; i < s->notes; i++)
    print_note(&s->note[i], format, b);
  if (s->notes > 0)
    buf_adds(b, format == PRINT_HTML ? "</ul>\n" : "\n");
  print_coverage(s, bound, format, b);
  if (format == PRINT_HTML)
    buf_adds(b, "</body></html>\n");
}
