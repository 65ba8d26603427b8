// Shares submissions among processes, and puts what they make into its place.
// First all are looked at, since most of a second run is unchanged; the course's
// kernels are built and measured only when something must be graded.
#include "graders/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graders/grade.h"
#include "graders/record.h"
#include "graders/tool-key.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/repo/publish.h"
#include "labgen/run/sandbox.h"
#include "labgen/run/workers.h"

#define START_FILE "start.evidence.json"
#define REFERENCE_FILE "reference.evidence.json"

struct item {
  const struct intake_claim *claim;
  char *folder, *scratch;  // owned; below the results' own scratch folder
  enum grade_outcome looked;
};

struct run {
  const struct run_spec *spec;
  struct run_result *result;
  struct publish *publish;
  struct stock stock;
  struct grader grader;
  char *tool;  // owned
  struct item *items;
  size_t count;
  size_t *needed;  // items that are to be graded
  size_t needed_count;
  bool grading;       // not looking any more
  json_t *reference;  // evidence of an earlier run, or NULL
};

// --- what the rubric asks for -----------------------------------------------

// Which sources of evidence the rubric's checks ask for.
static void choose_sources(const struct rubric *rubric, struct grader *g)
{
  for (size_t i = 0; i < rubric->checks.count; i++) {
    const struct check *c = LIST_AT(rubric->checks, struct check, i);
    g->plain = g->plain || c->kind == CHECK_BOOT || clinic_asks_boots(c) ||
               c->kind == CHECK_CTRLP_FORM || c->kind == CHECK_CONSOLE ||
               c->kind == CHECK_WRITERS;
    g->watched = g->watched || c->kind == CHECK_CTRLP_SUM ||
                 clinic_asks_boots(c) || c->kind == CHECK_FINDINGS ||
                 c->kind == CHECK_TRAFFIC;
    g->explore = g->explore || check_asks_explorer(c);
  }
}

// --- putting results into their place ---------------------------------------

static char *place_of(const struct run *r, const struct item *item,
                      const char *name)
{
  char *folder = path_join(r->spec->results, item->claim->student->id);
  char *path = path_join(folder, name);
  free(folder);
  return path;
}

// Copies the result that is about to be replaced into the new folder.
static int keep_before(const struct item *item, const json_t *before,
                       struct error *err)
{
  struct buf text = BUF_INIT;
  char *path = path_join(item->folder, "result.before.json");
  record_format(before, &text);
  int rc = file_write(path, buf_str(&text), text.len, 0644, err);
  buf_release(&text);
  free(path);
  return rc;
}

// A result that is not judged goes beside one that is.
static int put_beside(struct run *r, const struct item *item,
                      const json_t *record, struct error *err)
{
  struct buf text = BUF_INIT;
  char *path = place_of(r, item, "not-judged.json");
  record_format(record, &text);
  int rc = file_write_atomic(path, buf_str(&text), text.len, 0644, err);
  r->result->kept++;
  buf_release(&text);
  free(path);
  return rc;
}

static int put_in_place(struct run *r, const struct item *item,
                        struct error *err)
{
  const char *made = publish_begin(r->publish, item->claim->student->id);
  int rc = 0;
  if (rename(item->folder, made) != 0)
    rc = error_errno(err, LG_EIO, "cannot move %s", item->folder);
  int ended = publish_end(r->publish, rc, err);
  rc = rc ? rc : ended;
  // What took no more than a look is not worth a sync of its own.
  return rc || !r->grading ? rc : publish_flush(r->publish, err);
}

