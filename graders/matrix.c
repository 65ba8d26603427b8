// What the trials of labgen verify show: the kill matrix, margins, differences.

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "graders/verify.h"
#include "labgen/base/alloc.h"

static const struct check *check_at(const struct verify_result *v, size_t i)
{
  return LIST_AT(v->rubric->checks, struct check, i);
}

int verify_count(const struct verify_result *v, size_t subject, size_t check,
                 enum verdict verdict)
{
  int count = 0;
  for (int boot = 0; boot < v->boots; boot++)
    count += v->trials[subject][boot].verdicts[check] == verdict;
  return count;
}

bool verify_must_fail(const struct verify_result *v, size_t subject,
                      size_t check)
{
  const struct texts *fails = &v->subjects->items[subject].fails;
  for (size_t i = 0; i < fails->count; i++)
    if (strcmp(fails->items[i], check_at(v, check)->id) == 0)
      return true;
  return false;
}

// The first line that a check said in a trial in which it had that verdict.
static void add_example(const struct verify_result *v, size_t subject,
                        size_t check, enum verdict verdict, struct buf *ret)
{
  for (int boot = 0; boot < v->boots; boot++) {
    const struct trial *t = &v->trials[subject][boot];
    if (t->verdicts[check] != verdict)
      continue;
    buf_add(ret, t->texts[check], strcspn(t->texts[check], "\n"));
    return;
  }
}

static size_t add_unknown_checks(const struct verify_result *v, size_t subject,
                                 struct buf *ret)
{
  const struct subject *s = &v->subjects->items[subject];
  size_t count = 0;

  for (size_t i = 0; i < s->fails.count; i++) {
    size_t check = 0;
    while (check < v->rubric->checks.count &&
           strcmp(check_at(v, check)->id, s->fails.items[i]) != 0)
      check++;
    if (check == v->rubric->checks.count) {
      buf_addf(ret, "%s: '%s' is no check of the rubric\n", s->id,
               s->fails.items[i]);
      count++;
    }
  }
  return count;
}

static bool is_judged(const struct verify_result *v, size_t subject, int boot)
{
  for (size_t c = 0; c < v->rubric->checks.count; c++)
    if (v->trials[subject][boot].verdicts[c] == VERDICT_NOT_JUDGED)
      return false;
  return true;
}

int verify_unjudged(const struct verify_result *v, size_t subject)
{
  int count = 0;
  for (int boot = 0; v->trials[subject] != NULL && boot < v->boots; boot++)
    count += !is_judged(v, subject, boot);
  return count;
}

// The lowest and highest marks of the trials that were judged; false when there
// is none.
static bool marks_range(const struct verify_result *v, size_t subject,
                        long *ret_low, long *ret_high)
{
  bool any = false;

  for (int boot = 0; boot < v->boots; boot++) {
    long marks = v->trials[subject][boot].marks;
    if (!is_judged(v, subject, boot))
      continue;
    *ret_low = any && *ret_low < marks ? *ret_low : marks;
    *ret_high = any && *ret_high > marks ? *ret_high : marks;
    any = true;
  }
  return any;
}

// A mark that changes from one trial to the next depends on luck.
static size_t add_changing_marks(const struct verify_result *v, size_t subject,
                                 struct buf *ret)
{
  long low, high;

  if (!marks_range(v, subject, &low, &high) || low == high)
    return 0;
  buf_addf(ret, "%s: marks from %ld to %ld for the same submission\n",
           v->subjects->items[subject].id, low, high);
  return 1;
}

// What the explorer said in each trial; the caller frees the array alone.
static const struct explore_said **said_in_trials(const struct verify_result *v,
                                                  size_t subject)
{
  const struct explore_said **runs =
      xcalloc((size_t)v->boots + 1, sizeof *runs);
  for (int boot = 0; boot < v->boots; boot++)
    runs[boot] = &v->trials[subject][boot].said;
  return runs;
}

