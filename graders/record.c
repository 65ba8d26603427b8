// Turns what is known of a submission into JSON. A student's bytes pass through
// one function here, json_clean().
#include "graders/record.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

#define MAX_JSON_BYTES (16u << 20)
#define MAX_LINES 200
#define MAX_LINE_BYTES 1000

const char *record_state_name(enum record_state state)
{
  static const char *const names[] = {
#define ROW(number, name) name,
      RECORD_STATES(ROW)
#undef ROW
  };
  return names[state];
}

enum record_state record_state_of(const json_t *record)
{
  const char *name = record_text(record, "status");
  for (int i = RECORD_JUDGED; i < RECORD_MISSING; i++)
    if (strcmp(name, record_state_name((enum record_state)i)) == 0)
      return (enum record_state)i;
  return record ? RECORD_NOT_JUDGED : RECORD_MISSING;
}

const char *record_text(const json_t *object, const char *key)
{
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

long record_number(const json_t *object, const char *key)
{
  return (long)json_integer_value(json_object_get(object, key));
}

json_t *record_read(const char *path)
{
  struct buf text = BUF_INIT;
  json_t *json = NULL;
  if (file_read(path, MAX_JSON_BYTES, &text, NULL) == 0)
    json = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
  buf_release(&text);
  return json;
}

static int add_dump(const char *bytes, size_t len, void *arg)
{
  buf_add(arg, bytes, len);
  return 0;
}

void record_format(const json_t *json, struct buf *ret)
{
  json_dump_callback(json, add_dump, ret, JSON_INDENT(1));
  buf_addc(ret, '\n');
}

// --- texts ------------------------------------------------------------------

static json_t *json_clean(const char *text, size_t len)
{
  struct buf clean = BUF_INIT;
  buf_add_terminal(&clean, text, len < MAX_LINE_BYTES ? len : MAX_LINE_BYTES);
  if (len > MAX_LINE_BYTES)
    buf_adds(&clean, " ...");
  json_t *json = json_string(buf_str(&clean));
  buf_release(&clean);
  return json;
}

static json_t *json_line(const char *text)
{
  return json_clean(text, strlen(text));
}

static json_t *json_lines(const char *text)
{
  json_t *lines = json_array();
  while (text && *text) {
    size_t len = strcspn(text, "\n");
    if (json_array_size(lines) == MAX_LINES) {
      json_array_append_new(lines, json_string("(and more)"));
      break;
    }
    if (len)
      json_array_append_new(lines, json_clean(text, len));
    text += len + (text[len] == '\n');
  }
  return lines;
}

// --- the submission ---------------------------------------------------------

static json_t *entries_json(const struct intake *in,
                            const struct intake_claim *claim)
{
  json_t *all = json_array();
  for (size_t i = 0; claim && i < claim->count; i++)
    json_array_append_new(
        all, json_line(in->entries[in->order[claim->first + i]].name));
  return all;
}

static json_t *submission_json(const struct record_parts *p)
{
  const struct submission *s = p->submission;
  json_t *json = json_object();
  char text[64];
  json_object_set_new(json, "entries", entries_json(p->intake, p->claim));
  if (!s)
    return json;
  json_object_set_new(json, "clinic_alone",
                      json_boolean(s->clinic_count && !s->tree.count));
  json_object_set_new(json, "late_mark", json_boolean(s->late));
  if (s->handed_in.set) {
    when_format(&s->handed_in, text, sizeof(text));
    json_object_set_new(json, "handed_in", json_string(text));
    json_object_set_new(json, "handed_in_s",
                        json_integer((json_int_t)s->handed_in.seconds));
  }
  if (s->repository && s->history.commits) {
    object_hex(&s->commit, text);
    json_object_set_new(json, "commit", json_string(text));
    json_object_set_new(json, "branch", json_line(s->branch));
    json_object_set_new(json, "commits",
                        json_integer((json_int_t)s->history.commits));
    json_object_set_new(json, "history_cut", json_boolean(s->history.cut));
  }
  if (p->policy) {
    json_object_set_new(json, "start",
                        json_integer((json_int_t)p->policy->start));
    json_object_set_new(json, "start_by_history",
                        json_boolean(p->policy->by_history));
  }
  return json;
}

static json_t *changes_json(const struct policy *policy)
{
  json_t *all = json_array();
  for (size_t i = 0; policy && i < policy->count && i < MAX_LINES; i++) {
    const struct policy_file *f = &policy->files[i];
    json_t *row = json_object();
    json_object_set_new(row, "path", json_line(f->path));
    json_object_set_new(row, "change",
                        json_string(policy_change_words(f->change)));
    json_object_set_new(row, "use", json_string(policy_use_words(f->use)));
    json_object_set_new(row, "parts", json_line(buf_str(&f->parts)));
    json_array_append_new(all, row);
  }
  return all;
}

static json_t *checks_json(const struct record_parts *p)
{
  json_t *all = json_array();
  for (size_t i = 0; i < p->result_count; i++) {
    const struct check_result *r = &p->results[i];
    json_t *row = json_object();
    json_object_set_new(row, "id", json_string(r->check->id));
    json_object_set_new(row, "verdict", json_string(verdict_words(r->verdict)));
    json_object_set_new(row, "marks", json_integer(r->marks));
    json_object_set_new(row, "max", json_integer(r->check->marks));
    json_object_set_new(row, "evidence", json_lines(buf_str(&r->text)));
    json_array_append_new(all, row);
  }
  return all;
}

// What looks like an attempt on the grader, for staff to decide on.
static json_t *held_json(const struct record_parts *p)
{
  struct buf text = BUF_INIT;
  for (size_t i = 0; i < p->result_count; i++) {
    if (check_shows_tampering(p->results[i].check) &&
        p->results[i].verdict == VERDICT_FAIL)
      buf_adds(&text, buf_str(&p->results[i].text));
  }
  if (p->evidence && p->evidence->unexplorable)
    buf_adds(&text, buf_str(&p->evidence->explore_words));
  json_t *lines = json_lines(buf_str(&text));
  buf_release(&text);
  return lines;
}

long record_max(const json_t *record)
{
  long max = 0;
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(record, "checks"), i, row)
  {
    max += record_number(row, "max");
  }
  return max;
}