static int settle(struct run *r, const struct item *item, struct error *err)
{
  char *made = path_join(item->folder, "result.json");
  char *path = place_of(r, item, "result.json");
  json_t *record = record_read(made), *before = record_read(path);
  enum record_state is = record_state_of(record);
  enum record_state was = record_state_of(before);
  bool was_judged = was == RECORD_JUDGED || was == RECORD_REFUSED;
  int rc = 0;
  if (!record)
    rc = error_set(err, LG_EIO, "%s cannot be read back", made);
  else if (is == RECORD_NOT_JUDGED && was_judged)
    rc = put_beside(r, item, record, err);
  else if (was_judged &&
           strcmp(record_text(before, "key"), record_text(record, "key")) != 0)
    rc = keep_before(item, before, err);
  if (rc == 0 && !(is == RECORD_NOT_JUDGED && was_judged))
    rc = put_in_place(r, item, err);
  json_decref(record);
  json_decref(before);
  free(made);
  free(path);
  return rc;
}

// --- processes --------------------------------------------------------------

static void say_doing(void *arg, const char *doing)
{
  worker_say(arg, doing);
}

static int work(void *arg, size_t index, struct worker *w)
{
  struct run *r = arg;
  const struct item *item = &r->items[r->grading ? r->needed[index] : index];
  struct grader g = r->grader;
  struct error err = {0};
  g.on_progress = say_doing;
  g.arg = w;
  enum grade_outcome outcome = (r->grading ? grade_submission : grade_look)(
      &g, item->claim, item->folder, item->scratch, &err);
  if (outcome == GRADE_FAILED)
    worker_say(w, err.message ? err.message : error_name(err.code));
  file_remove_tree(item->scratch, NULL);
  return outcome;
}

// Writes why a submission has no result: the words of its process, or how that
// died. While it was being read, that is the submission's doing.
static int write_fault(struct run *r, const struct item *item,
                       const struct worker_end *end, struct error *err)
{
  bool refused = !r->grading && end->status < 0;
  char *reason = refused ? xasprintf(
                               "reading it took more memory or time than a "
                               "submission may take (signal %d)",
                               end->signal)
                 : end->status < 0
                     ? xasprintf(
                           "the process that graded it was killed by "
                           "signal %d (%s)",
                           end->signal, strsignal(end->signal))
                     : xstrdup(end->said);
  file_remove_tree(item->folder, NULL);
  int rc = grade_write_reason(&r->grader, item->claim, refused, reason,
                              item->folder, err);
  free(reason);
  return rc;
}

static void tell_end(struct run *r, size_t index, const struct item *item)
{
  const struct run_spec *s = r->spec;
  char *path = place_of(r, item, "result.json");
  json_t *record = record_read(path), *row;
  size_t i;
  long marks = 0, max = record_max(record);
  json_array_foreach(json_object_get(record, "checks"), i, row)
  {
    marks += record_number(row, "marks");
  }
  enum record_state state = record_state_of(record);
  char *words = state == RECORD_JUDGED ? xasprintf("%ld of %ld", marks, max)
                                       : xstrdup(record_state_name(state));
  if (s->on_end)
    s->on_end(s->arg, index, item->claim->student->id, words,
              state == RECORD_JUDGED && marks == max);
  free(words);
  json_decref(record);
  free(path);
}

static int ended(void *arg, size_t index, const struct worker_end *end,
                 struct error *err)
{
  struct run *r = arg;
  struct item *item = &r->items[r->grading ? r->needed[index] : index];
  int rc = 0;
  item->looked =
      end->status < 0 ? GRADE_FAILED : (enum grade_outcome)end->status;
  if (item->looked == GRADE_UNCHANGED)
    r->result->unchanged++;
  if (item->looked == GRADE_UNCHANGED || item->looked == GRADE_NEEDED)
    return 0;
  if (item->looked != GRADE_DONE)
    rc = write_fault(r, item, end, err);
  rc = rc ? rc : settle(r, item, err);
  file_remove_tree(item->scratch, NULL);
  r->result->graded++;
  if (rc == 0 && r->grading)
    tell_end(r, index, item);
  return rc;
}

static void begun(void *arg, size_t index)
{
  struct run *r = arg;
  if (r->grading && r->spec->on_begin)
    r->spec->on_begin(r->spec->arg, index,
                      r->items[r->needed[index]].claim->student->id);
}

