// Words and JSON for results.
//
// The reader trusts nothing: the child ran a student's code, and a replay file
// comes from anywhere.
#include "graders/explore/story.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"

// ---- writing ----------------------------------------------------------------

static json_t *hex(uint64_t v)
{
  char *text = xasprintf("%016" PRIx64, v);
  json_t *j = json_string(text);
  free(text);
  return j;
}

// Text that may hold anything; JSON wants UTF-8.
static json_t *text_of(const char *s)
{
  struct buf b = BUF_INIT;
  buf_add_terminal(&b, s, strlen(s));
  json_t *j = json_string(buf_str(&b));
  buf_release(&b);
  return j ? j : json_string("?");
}

static json_t *place(const char *function, const char *file, int line)
{
  const char *base = strrchr(file, '/');
  return json_pack("{s:o,s:o,s:i}", "function", text_of(function), "file",
                   text_of(base ? base + 1 : file), "line", line);
}

// The place of a return address: of the call before it. Code of a header is
// shown as the place that called it.
static json_t *place_of(const struct machine *m, uint64_t pc, uint64_t caller)
{
  struct debug_place p = {"", "", 0};
  if (pc)
    p = debug_find(&m->im->debug, pc - 1);
  size_t len = strlen(p.file);
  if (caller && len > 2 && strcmp(p.file + len - 2, ".h") == 0)
    p = debug_find(&m->im->debug, caller - 1);
  return place(p.function, p.file, p.line);
}

// The name of a lock or variable. A lock has the name that it was given, if
// that can be read and no other lock has it.
static json_t *name_of(const struct machine *m, uint64_t addr, bool is_lock)
{
  struct buf b = BUF_INIT;
  if (is_lock && addr) {
    const void *lock = (const void *)(addr + m->im->base);
    const char *given = m->im->guest->name_of((void *)lock);
    for (int i = 0; i < 24 && image_has(m->im, given + i, 1, false) && given[i];
         i++)
      buf_addc(&b, given[i]);
    int same = 0;
    for (int i = 0; i < m->locks.count; i++) {
      if (!m->locks.lock[i].caller)
        same += m->im->guest->name_of((void *)m->locks.lock[i].addr) == given;
    }
    if (same > 1)
      buf_truncate(&b, 0);
  }
  if (b.len == 0 && addr)
    debug_name(&m->im->debug, addr, &b);
  json_t *j = text_of(buf_str(&b));
  buf_release(&b);
  return j;
}

static bool about_lock(int kind)
{
  return kind == EV_TAKES || kind == EV_WAITS || kind == EV_GIVES_BACK;
}

static json_t *event_json(const struct machine *m, const struct ex_event *e)
{
  return json_pack("{s:s,s:i,s:i,s:o,s:o,s:I}", "kind",
                   trace_event_name(e->kind), "thread", e->thread, "hart",
                   e->hart, "place", place_of(m, e->pc, e->caller), "name",
                   name_of(m, e->addr, about_lock(e->kind)), "value",
                   (json_int_t)e->value);
}

static json_t *ops_json(const struct ex_ops *threads)
{
  json_t *all = json_array();
  for (int t = 0; t < EX_HARTS; t++) {
    json_t *ops = json_array();
    for (int i = 0; i < threads[t].count; i++) {
      const struct ex_op *op = &threads[t].op[i];
      char *text = xasprintf("%s %d", ex_op_word(op->kind), op->number);
      struct ex_op again;
      if (ex_ops_parse(text, &again, NULL) < 0)
        *strchr(text, ' ') = '\0';
      json_array_append_new(ops, json_string(text));
      free(text);
    }
    json_array_append_new(all, ops);
  }
  return all;
}

static json_t *program_json(const struct ex_program *p)
{
  return json_pack("{s:o,s:o,s:i,s:o,s:o}", "name", text_of(p->name), "about",
                   text_of(p->about), "pages", p->pages, "before",
                   ops_json(p->before), "harts", ops_json(p->thread));
}

static json_t *report_json(const struct machine *m, const struct report *r)
{
  bool lock = r->kind == EX_DEADLOCK || r->kind == EX_LOCK_ORDER;
  return json_pack("{s:s,s:o,s:o,s:o,s:o}", "kind", ex_kind_name(r->kind),
                   "key", hex(r->key), "text", text_of(r->text), "place",
                   place_of(m, r->pc, 0), "name", name_of(m, r->addr, lock));
}