// What differs from the subject's explore claim.
static size_t add_explorer(const struct verify_result *v, size_t subject,
                           struct buf *ret)
{
  const struct explore_said **runs = said_in_trials(v, subject);
  size_t count =
      claim_differences(&v->subjects->items[subject], runs, v->boots, ret);
  free(runs);
  return count;
}

size_t verify_differences(const struct verify_result *v, struct buf *ret)
{
  size_t count = 0;

  for (size_t s = 0; s < v->subjects->count; s++) {
    if (v->trials[s] == NULL)
      continue;
    const char *id = v->subjects->items[s].id;
    count += add_unknown_checks(v, s, ret);
    count += add_changing_marks(v, s, ret);
    count += add_explorer(v, s, ret);
    for (size_t c = 0; c < v->rubric->checks.count; c++) {
      int failed = verify_count(v, s, c, VERDICT_FAIL);
      int unjudged = verify_count(v, s, c, VERDICT_NOT_JUDGED);
      if (verify_must_fail(v, s, c) && failed + unjudged < v->boots) {
        buf_addf(ret, "%s: %s must fail and did so in %d of %d\n", id,
                 check_at(v, c)->id, failed, v->boots);
        count++;
      } else if (!verify_must_fail(v, s, c) && failed > 0) {
        buf_addf(ret, "%s: %s must not fail and did so in %d of %d: ", id,
                 check_at(v, c)->id, failed, v->boots);
        add_example(v, s, c, VERDICT_FAIL, ret);
        buf_addc(ret, '\n');
        count++;
      }
    }
  }
  return count;
}

// ---- spread and margins ------------------------------------------------------------

// The smallest and largest value of a limit over subjects that must pass its
// check; or over those that must fail it, where it is this limit that they
// exceed. False when there is none.
static bool spread(const struct verify_result *v, size_t check, size_t limit,
                   long most, bool failing, double *ret_low, double *ret_high)
{
  bool any = false;

  for (size_t s = 0; s < v->subjects->count; s++) {
    if (v->trials[s] == NULL || verify_must_fail(v, s, check) != failing)
      continue;
    for (int boot = 0; boot < v->boots; boot++) {
      const struct trial *t = &v->trials[s][boot];
      bool judged =
          t->verdicts[check] == (failing ? VERDICT_FAIL : VERDICT_PASS);
      double value = t->measured[limit];
      if (!judged || value < 0 || (failing && value <= (double)most))
        continue;
      *ret_low = any && *ret_low < value ? *ret_low : value;
      *ret_high = any && *ret_high > value ? *ret_high : value;
      any = true;
    }
  }
  return any;
}

static const char *const step_words[] = {
    "a CPU's own pages", "another CPU's pages", "the call after a theft"};
static const char *const count_words[] = {"calls that went away",
                                          "shared locks", "remote locks"};

// Calls `add` for every limit of the rubric.
static void each_limit(const struct verify_result *v,
                       void (*add)(const struct verify_result *, size_t check,
                                   size_t limit, const struct traffic_limit *,
                                   void *),
                       void *arg)
{
  size_t limit = 0;
  for (size_t c = 0; c < v->rubric->checks.count; c++)
    for (size_t l = 0; l < check_at(v, c)->limits.count; l++)
      add(v, c, limit++,
          LIST_AT(check_at(v, c)->limits, struct traffic_limit, l), arg);
}

static void add_margin(const struct verify_result *v, size_t check,
                       size_t limit, const struct traffic_limit *l, void *arg)
{
  struct buf *b = arg;
  double low, high;

  buf_addf(b, "  %-16s %-22s %-20s at most %3ld;", check_at(v, check)->id,
           step_words[l->step], count_words[l->count], l->most);
  if (spread(v, check, limit, l->most, false, &low, &high))
    buf_addf(b, " passing %.1f to %.1f, margin %.1f", low, high,
             (double)l->most - high);
  if (spread(v, check, limit, l->most, true, &low, &high))
    buf_addf(b, "; failing %.1f to %.1f, margin %.1f", low, high,
             low - (double)l->most);
  buf_addc(b, '\n');
}