// --- the clinic -------------------------------------------------------------

static json_t *optional_line(const char *text)
{
  return text ? json_line(text) : json_null();
}

static bool says_anything(const struct answers *a)
{
  return a->class_id || a->function || a->line ||
         (a->explanation && answers_says(a->explanation)) ||
         (a->seen && answers_says(a->seen));
}

static json_t *answers_json(const struct answers *a)
{
  json_t *json = json_object();
  json_object_set_new(json, "class", optional_line(a->class_id));
  json_object_set_new(json, "function", optional_line(a->function));
  json_object_set_new(json, "line", json_integer(a->line));
  json_object_set_new(json, "explanation", json_lines(a->explanation));
  json_object_set_new(json, "seen", json_lines(a->seen));
  return json;
}

// What is wrong in the kernel, for staff to hold the answer against.
static json_t *clinic_key_json(const struct clinic_branch *key)
{
  json_t *json = json_object(), *functions = json_array();
  json_t *lines = json_array();
  for (size_t i = 0; i < key->function_count; i++)
    json_array_append_new(functions, json_string(key->functions[i]));
  for (size_t i = 0; i < key->line_count; i++)
    json_array_append_new(lines, json_integer((json_int_t)key->lines[i].first));
  json_object_set_new(json, "bug", json_string(key->assignment.bug->id));
  json_object_set_new(json, "class",
                      json_string(key->assignment.bug->class_id));
  json_object_set_new(json, "functions", functions);
  json_object_set_new(json, "lines", lines);
  return json;
}

static json_t *clinic_json(const struct clinic *c)
{
  json_t *all = json_array();
  for (size_t i = 0; c && i < c->count; i++) {
    const struct clinic_kernel *k = &c->kernels[i];
    json_t *row = json_object(), *changes = changes_json(&k->policy);
    json_object_set_new(row, "branch", json_string(k->key->name));
    json_object_set_new(row, "there", json_boolean(k->there));
    json_object_set_new(row, "key", clinic_key_json(k->key));
    json_object_set_new(row, "changes", changes);
    if (says_anything(&k->answers))
      json_object_set_new(row, "answers", answers_json(&k->answers));
    if (k->hash)
      json_object_set_new(row, "hash", json_string(k->hash));
    json_array_append_new(all, row);
  }
  return all;
}