static void doing(void *arg, size_t index, const char *words)
{
  struct run *r = arg;
  if (r->grading && r->spec->on_doing)
    r->spec->on_doing(r->spec->arg, index, words);
}

static void tick(void *arg)
{
  struct run *r = arg;
  if (r->spec->on_tick)
    r->spec->on_tick(r->spec->arg);
}

static int share(struct run *r, size_t count, struct error *err)
{
  struct workers_spec spec = {.count = count,
                              .jobs = r->spec->jobs,
                              .work = work,
                              .on_begin = begun,
                              .on_say = doing,
                              .on_tick = tick,
                              .on_end = ended,
                              .arg = r};
  return workers_run(&spec, err);
}

// --- the run ----------------------------------------------------------------

static bool is_wanted(const struct run_spec *s, const struct student *student)
{
  for (size_t i = 0; i < s->student_count; i++)
    if (strcmp(s->students[i], student->id) == 0)
      return true;
  return s->student_count == 0;
}

static void make_items(struct run *r)
{
  const struct intake *in = &r->result->intake;
  r->items = xcalloc(in->claim_count + 1, sizeof(*r->items));
  r->needed = xcalloc(in->claim_count + 1, sizeof(*r->needed));
  for (size_t i = 0; i < in->claim_count; i++) {
    if (!is_wanted(r->spec, in->claims[i].student))
      continue;
    struct item *item = &r->items[r->count++];
    item->claim = &in->claims[i];
    item->folder = publish_scratch(r->publish);
    item->scratch = publish_scratch(r->publish);
  }
}

// Evidence of the start and the reference stays in the results folder, so that
// a later run has it for its pictures, too.
static int save_evidence(struct run *r, const char *name, json_t *evidence,
                         struct error *err)
{
  struct buf text = BUF_INIT;
  char *path = path_join(r->spec->results, name);
  json_object_set_new(evidence, "tool", json_string(r->tool));
  record_format(evidence, &text);
  int rc = file_write_atomic(path, buf_str(&text), text.len, 0644, err);
  buf_release(&text);
  free(path);
  return rc;
}

static json_t *load_evidence(const struct run *r, const char *name)
{
  char *path = path_join(r->spec->results, name);
  json_t *evidence = record_read(path);
  free(path);
  return evidence;
}

// Boots the start, and the reference unless it was booted with the same tool.
static int measure(struct run *r, struct error *err)
{
  json_t *start = NULL, *reference = NULL;
  bool known = strcmp(record_text(r->reference, "tool"), r->tool) == 0;
  int rc = grade_calibrate(&r->grader, &start, err);
  if (rc == 0)
    rc = save_evidence(r, START_FILE, start, err);
  if (rc == 0 && !known && r->grader.plain)
    rc = grade_reference(&r->grader, &reference, err);
  if (rc == 0 && reference)
    rc = save_evidence(r, REFERENCE_FILE, reference, err);
  json_decref(start);
  json_decref(reference);
  return rc;
}

static int grade_needed(struct run *r, struct error *err)
{
  const struct run_spec *s = r->spec;
  for (size_t i = 0; i < r->count; i++)
    if (r->items[i].looked == GRADE_NEEDED)
      r->needed[r->needed_count++] = i;
  if (s->on_total)
    s->on_total(s->arg, r->needed_count);
  if (r->needed_count == 0)
    return 0;
  int rc = measure(r, err);
  r->grading = true;
  return rc ? rc : share(r, r->needed_count, err);
}

// What this run's students have in the end.
static void count_results(struct run *r)
{
  struct run_result *n = r->result;
  for (size_t i = 0; i < r->count; i++) {
    char *path = place_of(r, &r->items[i], "result.json");
    json_t *record = record_read(path);
    const json_t *final = json_object_get(record, "final");
    enum record_state state = record_state_of(record);
    n->refused += state == RECORD_REFUSED;
    n->not_judged += state == RECORD_NOT_JUDGED;
    n->lost += state == RECORD_JUDGED &&
               record_number(final, "marks") < record_number(final, "max");
    json_decref(record);
    free(path);
  }
  n->not_judged += n->kept;
}

