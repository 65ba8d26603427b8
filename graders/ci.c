// Writes results for services: JUnit XML, and remarks with file and line.
//
// A remark's place is what the evidence knows: the compiler's FILE:LINE, the
// explorer's line, or the first line of the function that the watchers saw.
// Texts may hold bytes of the student's guest, so all of it is escaped, as XML,
// as JSON, or as a workflow command.

#include "graders/ci.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"

enum { MAX_TEXT_BYTES = 16 << 10 };

// ---- JUnit ------------------------------------------------------------------------

static void add_lines(const struct check_result *r, struct buf *ret)
{
  size_t left = MAX_TEXT_BYTES;

  for (const char *line = buf_str(&r->text); *line != '\0' && left > 0;) {
    size_t len = strcspn(line, "\n"), shown = len < left ? len : left;
    buf_add_html(ret, line, shown);
    buf_addc(ret, '\n');
    left -= shown;
    line += len + (line[len] == '\n');
  }
}

static void add_text(const char *text, struct buf *ret)
{
  buf_add_html(ret, text, strlen(text));
}

static void add_case(const struct ci_results *r, const struct check_result *c,
                     struct buf *ret)
{
  static const char *const elements[] = {
      [VERDICT_PASS] = NULL,
      [VERDICT_FAIL] = "failure",
      [VERDICT_NOT_REACHED] = "skipped",
      [VERDICT_NOT_JUDGED] = "error",
  };
  const char *element = elements[c->verdict];

  buf_adds(ret, "  <testcase name=\"");
  add_text(c->check->id, ret);
  buf_adds(ret, "\" classname=\"");
  add_text(r->suite, ret);
  buf_adds(ret, "\" file=\"");
  add_text(r->file, ret);
  buf_addf(ret,
           "\">\n    <properties><property name=\"marks\" value=\"%ld\"/>"
           "<property name=\"earned\" value=\"%ld\"/></properties>\n",
           c->check->marks, c->marks);
  if (element == NULL) {
    if (c->text.len > 0) {
      buf_adds(ret, "    <system-out>");
      add_lines(c, ret);
      buf_adds(ret, "</system-out>\n");
    }
    buf_adds(ret, "  </testcase>\n");
    return;
  }
  buf_addf(ret, "    <%s message=\"", element);
  add_text(c->check->title, ret);
  buf_addf(ret, "\">");
  add_lines(c, ret);
  if (c->verdict == VERDICT_FAIL)
    add_text(c->check->hint, ret);
  buf_addf(ret, "</%s>\n  </testcase>\n", element);
}

static size_t count_of(const struct ci_results *r, enum verdict verdict)
{
  size_t count = 0;

  for (size_t i = 0; i < r->count; i++)
    count += r->results[i].verdict == verdict;
  return count;
}

void ci_junit(const struct ci_results *r, struct buf *ret)
{
  buf_adds(ret,
           "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
           " <testsuite name=\"");
  add_text(r->suite, ret);
  buf_addf(
      ret,
      "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n",
      r->count, count_of(r, VERDICT_FAIL), count_of(r, VERDICT_NOT_JUDGED),
      count_of(r, VERDICT_NOT_REACHED));
  for (size_t i = 0; i < r->count; i++)
    add_case(r, &r->results[i], ret);
  buf_adds(ret, " </testsuite>\n</testsuites>\n");
}

// ---- remarks ----------------------------------------------------------------------

// What a service shows beside a line.
struct remark {
  const char *check, *title;
  char *file, *text;  // owned
  long line;
};

typedef void remark_writer(void *arg, const struct remark *remark);

// "FILE:LINE:COLUMN: error: words", as compilers write it. The file must be one
// of a tree: a relative path.
static bool read_compiler_line(const char *line, size_t len, struct remark *r)
{
  const char *colon = memchr(line, ':', len);
  char *end;

  if (colon == NULL || colon == line || *line == '/' ||
      !isdigit((unsigned char)colon[1]))
    return false;
  r->line = strtol(colon + 1, &end, 10);
  const char *words = strstr(end, "error: ");
  if (words == NULL || words >= line + len)
    return false;
  r->file = xstrndup(line, (size_t)(colon - line));
  r->text = xstrndup(words, len - (size_t)(words - line));
  return true;
}