static json_t *schedule_json(const struct choice *choice, int choices,
                             const uint64_t *point, int points)
{
  json_t *c = json_array(), *p = json_array();
  for (int i = 0; i < choices; i++)
    json_array_append_new(
        c, json_pack("[i,i]", (int)choice[i].point, (int)choice[i].option));
  for (int i = 0; i < points; i++)
    json_array_append_new(p, hex(point[i]));
  return json_pack("{s:o,s:o}", "choices", c, "points", p);
}

// The numbers of a run.
static void add_run(json_t *j, const struct finding *f)
{
  json_t *run = json_pack(
      "{s:[i,i,i],s:i,s:b,s:i,s:I,s:I,s:f,s:o,s:b}", "hart_numbers",
      f->harts[0], f->harts[1], f->harts[2], "unit", f->unit, "at_boot",
      f->at_boot, "preemptions", f->preemptions, "steps", (json_int_t)f->steps,
      "schedule", (json_int_t)f->schedule, "found_ms", f->found_ms, "hash",
      hex(f->hash), "repeats", f->repeats);
  json_object_update_new(j, run);
}

static json_t *finding_json(const struct machine *m, const struct finding *f)
{
  json_t *j = report_json(m, &f->report), *events = json_array();
  for (size_t i = 0; i < f->events; i++)
    json_array_append_new(events, event_json(m, &f->event[i]));
  json_object_set_new(j, "program", program_json(&f->program));
  json_object_update_new(
      j, schedule_json(f->choice, f->choices, f->point, f->points));
  add_run(j, f);
  json_object_set_new(j, "events", events);
  return j;
}

static json_t *coverage_json(const struct coverage *c)
{
  json_t *n = json_array(), *complete = json_array();
  for (int b = 0; b < SEARCH_BOUNDS; b++) {
    json_array_append_new(n, json_integer((json_int_t)c->schedules[b]));
    json_array_append_new(complete, json_boolean(c->complete[b]));
  }
  return json_pack("{s:o,s:[i,i,i],s:o,s:o,s:I,s:b}", "program",
                   text_of(c->unit.program->name), "hart_numbers",
                   c->unit.harts[0], c->unit.harts[1], c->unit.harts[2],
                   "schedules", n, "complete", complete, "random",
                   (json_int_t)c->random, "cut", c->cut);
}

static json_t *use_json(const struct machine_use *u)
{
  return json_pack("{s:I,s:I,s:I,s:I}", "calls", (json_int_t)u->calls,
                   "acquisitions", (json_int_t)u->acquisitions, "remote",
                   (json_int_t)u->remote, "remote_calls",
                   (json_int_t)u->remote_calls);
}

json_t *stories_write(const struct machine *m, const struct result *r)
{
  json_t *findings = json_array(), *notes = json_array(),
         *coverage = json_array();
  for (size_t i = 0; i < r->findings; i++)
    json_array_append_new(findings, finding_json(m, &r->finding[i]));
  for (size_t i = 0; i < r->notes; i++)
    json_array_append_new(notes, report_json(m, &r->note[i]));
  for (size_t i = 0; i < r->coverages; i++)
    json_array_append_new(coverage, coverage_json(&r->coverage[i]));
  return json_pack("{s:o,s:o,s:o,s:I,s:o,s:o}", "findings", findings, "notes",
                   notes, "coverage", coverage, "schedules",
                   (json_int_t)r->schedules, "allocs", use_json(&r->allocs),
                   "frees", use_json(&r->frees));
}

static json_t *place_json(const struct story_place *p)
{
  return place(p->function, p->file, p->line);
}

json_t *note_write(const struct story *s)
{
  return json_pack("{s:s,s:o,s:o,s:o,s:o}", "kind", ex_kind_name(s->kind),
                   "key", hex(s->key), "text", text_of(s->text), "place",
                   place_json(&s->place), "name", text_of(s->name));
}

json_t *story_write(const struct story *s)
{
  json_t *j = note_write(s);
  json_object_set_new(j, "program", program_json(&s->program));
  json_t *events = json_array();
  for (size_t i = 0; i < s->events; i++) {
    const struct story_event *e = &s->event[i];
    json_array_append_new(
        events,
        json_pack("{s:s,s:i,s:i,s:o,s:o,s:I}", "kind",
                  trace_event_name(e->kind), "thread", e->thread, "hart",
                  e->hart, "place", place_json(&e->place), "name",
                  text_of(e->name), "value", (json_int_t)e->value));
  }
  json_object_update_new(
      j, schedule_json(s->choice, s->choices, s->point, s->points));
  struct finding numbers = {.unit = s->unit,
                            .at_boot = s->at_boot,
                            .preemptions = s->preemptions,
                            .steps = s->steps,
                            .schedule = s->schedule,
                            .found_ms = s->found_ms,
                            .hash = s->hash,
                            .repeats = s->repeats};
  memcpy(numbers.harts, s->harts, sizeof numbers.harts);
  add_run(j, &numbers);
  json_object_set_new(j, "events", events);
  return j;
}