// ---- text ------------------------------------------------------------------------

// What stands in a cell of the matrix, "" for "passed each time".
static char *cell(const struct verify_result *v, size_t subject, size_t check)
{
  int failed = verify_count(v, subject, check, VERDICT_FAIL);
  int unjudged = verify_count(v, subject, check, VERDICT_NOT_JUDGED);
  int unreached = verify_count(v, subject, check, VERDICT_NOT_REACHED);
  struct buf b = BUF_INIT;

  if (failed > 0)
    buf_addf(&b, "%d/%d", failed, v->boots);
  else if (unjudged > 0)
    buf_addf(&b, "?%d", unjudged);
  else if (unreached > 0)
    buf_adds(&b, "-");
  return buf_detach(&b);
}

// Calls `add` for every finding, or every note, of the explorer that some trial
// of a subject has.
static void each_said(const struct verify_result *v, size_t subject, bool note,
                      void (*add)(void *arg, enum ex_kind kind, int times),
                      void *arg)
{
  const struct explore_said **runs = said_in_trials(v, subject);
  for (int kind = 0; kind < EX_KIND_COUNT; kind++) {
    int times = said_count(runs, v->boots, (enum ex_kind)kind, note);
    if (times > 0)
      add(arg, (enum ex_kind)kind, times);
  }
  free(runs);
}

static void add_said_word(void *arg, enum ex_kind kind, int times)
{
  buf_addf(arg, " %s %d", ex_kind_name(kind), times);
}

// "100", "95 to 100", or "?" when no trial was judged.
static char *marks_words(const struct verify_result *v, size_t subject)
{
  long low, high;

  if (!marks_range(v, subject, &low, &high))
    return xstrdup("?");
  return low == high ? xasprintf("%ld", low)
                     : xasprintf("%ld to %ld", low, high);
}

// How long it took, from a built base, until a check had failed.
static void add_naming(const struct verify_result *v, size_t subject,
                       struct buf *ret)
{
  int64_t low = INT64_MAX, high = 0;

  for (int boot = 0; boot < v->boots; boot++) {
    int64_t ms = v->trials[subject][boot].named_ms;
    low = ms > 0 && ms < low ? ms : low;
    high = ms > high ? ms : high;
  }
  if (high > 0)
    buf_addf(ret, "  (after %.1f%s", (double)low / 1000,
             low == high ? " s)" : "");
  if (low < high)
    buf_addf(ret, " to %.1f s)", (double)high / 1000);
}

void verify_text(const struct verify_result *v, struct buf *ret)
{
  struct buf differences = BUF_INIT;
  size_t count = verify_differences(v, &differences);

  buf_adds(ret,
           "Failed checks, times of trials (- not reached, ? not judged):\n");
  for (size_t s = 0; s < v->subjects->count; s++) {
    if (v->trials[s] == NULL)
      continue;
    const struct subject *subject = &v->subjects->items[s];
    char *marks = marks_words(v, s);
    buf_addf(ret, "%-10s %-30s marks %s", subject_kind_name(subject->kind),
             subject->id, marks);
    free(marks);
    for (size_t c = 0; c < v->rubric->checks.count; c++) {
      char *words = cell(v, s, c);
      if (*words != '\0' && strcmp(words, "-") != 0)
        buf_addf(ret, "  %s %s", check_at(v, c)->id, words);
      free(words);
    }
    struct buf said = BUF_INIT;
    each_said(v, s, false, add_said_word, &said);
    if (said.len > 0)
      buf_addf(ret, "  explorer:%s", buf_str(&said));
    buf_release(&said);
    add_naming(v, s, ret);
    buf_addc(ret, '\n');
  }
  buf_adds(ret, "\nCounts in 100 calls, and their limits:\n");
  each_limit(v, add_margin, ret);
  if (count == 0)
    buf_adds(ret, "\nEverything is as declared.\n");
  else
    buf_addf(ret, "\nNot as declared (%zu):\n", count);
  for (const char *line = buf_str(&differences); *line != '\0';) {
    size_t len = strcspn(line, "\n");
    buf_adds(ret, "  ");
    buf_add_terminal(ret, line, len);
    buf_addc(ret, '\n');
    line += len + (line[len] == '\n');
  }
  for (size_t s = 0; s < v->subjects->count; s++)
    if (verify_unjudged(v, s) > 0)
      buf_addf(ret, "%s: not judged in %d of %d trials\n",
               v->subjects->items[s].id, verify_unjudged(v, s), v->boots);
  buf_release(&differences);
}

