// Makes trials, and keeps each in a file of the results folder as soon as it is
// there: what is killed goes on where it stopped.

#include "graders/verify.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graders/splice.h"
#include "graders/tool-key.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"

enum { MAX_TRIAL_BYTES = 16 << 20 };

static size_t limit_count(const struct rubric *rubric)
{
  size_t count = 0;
  for (size_t i = 0; i < rubric->checks.count; i++)
    count += LIST_AT(rubric->checks, struct check, i)->limits.count;
  return count;
}

// ---- one trial -------------------------------------------------------------------

static struct trial *trial_new(const struct rubric *rubric)
{
  struct trial *t = xcalloc(1, sizeof *t);
  t->verdicts = xcalloc(rubric->checks.count + 1, sizeof *t->verdicts);
  t->texts = xcalloc(rubric->checks.count + 1, sizeof *t->texts);
  t->measured = xcalloc(limit_count(rubric) + 1, sizeof *t->measured);
  return t;
}

static void trial_free(struct trial *t, const struct rubric *rubric)
{
  if (t == NULL)
    return;
  for (size_t i = 0; i < rubric->checks.count; i++)
    free(t->texts[i]);
  free(t->verdicts);
  free(t->texts);
  free(t->measured);
  said_release(&t->said);
  free(t);
}

static struct trial *trial_of(const struct rubric *rubric,
                              const struct evidence *e,
                              const struct check_result *results)
{
  struct trial *t = trial_new(rubric);
  size_t limit = 0;

  for (size_t i = 0; i < rubric->checks.count; i++) {
    const struct check *c = results[i].check;
    t->verdicts[i] = results[i].verdict;
    t->texts[i] = xstrdup(buf_str(&results[i].text));
    t->marks += results[i].marks;
    for (size_t l = 0; l < c->limits.count; l++)
      t->measured[limit++] =
          traffic_measured(e, LIST_AT(c->limits, struct traffic_limit, l));
  }
  t->said = said_of_evidence(e);
  t->plain_cpu_s = e->plain.cpu_s;
  t->watched_cpu_s = e->watched.cpu_s;
  t->wall_ms = e->plain.wall_ms + e->watched.wall_ms;
  return t;
}

// JSON wants UTF-8, and a guest's bytes are anything.
static json_t *json_text(const char *text)
{
  struct buf clean = BUF_INIT;

  for (const char *line = text; *line != '\0';) {
    size_t len = strcspn(line, "\n");
    buf_add_terminal(&clean, line, len);
    buf_addc(&clean, '\n');
    line += len + (line[len] == '\n');
  }
  json_t *json = json_string(buf_str(&clean));
  buf_release(&clean);
  return json;
}

static int trial_save(const struct trial *t, const struct rubric *rubric,
                      const char *path, struct error *err)
{
  json_t *checks = json_object(), *measured = json_array();

  for (size_t i = 0; i < rubric->checks.count; i++)
    json_object_set_new(checks, LIST_AT(rubric->checks, struct check, i)->id,
                        json_pack("{s:i, s:o}", "verdict", (int)t->verdicts[i],
                                  "text", json_text(t->texts[i])));
  for (size_t i = 0; i < limit_count(rubric); i++)
    json_array_append_new(measured, json_real(t->measured[i]));
  json_t *all = json_pack(
      "{s:o, s:o, s:o, s:I, s:f, s:f, s:I, s:I}", "checks", checks, "measured",
      measured, "explorer", said_write(&t->said), "marks", (json_int_t)t->marks,
      "plain_cpu_s", t->plain_cpu_s, "watched_cpu_s", t->watched_cpu_s,
      "wall_ms", (json_int_t)t->wall_ms, "named_ms", (json_int_t)t->named_ms);
  char *text = all ? json_dumps(all, JSON_INDENT(1)) : NULL;
  int rc = text ? file_write_atomic(path, text, strlen(text), 0644, err)
                : error_set(err, LG_EHARNESS, "%s: no JSON came of it", path);
  free(text);
  json_decref(all);
  return rc;
}

