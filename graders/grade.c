// The way of one submission through intake, policy, splice, evidence and checks
// to a folder of results. It does not decide where that folder goes, nor what
// the marks come to in the end.
#include "graders/grade.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "graders/policy.h"
#include "graders/record.h"
#include "graders/splice.h"
#include "graders/submission.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

// While a stranger's archive or repository is read.
#define READ_MEMORY_BYTES (1ull << 30)  // beyond what the process has
#define READ_CPU_S 20
#if defined(__SANITIZE_ADDRESS__)  // it reserves terabytes of addresses
#define BOUNDS_MEMORY false
#else
#define BOUNDS_MEMORY true
#endif

// A submission on its way.
struct work {
  const struct grader *g;
  const struct intake_claim *claim;
  const char *folder;
  struct submission submission;
  struct policy policy;
  struct buf notes;
  char *key;
};

static void work_release(struct work *w)
{
  submission_release(&w->submission);
  policy_release(&w->policy);
  buf_release(&w->notes);
  free(w->key);
}

static int write_json(const char *folder, const char *name, json_t *taken,
                      struct error *err)
{
  struct buf text = BUF_INIT;
  char *path = path_join(folder, name);
  record_format(taken, &text);
  int rc = file_write(path, buf_str(&text), text.len, 0644, err);
  json_decref(taken);
  buf_release(&text);
  free(path);
  return rc;
}

static int write_console(const char *folder, const char *name,
                         const struct boot_facts *f, struct error *err)
{
  if (!f->done)
    return 0;
  char *path = path_join(folder, name);
  int rc = file_write(path, buf_str(&f->console), f->console.len, 0644, err);
  free(path);
  return rc;
}

static struct record_parts parts_of(const struct work *w)
{
  return (struct record_parts){
      .student = w->claim->student,
      .key = w->key,
      .intake = w->g->intake,
      .claim = w->claim,
      .submission = w->submission.branch ? &w->submission : NULL,
      .policy = &w->policy,
      .notes = buf_str(&w->notes),
  };
}

static int write_record(const struct work *w, const struct record_parts *parts,
                        struct error *err)
{
  const struct evidence *e = parts->evidence;
  int rc = file_mkdirs(w->folder, err);
  rc =
      rc ? rc : write_json(w->folder, "result.json", record_result(parts), err);
  rc = rc ? rc
          : write_json(w->folder, "evidence.json", record_evidence(parts), err);
  if (rc == 0 && e)
    rc = write_console(w->folder, "console-plain.txt", &e->plain, err);
  if (rc == 0 && e)
    rc = write_console(w->folder, "console-watched.txt", &e->watched, err);
  return rc;
}

static int write_reason(const struct work *w, enum record_state state,
                        const char *reason, struct error *err)
{
  struct record_parts parts = parts_of(w);
  parts.state = state;
  parts.reason = reason;
  return write_record(w, &parts, err);
}

int grade_write_reason(const struct grader *g, const struct intake_claim *claim,
                       bool refused, const char *reason, const char *folder,
                       struct error *err)
{
  struct work w = {.g = g, .claim = claim, .folder = folder};
  int rc = write_reason(&w, refused ? RECORD_REFUSED : RECORD_NOT_JUDGED,
                        reason, err);
  work_release(&w);
  return rc;
}

// --- reading ----------------------------------------------------------------

// Sets soft limits, and gives back what they were.
static void bound_reading(struct rlimit ret_before[2])
{
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  getrlimit(RLIMIT_AS, &ret_before[0]);
  getrlimit(RLIMIT_CPU, &ret_before[1]);
  struct rlimit memory = ret_before[0], cpu = ret_before[1];
  cpu.rlim_cur =
      (rlim_t)used.ru_utime.tv_sec + (rlim_t)used.ru_stime.tv_sec + READ_CPU_S;
  memory.rlim_cur = READ_MEMORY_BYTES + ((rlim_t)used.ru_maxrss << 10);
  if (BOUNDS_MEMORY)
    setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CPU, &cpu);
}