// ---- HTML and JSON -----------------------------------------------------------------

static void add_html(struct buf *b, const char *text)
{
  buf_add_html(b, text, strlen(text));
}

// The cell of what the explorer says: findings in it, notes in its title.
static void add_explorer_cell(const struct verify_result *v, size_t s,
                              struct buf *b)
{
  struct buf words = BUF_INIT, title = BUF_INIT;
  bool claims = v->subjects->items[s].explore.findings.count > 0;

  bool wrong = add_explorer(v, s, &title) > 0;
  buf_adds(&title, "notes:");
  each_said(v, s, true, add_said_word, &title);
  each_said(v, s, false, add_said_word, &words);
  buf_addf(b, "<td class=\"%s\" title=\"",
           wrong    ? "wrong"
           : claims ? "killed"
                    : "ok");
  add_html(b, buf_str(&title));
  buf_adds(b, "\">");
  add_html(b, buf_str(&words));
  buf_release(&words);
  buf_release(&title);
}

static void add_row(const struct verify_result *v, size_t s, struct buf *b)
{
  const struct subject *subject = &v->subjects->items[s];
  char *marks = marks_words(v, s);

  buf_addf(b, "<tr><td>%s<td title=\"", subject_kind_name(subject->kind));
  add_html(b, subject->title);
  buf_addf(b, "\">%s<td class=n>%s", subject->id, marks);
  free(marks);
  for (size_t c = 0; c < v->rubric->checks.count; c++) {
    char *words = cell(v, s, c);
    struct buf example = BUF_INIT;
    bool must = verify_must_fail(v, s, c);
    int failed = verify_count(v, s, c, VERDICT_FAIL);
    add_example(v, s, c, VERDICT_FAIL, &example);
    buf_addf(b, "<td class=\"%s\" title=\"",
             must         ? failed == v->boots ? "killed" : "missed"
             : failed > 0 ? "wrong"
                          : "ok");
    add_html(b, buf_str(&example));
    buf_addf(b, "\">%s", words);
    buf_release(&example);
    free(words);
  }
  add_explorer_cell(v, s, b);
  buf_addc(b, '\n');
}

void verify_html(const struct verify_result *v, struct buf *ret)
{
  struct buf text = BUF_INIT;

  buf_adds(ret,
           "<!doctype html><meta charset=utf-8><title>labgen verify</title>\n"
           "<style>body{font:14px sans-serif;margin:2em}table{border-collapse:"
           "collapse}td,th{border:1px solid #bbb;padding:2px 6px}th span{"
           "writing-mode:vertical-rl}.killed{background:#cfe8cf}.missed,.wrong"
           "{background:#f4b6b6}.n{text-align:right}pre{background:#f4f4f4;"
           "padding:1em;overflow:auto}</style>\n<h1>Kill matrix</h1>\n"
           "<p>Green: a check that must fail and did. Red: not as declared. "
           "Point at a cell for what was seen.\n<table><tr><th>kind<th>subject"
           "<th>marks");
  for (size_t c = 0; c < v->rubric->checks.count; c++)
    buf_addf(ret, "<th><span>%s</span>", check_at(v, c)->id);
  buf_adds(ret, "<th>explorer\n");
  for (size_t s = 0; s < v->subjects->count; s++)
    if (v->trials[s] != NULL)
      add_row(v, s, ret);
  buf_adds(ret, "</table>\n<pre>");
  verify_text(v, &text);
  for (const char *line = buf_str(&text); *line != '\0';) {
    size_t len = strcspn(line, "\n");
    buf_add_html(ret, line, len);
    buf_addc(ret, '\n');
    line += len + (line[len] == '\n');
  }
  buf_adds(ret, "</pre>\n");
  buf_release(&text);
}