// The trial in a file, or NULL when there is none that fits the rubric.
static struct trial *trial_load(const struct rubric *rubric, const char *path)
{
  struct buf text = BUF_INIT;
  json_t *all = NULL;

  if (file_read(path, MAX_TRIAL_BYTES, &text, NULL) == 0)
    all = json_loadb(text.data, text.len, 0, NULL);
  buf_release(&text);
  json_t *checks = json_object_get(all, "checks");
  json_t *measured = json_object_get(all, "measured");
  bool fits = json_object_size(checks) == rubric->checks.count &&
              json_array_size(measured) == limit_count(rubric);
  struct trial *t = fits ? trial_new(rubric) : NULL;

  for (size_t i = 0; fits && i < rubric->checks.count; i++) {
    json_t *check =
        json_object_get(checks, LIST_AT(rubric->checks, struct check, i)->id);
    const char *words = json_string_value(json_object_get(check, "text"));
    fits = check != NULL && words != NULL;
    t->verdicts[i] =
        (enum verdict)json_integer_value(json_object_get(check, "verdict"));
    t->texts[i] = xstrdup(words ? words : "");
  }
  for (size_t i = 0; fits && i < limit_count(rubric); i++)
    t->measured[i] = json_real_value(json_array_get(measured, i));
  fits = fits && said_read(json_object_get(all, "explorer"), &t->said);
  if (fits) {
    t->marks = json_integer_value(json_object_get(all, "marks"));
    t->plain_cpu_s = json_real_value(json_object_get(all, "plain_cpu_s"));
    t->watched_cpu_s = json_real_value(json_object_get(all, "watched_cpu_s"));
    t->wall_ms = json_integer_value(json_object_get(all, "wall_ms"));
    t->named_ms = json_integer_value(json_object_get(all, "named_ms"));
  } else {
    trial_free(t, rubric);
    t = NULL;
  }
  json_decref(all);
  return t;
}

// ---- all trials --------------------------------------------------------------------

struct verifying {
  const struct verify_spec *spec;
  struct stock stock;
  char *key;  // of rubric, effort, tools: part of every trial's file name
  double plain_cpu_s, watched_cpu_s;
};

// Names the file of a trial by what went into it, so that a change of a bug, of
// the rubric, of the watchers or of the explorer makes it anew.
static char *trial_path(const struct verifying *v, size_t subject, int boot)
{
  const struct subject *s = &v->spec->subjects->items[subject];
  struct key_part parts[4] = {{v->key, strlen(v->key)}};
  static const char *const files[] = {STUDENT_FILE, SHARED_FILE, SHARED_HEADER};

  for (size_t i = 0; i < 3; i++) {
    const struct tree_file *f = tree_find(&s->tree, files[i]);
    if (f != NULL)
      parts[i + 1] = (struct key_part){f->content->bytes, f->content->len};
    else
      parts[i + 1] = (struct key_part){"", 0};
  }
  char *key = cache_key(parts, 4);
  char *path =
      xasprintf("%s/%s-%.8s-%d.json", v->spec->results, s->id, key, boot);
  free(key);
  return path;
}

// Whether a trial is there and stays.
static bool is_made(const struct verifying *v, const char *path)
{
  struct trial *t = trial_load(v->spec->rubric, path);
  bool judged = true;

  for (size_t i = 0; t != NULL && i < v->spec->rubric->checks.count; i++)
    judged = judged && t->verdicts[i] != VERDICT_NOT_JUDGED;
  bool made = t != NULL && (judged || v->spec->keep_unjudged);
  trial_free(t, v->spec->rubric);
  return made;
}

// Takes the time at which the evidence so far first fails a check.
struct naming {
  const struct rubric *rubric;
  int64_t start_ms, named_ms;
};

static void look_for_fail(void *arg, const struct evidence *so_far)
{
  struct naming *n = arg;
  struct check_result *results;
  bool failed = false;

  if (n->named_ms != 0)
    return;
  rubric_judge(n->rubric, so_far, &results);
  for (size_t i = 0; i < n->rubric->checks.count; i++)
    failed = failed || results[i].verdict == VERDICT_FAIL;
  check_results_release(results, n->rubric->checks.count);
  if (failed)
    n->named_ms = clock_ms() - n->start_ms;
}