// ---- reading ----------------------------------------------------------------

static const char *get_text(const json_t *j, const char *key)
{
  const char *s = json_string_value(json_object_get(j, key));
  return s ? s : "";
}

static int64_t get_int(const json_t *j, const char *key)
{
  return json_integer_value(json_object_get(j, key));
}

static uint64_t get_hex(const json_t *j)
{
  const char *s = json_string_value(j);
  return s ? strtoull(s, NULL, 16) : 0;
}

static void read_place(const json_t *j, struct story_place *p)
{
  p->function = xstrdup(get_text(j, "function"));
  p->file = xstrdup(get_text(j, "file"));
  p->line = (int)get_int(j, "line");
}

static void read_harts(const json_t *j, int *harts)
{
  const json_t *list = json_object_get(j, "hart_numbers");
  for (size_t i = 0; i < EX_HARTS; i++)
    harts[i] = (int)json_integer_value(json_array_get(list, i));
}

static int read_ops(const json_t *list, struct ex_ops *threads,
                    struct error *err)
{
  for (size_t t = 0; t < EX_HARTS; t++) {
    const json_t *ops = json_array_get(list, t);
    threads[t].count = 0;
    for (size_t i = 0; i < json_array_size(ops) && i < EX_OPS; i++) {
      const char *text = json_string_value(json_array_get(ops, i));
      struct ex_op *op = &threads[t].op[threads[t].count++];
      int rc = ex_ops_parse(text ? text : "", op, err);
      if (rc < 0)
        return rc;
      bool few = op->kind == OP_GIVE || op->kind == OP_LOCK ||
                 op->kind == OP_UNLOCK || op->kind == OP_FREE_BAD;
      if (few && op->number >= EX_HARTS)
        return error_set(err, LG_EINPUT, "number too large in '%s'", text);
    }
  }
  return 0;
}

static int read_program(const json_t *j, struct ex_program *p,
                        struct error *err)
{
  p->name = xstrdup(get_text(j, "name"));
  p->about = xstrdup(get_text(j, "about"));
  p->bound = 255;
  p->pages = (int)get_int(j, "pages");
  if (p->pages < 1 || p->pages > IMAGE_PAGES)
    return error_set(err, LG_EINPUT, "the program has no number of pages");
  int rc = read_ops(json_object_get(j, "before"), p->before, err);
  return rc < 0 ? rc : read_ops(json_object_get(j, "harts"), p->thread, err);
}

static int read_events(const json_t *list, struct story *s, struct error *err)
{
  s->event = xcalloc(json_array_size(list) + 1, sizeof *s->event);
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *j = json_array_get(list, i);
    struct story_event *e = &s->event[s->events++];
    int kind = trace_event_find(get_text(j, "kind"));
    e->kind = (enum ex_event_kind)kind;
    e->thread = (int)get_int(j, "thread");
    e->hart = (int)get_int(j, "hart");
    e->name = xstrdup(get_text(j, "name"));
    e->value = get_int(j, "value");
    read_place(json_object_get(j, "place"), &e->place);
    if (kind < 0 || e->thread < 0 || e->thread >= EX_HARTS)
      return error_set(err, LG_EINPUT, "event %zu is none", i);
  }
  return 0;
}

static void read_schedule(const json_t *j, struct story *s)
{
  const json_t *choices = json_object_get(j, "choices");
  const json_t *points = json_object_get(j, "points");
  size_t n = json_array_size(choices);
  for (size_t i = 0; i < n && i < SEARCH_CHOICES; i++) {
    const json_t *c = json_array_get(choices, i);
    s->choice[s->choices++] = (struct choice){
        .point = (uint32_t)json_integer_value(json_array_get(c, 0)),
        .option = (uint8_t)json_integer_value(json_array_get(c, 1))};
  }
  n = json_array_size(points);
  for (size_t i = 0; i < n && i < SEARCH_POINTS; i++)
    s->point[s->points++] = get_hex(json_array_get(points, i));
}