json_t *record_result(const struct record_parts *p)
{
  json_t *json = json_object();
  json_object_set_new(json, "format", json_integer(1));
  json_object_set_new(json, "student", json_string(p->student->id));
  json_object_set_new(json, "key", json_string(p->key ? p->key : ""));
  json_object_set_new(json, "status", json_string(record_state_name(p->state)));
  json_object_set_new(json, "reason", json_lines(p->reason));
  json_object_set_new(json, "submission", submission_json(p));
  json_object_set_new(json, "notes", json_lines(p->notes));
  json_object_set_new(json, "changes", changes_json(p->policy));
  json_object_set_new(json, "checks", checks_json(p));
  json_object_set_new(json, "held", held_json(p));
  json_object_set_new(json, "clinic", clinic_json(p->clinic));
  json_object_set_new(
      json, "clinic_not_judged",
      json_lines(p->clinic ? buf_str(&p->clinic->unjudged) : ""));
  json_object_set_new(json, "staff",
                      json_lines(p->clinic ? buf_str(&p->clinic->staff) : ""));
  return json;
}

// --- evidence ---------------------------------------------------------------

// The counts of each "free pages:" line of a console: as the kernel printed
// them, so shown and not trusted.
static json_t *free_pages_json(const struct buf *console)
{
  static const char start[] = "free pages:";
  json_t *series = json_array();
  for (const char *at = buf_str(console);
       (at = strstr(at, start)) && json_array_size(series) < 32;) {
    bool begins = at == console->data || at[-1] == '\n';
    json_t *counts = json_array();
    at += sizeof(start) - 1;
    while (begins && *at && *at != '\n' && json_array_size(counts) < 16) {
      while (*at == ' ')
        at++;
      while (*at && *at != ' ' && *at != '\n')
        at++;
      char *end;
      if (*at != ' ' || !isdigit((unsigned char)at[1]))
        break;
      json_array_append_new(counts, json_integer(strtoll(at + 1, &end, 10)));
      at = end;
    }
    if (json_array_size(counts))
      json_array_append(series, counts);
    json_decref(counts);
  }
  return series;
}

static json_t *boot_json(const struct boot_facts *f)
{
  json_t *json = json_object();
  json_object_set_new(
      json, "verdict",
      json_string(f->done ? boot_verdict_words(f->verdict) : "was not made"));
  json_object_set_new(json, "detail", json_lines(buf_str(&f->detail)));
  json_object_set_new(json, "shell", json_boolean(f->shell));
  json_object_set_new(json, "cpu_s", json_real(f->cpu_s));
  json_object_set_new(json, "wall_ms", json_integer((json_int_t)f->wall_ms));
  json_object_set_new(json, "hang", json_lines(buf_str(&f->hang)));
  json_object_set_new(json, "ctrlp", json_line(buf_str(&f->ctrlp.text)));
  json_object_set_new(json, "ctrlp_sum", json_integer(f->ctrlp.sum));
  json_object_set_new(json, "tampering", json_lines(buf_str(&f->tampering)));
  json_object_set_new(json, "free_pages", free_pages_json(&f->console));
  return json;
}

static json_t *locks_json(const struct watch_report *r)
{
  json_t *all = json_array();
  for (unsigned i = 0; i < r->lock_count && i < WATCH_LOCKS; i++) {
    const struct watch_lock *l = &r->locks[i];
    json_t *row = json_object(), *by_hart = json_array();
    json_object_set_new(row, "name",
                        json_clean(l->name, strnlen(l->name, WATCH_NAME)));
    json_object_set_new(row, "home", json_integer(l->home));
    for (int c = 0; c < WATCH_CPUS; c++)
      json_array_append_new(by_hart, json_integer(l->acquired[c]));
    json_object_set_new(row, "acquired", by_hart);
    json_array_append_new(all, row);
  }
  return all;
}

static void add_to(json_t *row, const char *key, long number)
{
  json_object_set_new(row, key, json_integer(record_number(row, key) + number));
}