static int read_bounded(struct work *w, const char *scratch, struct error *err)
{
  struct rlimit before[2];
  struct submission_spec spec = {w->g->intake, w->claim, w->g->course, scratch};
  bound_reading(before);
  int rc = submission_read(&spec, &w->submission, err);
  setrlimit(RLIMIT_AS, &before[0]);
  setrlimit(RLIMIT_CPU, &before[1]);
  return rc;
}

static void make_key(struct work *w)
{
  const struct tree *t = &w->submission.tree;
  const struct student *s = w->claim->student;
  size_t count = 3 + 2 * t->count;
  struct key_part *parts = xcalloc(count, sizeof(*parts));
  parts[0] = (struct key_part){w->g->tool, strlen(w->g->tool)};
  parts[1] = (struct key_part){s->id, strlen(s->id)};
  parts[2] = (struct key_part){w->submission.commit.bytes,
                               sizeof(w->submission.commit.bytes)};
  for (size_t i = 0; i < t->count; i++) {
    const struct tree_file *f = &t->files[i];
    parts[3 + 2 * i] = (struct key_part){f->path, strlen(f->path)};
    parts[4 + 2 * i] = (struct key_part){f->content->bytes, f->content->len};
  }
  w->key = cache_key(parts, count);
  free(parts);
}

// Whether the result that is there is of the same submission, lab and tool, and
// judged.
static bool is_unchanged(const struct work *w)
{
  char *folder = path_join(w->g->results, w->claim->student->id);
  char *path = path_join(folder, "result.json");
  json_t *record = record_read(path);
  bool same = record && strcmp(record_text(record, "key"), w->key) == 0 &&
              record_state_of(record) != RECORD_NOT_JUDGED;
  json_decref(record);
  free(folder);
  free(path);
  return same;
}

static const char *missing_file(const struct work *w)
{
  const struct texts *files = &w->g->course->lab.submission.files;
  for (size_t i = 0; i < files->count; i++)
    if (!tree_find(&w->submission.tree, files->items[i]))
      return files->items[i];
  return NULL;
}

static enum grade_outcome failed_or_done(int rc)
{
  return rc ? GRADE_FAILED : GRADE_DONE;
}

static enum grade_outcome look(struct work *w, const char *scratch,
                               struct error *err)
{
  struct error mine = {0};
  int rc = read_bounded(w, scratch, &mine);
  if (rc == LG_EREFUSED) {
    rc = write_reason(w, RECORD_REFUSED, mine.message, err);
    error_release(&mine);
    return failed_or_done(rc);
  }
  if (rc) {
    error_set(err, rc, "%s", mine.message);
    error_release(&mine);
    return GRADE_FAILED;
  }
  make_key(w);
  if (!w->g->again && is_unchanged(w))
    return GRADE_UNCHANGED;
  buf_adds(&w->notes, buf_str(&w->submission.notes));
  policy_compare(w->g->course, &w->submission, &w->policy);
  const char *missing = missing_file(w);
  if (!missing)
    return GRADE_NEEDED;
  char *reason = xasprintf("the submission has no %s", missing);
  rc = write_reason(w, RECORD_REFUSED, reason, err);
  free(reason);
  return failed_or_done(rc);
}

enum grade_outcome grade_look(const struct grader *g,
                              const struct intake_claim *claim,
                              const char *folder, const char *scratch,
                              struct error *err)
{
  struct work w = {.g = g, .claim = claim, .folder = folder};
  enum grade_outcome outcome = look(&w, scratch, err);
  work_release(&w);
  return outcome;
}

// --- grading ----------------------------------------------------------------

static int gather(const struct grader *g, const struct tree *tree,
                  struct evidence *ret, struct error *err)
{
  const struct lab_machine *machine = &g->course->lab.machine;
  struct gather_spec spec = {
      .stock = g->stock,
      .tree = tree,
      .rules = &g->rubric->object,
      .harts = (unsigned)machine->harts,
      .memory_mib = (unsigned)machine->memory_mib,
      .effort = g->effort,
      .plain_cpu_s = g->plain_cpu_s,
      .watched_cpu_s = g->watched_cpu_s,
      .plain = g->plain,
      .watched = g->watched,
      .explore = g->explore,
      .on_progress = g->on_progress,
      .arg = g->arg,
  };
  return evidence_gather(&spec, ret, err);
}