static void add_json_limit(const struct verify_result *v, size_t check,
                           size_t limit, const struct traffic_limit *l,
                           void *arg)
{
  double low, high;
  json_t *one =
      json_pack("{s:s, s:s, s:s, s:I}", "check", check_at(v, check)->id, "step",
                step_words[l->step], "count", count_words[l->count], "most",
                (json_int_t)l->most);

  if (spread(v, check, limit, l->most, false, &low, &high))
    json_object_set_new(one, "passing", json_pack("[f, f]", low, high));
  if (spread(v, check, limit, l->most, true, &low, &high))
    json_object_set_new(one, "failing", json_pack("[f, f]", low, high));
  json_array_append_new(arg, one);
}

static void add_json_times(void *arg, enum ex_kind kind, int times)
{
  json_object_set_new(arg, ex_kind_name(kind), json_integer(times));
}

static json_t *json_explorer(const struct verify_result *v, size_t s)
{
  const struct explore_said **runs = said_in_trials(v, s);
  json_t *findings = json_object(), *notes = json_object();
  int explored = said_explored(runs, v->boots);

  free(runs);
  each_said(v, s, false, add_json_times, findings);
  each_said(v, s, true, add_json_times, notes);
  return json_pack("{s:i, s:o, s:o}", "explored", explored, "findings",
                   findings, "notes", notes);
}

static json_t *json_subject(const struct verify_result *v, size_t s)
{
  const struct subject *subject = &v->subjects->items[s];
  json_t *checks = json_object(), *marks = json_array();

  for (size_t c = 0; c < v->rubric->checks.count; c++) {
    json_t *one = json_object();
    for (int verdict = 0; verdict <= VERDICT_NOT_JUDGED; verdict++) {
      int count = verify_count(v, s, c, verdict);
      if (count > 0)
        json_object_set_new(one, verdict_words(verdict), json_integer(count));
    }
    json_object_set_new(one, "must fail",
                        json_boolean(verify_must_fail(v, s, c)));
    json_object_set_new(checks, check_at(v, c)->id, one);
  }
  for (int boot = 0; boot < v->boots; boot++)
    json_array_append_new(marks, json_integer(v->trials[s][boot].marks));
  return json_pack("{s:s, s:s, s:o, s:i, s:o, s:o}", "id", subject->id, "kind",
                   subject_kind_name(subject->kind), "marks", marks,
                   "not judged", verify_unjudged(v, s), "checks", checks,
                   "explorer", json_explorer(v, s));
}

void verify_json(const struct verify_result *v, struct buf *ret)
{
  struct buf differences = BUF_INIT;
  json_t *subjects = json_array(), *limits = json_array(),
         *lines = json_array();

  for (size_t s = 0; s < v->subjects->count; s++)
    if (v->trials[s] != NULL)
      json_array_append_new(subjects, json_subject(v, s));
  each_limit(v, add_json_limit, limits);
  verify_differences(v, &differences);
  for (const char *line = buf_str(&differences); *line != '\0';) {
    size_t len = strcspn(line, "\n");
    json_array_append_new(lines, json_stringn(line, len));
    line += len + (line[len] == '\n');
  }
  json_t *all = json_pack("{s:i, s:o, s:o, s:o}", "boots", v->boots, "subjects",
                          subjects, "limits", limits, "differences", lines);
  char *text = json_dumps(all, JSON_INDENT(1));
  buf_adds(ret, text ? text : "{}");
  buf_addc(ret, '\n');
  free(text);
  json_decref(all);
  buf_release(&differences);
}