static int make_trial(const struct verifying *v, size_t subject,
                      const char *path, struct error *err)
{
  const struct verify_spec *spec = v->spec;
  struct tree tree = {0};
  struct buf notes = BUF_INIT;
  struct evidence e = {0};
  struct check_result *results = NULL;
  struct naming naming = {.rubric = spec->rubric, .start_ms = clock_ms()};
  int rc =
      splice(course_start(spec->course), &spec->subjects->items[subject].tree,
             &spec->course->lab.submission, &tree, &notes, err);

  if (rc == 0) {
    struct gather_spec gather = {
        .stock = &v->stock,
        .tree = &tree,
        .rules = &spec->rubric->object,
        .programs = &spec->rubric->programs,
        .harts = (unsigned)spec->course->lab.machine.harts,
        .memory_mib = (unsigned)spec->course->lab.machine.memory_mib,
        .effort = spec->effort,
        .plain_cpu_s = v->plain_cpu_s,
        .watched_cpu_s = v->watched_cpu_s,
        .plain = true,
        .watched = true,
        .explore = true,
        .on_evidence = look_for_fail,
        .arg = &naming,
    };
    rc = evidence_gather(&gather, &e, err);
  }
  if (rc == 0) {
    rubric_judge(spec->rubric, &e, &results);
    struct trial *t = trial_of(spec->rubric, &e, results);
    t->named_ms = naming.named_ms;
    rc = trial_save(t, spec->rubric, path, err);
    trial_free(t, spec->rubric);
  }
  check_results_release(results, spec->rubric->checks.count);
  evidence_release(&e);
  tree_release(&tree);
  buf_release(&notes);
  return rc;
}

static bool is_wanted(const struct verify_spec *spec, size_t subject)
{
  if (spec->only == NULL)
    return true;
  for (size_t i = 0; spec->only[i] != NULL; i++)
    if (strcmp(spec->only[i], spec->subjects->items[subject].id) == 0)
      return true;
  return false;
}

// Makes each `jobs`-th trial that is not there yet, beginning with the
// `first`-th; the boot comes before the subject, so that a run that is cut short
// has seen all subjects.
static int make_share(const struct verifying *v, int first, int jobs, bool tell,
                      struct error *err)
{
  const struct verify_spec *spec = v->spec;
  size_t count = spec->subjects->count, done = 0, total = 0;
  int rc = 0;

  for (size_t s = 0; s < count; s++)
    total += is_wanted(spec, s) ? (size_t)spec->boots : 0;
  for (int boot = 0; boot < spec->boots; boot++) {
    for (size_t s = 0; rc == 0 && s < count; s++) {
      if (!is_wanted(spec, s))
        continue;
      char *path = trial_path(v, s, boot);
      if (done % (size_t)jobs == (size_t)first && !is_made(v, path))
        rc = make_trial(v, s, path, err);
      free(path);
      done++;
      if (rc == 0 && tell && spec->on_trial != NULL)
        spec->on_trial(spec->arg, spec->subjects->items[s].id, done, total);
    }
  }
  return rc;
}

// Shares the trials among processes: a trial is a sequence of builds and boots,
// each of which waits for its own.
static int make_all(const struct verifying *v, struct error *err)
{
  int jobs = v->spec->jobs, rc = 0;
  pid_t *workers = xcalloc((size_t)jobs, sizeof *workers);

  for (int i = 1; i < jobs; i++) {
    workers[i] = fork();
    if (workers[i] == 0) {
      struct error mine = {0};
      int status = make_share(v, i, jobs, false, &mine) == 0 ? 0 : 1;
      if (status != 0)
        dprintf(STDERR_FILENO, "labgen: %s\n",
                mine.message ? mine.message : error_name(mine.code));
      _exit(status);
    }
  }
  rc = make_share(v, 0, jobs, true, err);
  for (int i = 1; i < jobs; i++) {
    int status = 1;
    while (workers[i] > 0 && waitpid(workers[i], &status, 0) < 0 &&
           errno == EINTR)
      ;
    if (rc == 0 && status != 0)
      rc = error_set(err, LG_EHARNESS, "one of the jobs could not go on");
  }
  free(workers);
  return rc;
}