static int judge(struct work *w, const struct evidence *e, struct error *err)
{
  const struct rubric *rubric = w->g->rubric;
  struct check_result *results = NULL;
  if (!e->built)
    policy_explain(&w->policy, &w->submission.tree, course_start(w->g->course),
                   buf_str(&e->build_words), &w->notes);
  rubric_judge(rubric, e, &results);
  struct record_parts parts = parts_of(w);
  parts.state = RECORD_JUDGED;
  for (size_t i = 0; i < rubric->checks.count; i++)
    if (results[i].verdict == VERDICT_NOT_JUDGED) {
      parts.state = RECORD_NOT_JUDGED;
      parts.reason = buf_str(&results[i].text);
    }
  parts.results = results;
  parts.result_count = rubric->checks.count;
  parts.evidence = e;
  int rc = write_record(w, &parts, err);
  check_results_release(results, rubric->checks.count);
  return rc;
}

static int grade(struct work *w, struct error *err)
{
  struct tree tree = {0};
  struct evidence e = {0};
  int rc = splice(course_start(w->g->course), &w->submission.tree,
                  &w->g->course->lab.submission, &tree, &w->notes, err);
  rc = rc ? rc : gather(w->g, &tree, &e, err);
  rc = rc ? rc : judge(w, &e, err);
  evidence_release(&e);
  tree_release(&tree);
  return rc;
}

enum grade_outcome grade_submission(const struct grader *g,
                                    const struct intake_claim *claim,
                                    const char *folder, const char *scratch,
                                    struct error *err)
{
  struct work w = {.g = g, .claim = claim, .folder = folder};
  enum grade_outcome outcome = look(&w, scratch, err);
  if (outcome == GRADE_NEEDED)
    outcome = failed_or_done(grade(&w, err));
  work_release(&w);
  return outcome;
}

static json_t *evidence_json(const struct evidence *e, const char *name)
{
  const struct student nobody = {.id = name};
  struct record_parts parts = {.student = &nobody, .evidence = e};
  return record_evidence(&parts);
}

int grade_calibrate(struct grader *g, json_t **ret_start, struct error *err)
{
  struct evidence e = {0};
  struct grader quick = *g;
  quick.effort = g->effort < EFFORT_TESTS ? g->effort : EFFORT_TESTS;
  quick.explore = false;
  quick.plain_cpu_s = quick.watched_cpu_s = 0;
  int rc = gather(&quick, course_start(g->course), &e, err);
  if (rc == 0 && !e.built)
    rc = error_set(err, LG_EBUILD, "the lab's start does not compile:\n%s",
                   buf_str(&e.build_words));
  if (rc == 0 &&
      ((g->plain && e.plain.harness) || (g->watched && e.watched.harness)))
    rc = error_set(err, LG_EHARNESS,
                   "the lab's start kernel could not be booted: %s\n"
                   "'labgen doctor' says what is missing; mend it and run "
                   "this again, what is judged stays",
                   buf_str(g->plain ? &e.plain.detail : &e.watched.detail));
  if (rc == 0) {
    g->plain_cpu_s = e.plain.cpu_s;
    g->watched_cpu_s = e.watched.cpu_s;
    *ret_start = evidence_json(&e, "start");
  }
  evidence_release(&e);
  return rc;
}

int grade_reference(const struct grader *g, json_t **ret, struct error *err)
{
  struct evidence e = {0};
  struct grader quick = *g;
  quick.explore = false;
  quick.effort = EFFORT_QUICK;
  int rc = gather(&quick, course_reference(g->course), &e, err);
  if (rc == 0)
    *ret = evidence_json(&e, "reference");
  evidence_release(&e);
  return rc;
}