static size_t remarks_of_build(const struct check_result *c,
                               remark_writer *write, void *arg)
{
  size_t count = 0;

  for (const char *line = buf_str(&c->text); *line != '\0';) {
    size_t len = strcspn(line, "\n");
    struct remark r = {.check = c->check->id, .title = c->check->title};
    if (read_compiler_line(line, len, &r)) {
      write(arg, &r);
      count++;
    }
    free(r.file);
    free(r.text);
    line += len + (line[len] == '\n');
  }
  return count;
}

static bool names(const struct texts *names, const struct found *f)
{
  size_t len = strlen(f->source);

  for (size_t i = 0; i < names->count; i++)
    if (strncmp(names->items[i], f->source, len) == 0 &&
        names->items[i][len] == '/' &&
        strcmp(names->items[i] + len + 1, f->kind) == 0)
      return true;
  return false;
}

// The first line of what was found: a table of steps is for the log.
static size_t remarks_of_findings(const struct ci_results *results,
                                  const struct check_result *c,
                                  remark_writer *write, void *arg)
{
  const struct evidence *e = results->evidence;
  size_t count = 0;

  for (size_t i = 0; i < e->finding_count; i++) {
    const struct found *f = &e->findings[i];
    if (f->note || !names(&c->check->findings, f))
      continue;
    struct remark r = {.check = c->check->id,
                       .title = c->check->title,
                       .file = xstrdup(results->file),
                       .text = xstrndup(f->text, strcspn(f->text, "\n")),
                       .line = f->line > 0 ? f->line : 1};
    write(arg, &r);
    count++;
    free(r.file);
    free(r.text);
  }
  return count;
}

static void each_remark(const struct ci_results *results, remark_writer *write,
                        void *arg)
{
  for (size_t i = 0; i < results->count; i++) {
    const struct check_result *c = &results->results[i];
    size_t count = 0;
    if (c->verdict != VERDICT_FAIL)
      continue;
    if (c->check->kind == CHECK_BUILD)
      count = remarks_of_build(c, write, arg);
    else if (c->check->kind == CHECK_FINDINGS)
      count = remarks_of_findings(results, c, write, arg);
    if (count > 0)
      continue;
    const char *text = buf_str(&c->text);
    struct remark r = {.check = c->check->id,
                       .title = c->check->title,
                       .file = xstrdup(results->file),
                       .text = xstrndup(text, strcspn(text, "\n")),
                       .line = 1};
    write(arg, &r);
    free(r.file);
    free(r.text);
  }
}

// Values of workflow commands: %, line ends, and in properties : and , too.
static void add_value(const char *text, const char *special, struct buf *b)
{
  struct buf clean = BUF_INIT;

  buf_add_terminal(&clean, text, strlen(text));
  for (const char *p = buf_str(&clean); *p != '\0'; p++) {
    if (strchr(special, *p))
      buf_addf(b, "%%%02X", (unsigned char)*p);
    else
      buf_addc(b, *p);
  }
  buf_release(&clean);
}

static void write_github(void *arg, const struct remark *r)
{
  struct buf *b = arg;

  buf_adds(b, "::error file=");
  add_value(r->file, "%\r\n:,", b);
  buf_addf(b, ",line=%ld,title=", r->line);
  add_value(r->title, "%\r\n:,", b);
  buf_adds(b, "::");
  add_value(r->text, "%\r\n", b);
  buf_addc(b, '\n');
}

void ci_github(const struct ci_results *r, struct buf *ret)
{
  each_remark(r, write_github, ret);
}

// A number that stays the same as long as the remark does (FNV-1a, 64 bits).
static uint64_t fingerprint(const struct remark *r)
{
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  const char *const parts[] = {r->check, r->file, r->text};

  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    for (const char *p = parts[i]; *p != '\0'; p++)
      hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
  return hash;
}

static void write_gitlab(void *arg, const struct remark *r)
{
  struct buf text = BUF_INIT;
  char *print = xasprintf("%016llx", (unsigned long long)fingerprint(r));

  buf_addf(&text, "%s: ", r->title);
  buf_add_terminal(&text, r->text, strlen(r->text));
  json_array_append_new(
      arg, json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:{s:I}}}", "description",
                     buf_str(&text), "check_name", r->check, "fingerprint",
                     print, "severity", "major", "location", "path", r->file,
                     "lines", "begin", (json_int_t)r->line));
  free(print);
  buf_release(&text);
}

void ci_gitlab(const struct ci_results *r, struct buf *ret)
{
  json_t *all = json_array();

  each_remark(r, write_gitlab, all);
  char *text = json_dumps(all, JSON_INDENT(1));
  buf_adds(ret, text);
  buf_addc(ret, '\n');
  free(text);
  json_decref(all);
}