static int write_reports(struct run *r, struct error *err)
{
  const struct run_spec *s = r->spec;
  const struct lab *lab = &s->course->lab;
  struct arena arena = {0};
  struct list overrides = {0};
  char *path = path_join(s->results, "overrides.yaml");
  int rc = overrides_read(path, s->rubric, &s->course->roster, &arena,
                          &overrides, err);
  json_t *start = load_evidence(r, START_FILE);
  json_t *reference = load_evidence(r, REFERENCE_FILE);
  struct class_spec spec = {
      .title = lab->title ? lab->title : lab->id,
      .id = lab->id,
      .results = s->results,
      .publish = r->publish,
      .rubric = s->rubric,
      .roster = &s->course->roster,
      .intake = &r->result->intake,
      .marks = {s->rubric, &lab->dates, &overrides, (int64_t)time(NULL), 0},
      .start = start,
      .reference = reference,
  };
  if (rc == 0)
    rc = class_write(&spec, &s->formats, &r->result->counts, err);
  json_decref(start);
  json_decref(reference);
  arena_release(&arena);
  free(path);
  return rc;
}

int run_look(const struct run_spec *spec, const char *scratch,
             struct run_result *ret, struct error *err)
{
  struct intake_spec in = {.paths = spec->paths,
                           .path_count = spec->path_count,
                           .roster = &spec->course->roster,
                           .files = spec->course->lab.submission.files,
                           .scratch = scratch};
  return intake_scan(&in, &ret->intake, err);
}

static int open_course(struct run *r, struct error *err)
{
  const struct run_spec *s = r->spec;
  char *cache = s->cache ? xstrdup(s->cache) : path_join(s->results, ".cache");
  int rc = s->sandbox ? sandbox_check(err) : 0;
  rc = rc ? rc
          : stock_open(cache, course_start(s->course), s->sandbox, &r->stock,
                       err);
  r->stock.limits = s->course->lab.limits;
  rc = rc ? rc
          : tool_key(s->course, s->rubric, s->effort, &r->stock, &r->tool, err);
  r->grader = (struct grader){.course = s->course,
                              .rubric = s->rubric,
                              .whole = s->whole,
                              .stock = &r->stock,
                              .intake = &r->result->intake,
                              .results = s->results,
                              .tool = r->tool,
                              .effort = s->effort,
                              .again = s->again};
  choose_sources(s->rubric, &r->grader);
  r->reference = load_evidence(r, REFERENCE_FILE);
  free(cache);
  return rc;
}

static int grade_all(struct run *r, struct error *err)
{
  char *scratch = publish_scratch(r->publish);
  int rc = run_look(r->spec, scratch, r->result, err);
  free(scratch);
  rc = rc ? rc : open_course(r, err);
  if (rc)
    return rc;
  make_items(r);
  rc = share(r, r->count, err);
  rc = rc ? rc : publish_flush(r->publish, err);
  rc = rc ? rc : grade_needed(r, err);
  // What is there is worth its reports, also after a fault.
  int reported = write_reports(r, rc ? NULL : err);
  if (rc == 0 && reported == 0)
    count_results(r);
  return rc ? rc : reported;
}

int run_grade(const struct run_spec *spec, struct run_result *ret,
              struct error *err)
{
  struct run r = {.spec = spec, .result = ret};
  *ret = (struct run_result){0};
  int rc = publish_open(spec->results, &r.publish, err);
  rc = rc ? rc : grade_all(&r, err);
  for (size_t i = 0; i < r.count; i++) {
    free(r.items[i].folder);
    free(r.items[i].scratch);
  }
  free(r.items);
  free(r.needed);
  free(r.tool);
  json_decref(r.reference);
  stock_close(&r.stock);
  publish_close(r.publish);
  return rc;
}

void run_release(struct run_result *r)
{
  intake_release(&r->intake);
  *r = (struct run_result){0};
}