// The start comes first: its CPU time is the measure of all others'.
static int calibrate(struct verifying *v, struct error *err)
{
  char *path = trial_path(v, 0, 0);
  struct trial *t = trial_load(v->spec->rubric, path);
  int rc = 0;

  if (t == NULL) {
    unlink(path);
    rc = make_trial(v, 0, path, err);
    t = rc == 0 ? trial_load(v->spec->rubric, path) : NULL;
  }
  if (t != NULL) {
    v->plain_cpu_s = t->plain_cpu_s;
    v->watched_cpu_s = t->watched_cpu_s;
  }
  trial_free(t, v->spec->rubric);
  free(path);
  return rc;
}

static int collect(const struct verifying *v, struct verify_result *r,
                   struct error *err)
{
  const struct verify_spec *spec = v->spec;
  int rc = 0;

  r->trials = xcalloc(spec->subjects->count + 1, sizeof *r->trials);
  for (size_t s = 0; rc == 0 && s < spec->subjects->count; s++) {
    if (!is_wanted(spec, s))
      continue;
    r->trials[s] = xcalloc((size_t)spec->boots + 1, sizeof **r->trials);
    for (int boot = 0; rc == 0 && boot < spec->boots; boot++) {
      char *path = trial_path(v, s, boot);
      struct trial *t = trial_load(spec->rubric, path);
      if (t == NULL)
        rc = error_set(err, LG_EHARNESS,
                       "%s: cannot be read; remove it and run again", path);
      else
        r->trials[s][boot] = *t;
      free(t);
      free(path);
    }
  }
  return rc;
}

int verify_run(const struct verify_spec *spec, struct verify_result *ret,
               struct error *err)
{
  struct verifying v = {.spec = spec};
  struct verify_result result = {
      .rubric = spec->rubric, .subjects = spec->subjects, .boots = spec->boots};
  struct buf rubric = BUF_INIT;
  char *explorer = NULL;
  int rc = file_mkdirs(spec->results, err);

  if (rc == 0)
    rc = stock_open(spec->cache, course_start(spec->course), false, &v.stock,
                    err);
  v.stock.limits = spec->course->lab.limits;
  if (rc == 0)
    rc = file_read(spec->rubric->at.path, MAX_TRIAL_BYTES, &rubric, err);
  if (rc == 0)
    rc = explorer_key(&explorer, err);
  if (rc == 0) {
    const char *effort = spec->effort == EFFORT_FULL ? "full" : "quick";
    const struct key_part parts[] = {{v.stock.key, strlen(v.stock.key)},
                                     {rubric.data, rubric.len},
                                     {effort, strlen(effort)},
                                     {explorer, strlen(explorer)}};
    v.key = cache_key(parts, 4);
    rc = calibrate(&v, err);
  }
  if (rc == 0)
    rc = make_all(&v, err);
  if (rc == 0)
    rc = collect(&v, &result, err);
  stock_close(&v.stock);
  free(v.key);
  free(explorer);
  buf_release(&rubric);
  if (rc != 0)
    verify_release(&result);
  else
    *ret = result;
  return rc;
}

void verify_release(struct verify_result *v)
{
  for (size_t s = 0; v->trials != NULL && s < v->subjects->count; s++) {
    for (int boot = 0; v->trials[s] != NULL && boot < v->boots; boot++) {
      struct trial *t = &v->trials[s][boot];
      for (size_t i = 0; t->texts != NULL && i < v->rubric->checks.count; i++)
        free(t->texts[i]);
      free(t->verdicts);
      free(t->texts);
      free(t->measured);
      said_release(&t->said);
    }
    free(v->trials[s]);
  }
  free(v->trials);
  *v = (struct verify_result){0};
}