int story_read(const json_t *j, struct story *ret, struct error *err)
{
  struct story s = {0};
  int kind = ex_kind_find(get_text(j, "kind"));
  if (kind < 0)
    return error_set(err, LG_EINPUT, "there is no finding '%s'",
                     get_text(j, "kind"));
  s.kind = (enum ex_kind)kind;
  s.key = get_hex(json_object_get(j, "key"));
  s.text = xstrdup(get_text(j, "text"));
  s.name = xstrdup(get_text(j, "name"));
  read_place(json_object_get(j, "place"), &s.place);
  int rc = 0;
  if (ex_kind_is_finding(s.kind)) {
    read_harts(j, s.harts);
    s.unit = (int)get_int(j, "unit");
    s.at_boot = json_is_true(json_object_get(j, "at_boot"));
    s.preemptions = (int)get_int(j, "preemptions");
    s.steps = (size_t)get_int(j, "steps");
    s.schedule = (uint64_t)get_int(j, "schedule");
    s.found_ms = json_number_value(json_object_get(j, "found_ms"));
    s.hash = get_hex(json_object_get(j, "hash"));
    s.repeats = json_is_true(json_object_get(j, "repeats"));
    read_schedule(j, &s);
    rc = read_program(json_object_get(j, "program"), &s.program, err);
    if (rc == 0)
      rc = read_events(json_object_get(j, "events"), &s, err);
  }
  if (rc == 0)
    *ret = s;
  else
    story_release(&s);
  return rc;
}

static void place_release(struct story_place *p)
{
  free(p->function);
  free(p->file);
}

void story_release(struct story *s)
{
  for (size_t i = 0; i < s->events; i++) {
    place_release(&s->event[i].place);
    free(s->event[i].name);
  }
  free(s->event);
  free(s->text);
  free(s->name);
  free(s->program.name);
  free(s->program.about);
  place_release(&s->place);
  *s = (struct story){0};
}

static bool is_better(const struct story *a, const struct story *b)
{
  if ((a->preemptions < 0) != (b->preemptions < 0))
    return b->preemptions < 0;
  if (a->preemptions != b->preemptions)
    return a->preemptions < b->preemptions;
  if (a->steps != b->steps)
    return a->steps < b->steps;
  return a->unit < b->unit;
}

// Adds to a list of findings or notes, of which there is one per kind and key.
static void merge(struct story **list, size_t *count, struct story *s)
{
  for (size_t i = 0; i < *count; i++) {
    struct story *old = &(*list)[i];
    if (old->kind != s->kind || old->key != s->key)
      continue;
    if (is_better(s, old)) {
      struct story swap = *old;
      *old = *s;
      *s = swap;
    }
    story_release(s);
    return;
  }
  *list = xreallocarray(*list, *count + 1, sizeof **list);
  (*list)[(*count)++] = *s;
}

static int read_list(const json_t *from, struct story **list, size_t *count,
                     struct error *err)
{
  for (size_t i = 0; i < json_array_size(from); i++) {
    struct story s;
    int rc = story_read(json_array_get(from, i), &s, err);
    if (rc < 0)
      return rc;
    merge(list, count, &s);
  }
  return 0;
}

static void read_coverage(const json_t *j, struct stories *to)
{
  to->coverage =
      xreallocarray(to->coverage, to->coverages + 1, sizeof *to->coverage);
  struct story_coverage *c = &to->coverage[to->coverages++];
  *c = (struct story_coverage){.program = xstrdup(get_text(j, "program"))};
  read_harts(j, c->harts);
  for (size_t b = 0; b < SEARCH_BOUNDS; b++) {
    c->schedules[b] = (uint64_t)json_integer_value(
        json_array_get(json_object_get(j, "schedules"), b));
    c->complete[b] =
        json_is_true(json_array_get(json_object_get(j, "complete"), b));
  }
  c->random = (uint64_t)get_int(j, "random");
  c->cut = json_is_true(json_object_get(j, "cut"));
}

static void read_use(const json_t *j, struct machine_use *to)
{
  struct machine_use u = {
      .calls = (uint64_t)get_int(j, "calls"),
      .acquisitions = (uint64_t)get_int(j, "acquisitions"),
      .remote = (uint64_t)get_int(j, "remote"),
      .remote_calls = (uint64_t)get_int(j, "remote_calls"),
  };
  machine_use_add(to, &u);
}

int stories_read(const json_t *from, struct stories *to, struct error *err)
{
  if (!json_is_array(json_object_get(from, "findings")))
    return error_set(err, LG_EHARNESS, "the explorer's child wrote no result");
  int rc = read_list(json_object_get(from, "findings"), &to->finding,
                     &to->findings, err);
  if (rc == 0)
    rc = read_list(json_object_get(from, "notes"), &to->note, &to->notes, err);
  const json_t *coverage = json_object_get(from, "coverage");
  for (size_t i = 0; i < json_array_size(coverage); i++)
    read_coverage(json_array_get(coverage, i), to);
  to->schedules += (uint64_t)get_int(from, "schedules");
  read_use(json_object_get(from, "allocs"), &to->allocs);
  read_use(json_object_get(from, "frees"), &to->frees);
  return rc;
}