// The row of a lock's name, made in its place where it is missing.
static json_t *row_of(json_t *rows, const char *name, size_t len)
{
  json_t *clean = json_clean(name, len), *row;
  size_t i;
  json_array_foreach(rows, i, row)
  {
    if (json_equal(json_object_get(row, "name"), clean)) {
      json_decref(clean);
      return row;
    }
  }
  for (i = 0; i < json_array_size(rows); i++)
    if (strverscmp(record_text(json_array_get(rows, i), "name"),
                   json_string_value(clean)) > 0)
      break;
  row = json_object();
  json_object_set_new(row, "name", clean);
  json_array_insert_new(rows, i, row);
  return row;
}

// Adds up the plugin's lock reports (graders/locks.h) over the whole boot, for
// locks whose names end in a number: by the CPU of that number, by others, and
// those that had to wait. Other locks have no CPU: all are "shared".
static json_t *counted_json(const struct buf *reports)
{
  json_t *rows = json_array();
  const char *at = buf_str(reports);
  for (; *at && json_array_size(rows) < 64; at += *at == '\n') {
    char name[64];
    unsigned hart;
    long acquired, contended;
    const char *line = at;
    at += strcspn(at, "\n");
    if (sscanf(line, "LSH hart %u %63s acq %ld contended %ld", &hart, name,
               &acquired, &contended) != 4)
      continue;
    size_t len = strlen(name), stem = len;
    while (stem > 0 && isdigit((unsigned char)name[stem - 1]))
      stem--;
    json_t *row = row_of(rows, name, len);
    bool shared = stem == 0 || stem == len;
    bool own = !shared && strtoul(name + stem, NULL, 10) == hart;
    add_to(row, shared ? "shared" : own ? "own" : "remote", acquired);
    add_to(row, "contended", contended);
  }
  return rows;
}

static json_t *traffic_json(const struct watch_traffic *t)
{
  return json_pack("{s:i, s:i, s:i, s:i, s:i}", "calls", (int)t->calls, "away",
                   (int)t->away, "acquired", (int)t->acquired, "remote",
                   (int)t->remote, "shared", (int)t->shared);
}

static json_t *findings_json(const struct evidence *e)
{
  json_t *all = json_array();
  for (size_t i = 0; i < e->finding_count; i++) {
    const struct found *f = &e->findings[i];
    json_t *row = json_object();
    json_object_set_new(row, "source", json_string(f->source));
    json_object_set_new(row, "kind", json_string(f->kind));
    json_object_set_new(row, "note", json_boolean(f->note));
    json_object_set_new(row, "count", json_integer(f->count));
    json_object_set_new(row, "text", json_lines(f->text));
    if (f->function)
      json_object_set_new(row, "function", json_line(f->function));
    if (f->line > 0)
      json_object_set_new(row, "line", json_integer(f->line));
    json_array_append_new(all, row);
  }
  return all;
}

json_t *record_evidence(const struct record_parts *p)
{
  const struct evidence *e = p->evidence;
  json_t *json = json_object();
  json_object_set_new(json, "student", json_string(p->student->id));
  if (!e)
    return json;
  json_object_set_new(json, "built", json_boolean(e->built));
  json_object_set_new(json, "compiler", json_lines(buf_str(&e->build_words)));
  json_object_set_new(json, "object", json_lines(buf_str(&e->object_problems)));
  json_object_set_new(json, "plain", boot_json(&e->plain));
  json_object_set_new(json, "watched", boot_json(&e->watched));
  json_object_set_new(json, "explored", json_boolean(e->explored));
  json_object_set_new(json, "explorer", json_lines(buf_str(&e->explore_words)));
  json_object_set_new(json, "findings", findings_json(e));
  json_object_set_new(json, "counted", counted_json(&e->plain.locks));
  json_object_set_new(json, "lock_report",
                      json_lines(buf_str(&e->plain.locks)));
  if (e->reported) {
    json_object_set_new(json, "locks", locks_json(&e->report));
    json_object_set_new(json, "own", traffic_json(&e->report.own));
    json_object_set_new(json, "steal", traffic_json(&e->report.steal));
    json_object_set_new(json, "robbed", traffic_json(&e->report.robbed));
    json_object_set_new(json, "free_pages",
                        json_integer((json_int_t)e->report.free_pages));
    json_object_set_new(json, "obtainable_pages",
                        json_integer((json_int_t)e->report.obtainable_pages));
  }
  return json;
}