void stories_release(struct stories *s)
{
  for (size_t i = 0; i < s->findings; i++)
    story_release(&s->finding[i]);
  for (size_t i = 0; i < s->notes; i++)
    story_release(&s->note[i]);
  for (size_t i = 0; i < s->coverages; i++)
    free(s->coverage[i].program);
  free(s->finding);
  free(s->note);
  free(s->coverage);
  *s = (struct stories){0};
}

void stories_add(struct story *finding, struct stories *to)
{
  merge(&to->finding, &to->findings, finding);
}

// Whether the note, or the lesser finding, is what comes of the finding.
static bool is_said(const struct story *note, const struct story *finding)
{
  switch (note->kind) {
  case EX_LOCK_ORDER:
    return finding->kind == EX_DEADLOCK;
  case EX_DRIFT:
    return finding->kind == EX_DOUBLE || finding->kind == EX_LOST ||
           finding->kind == EX_WILD;
  case EX_RACE:
  case EX_LOOK:
    // In a page and not in a variable: two have the page.
    return !*note->name &&
           (finding->kind == EX_DOUBLE || finding->kind == EX_WILD ||
            finding->kind == EX_LOST || finding->kind == EX_OVERWRITTEN);
  default:
    return false;
  }
}

// Whether a deadlock is a variant of another one: the same places, and others
// besides. Keys are sets of places.
static bool is_variant(const struct story *a, const struct story *of)
{
  return a->kind == EX_DEADLOCK && of->kind == EX_DEADLOCK && of->key != 0 &&
         a->key != of->key && (a->key & of->key) == of->key;
}

// More of one kind than this tell a reader nothing new.
enum { FINDINGS_OF_A_KIND = 3 };

static int by_cost(const void *a, const void *b)
{
  const struct story *p = a, *q = b;
  if (p->kind != q->kind)
    return p->kind < q->kind ? -1 : 1;
  return is_better(p, q) ? -1 : is_better(q, p) ? 1 : 0;
}

// Keeps the simplest findings of each kind.
static void keep_simplest(struct stories *s)
{
  size_t kept = 0, of_kind = 0;
  if (s->findings > 0)
    qsort(s->finding, s->findings, sizeof *s->finding, by_cost);
  for (size_t i = 0; i < s->findings; i++) {
    struct story *f = &s->finding[i];
    of_kind =
        i > 0 && kept > 0 && s->finding[kept - 1].kind == f->kind ? of_kind : 0;
    bool drop = of_kind == FINDINGS_OF_A_KIND;
    for (size_t k = 0; k < s->findings && !drop; k++)
      drop = k != i && s->finding[k].text &&
             (is_variant(f, &s->finding[k]) || is_said(f, &s->finding[k]));
    if (drop) {
      story_release(f);
      continue;
    }
    of_kind++;
    struct story keep = *f;
    *f = (struct story){0};
    s->finding[kept++] = keep;
  }
  s->findings = kept;
}

static int by_kind(const void *a, const void *b)
{
  const struct story *p = a, *q = b;
  if (p->kind != q->kind)
    return p->kind < q->kind ? -1 : 1;
  if (p->place.line != q->place.line)
    return p->place.line < q->place.line ? -1 : 1;
  return p->key < q->key ? -1 : p->key > q->key;
}

static bool same_place(const struct story *a, const struct story *b)
{
  return a->kind == b->kind && a->place.line > 0 &&
         a->place.line == b->place.line && strcmp(a->text, b->text) == 0;
}

static void demote(struct stories *s, const bool *judged)
{
  size_t kept = 0;
  for (size_t i = 0; i < s->findings; i++) {
    if (judged[s->finding[i].kind])
      s->finding[kept++] = s->finding[i];
    else
      merge(&s->note, &s->notes, &s->finding[i]);
  }
  s->findings = kept;
}

void stories_finish(struct stories *s, const bool *judged)
{
  size_t kept = 0;
  demote(s, judged);
  if (s->notes > 0)
    qsort(s->note, s->notes, sizeof *s->note, by_kind);
  keep_simplest(s);
  for (size_t i = 0; i < s->notes; i++) {
    bool said = kept > 0 && same_place(&s->note[i], &s->note[kept - 1]);
    for (size_t k = 0; k < s->findings && !said; k++)
      said = is_said(&s->note[i], &s->finding[k]);
    if (said)
      story_release(&s->note[i]);
    else
      s->note[kept++] = s->note[i];
  }
  s->notes = kept;
}
