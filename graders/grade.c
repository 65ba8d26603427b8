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
#define READ_MEMORY_BYTES (512ull << 20)  // beyond what the process has
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
  bool lab;                  // the lab's kernel was judged
  struct evidence evidence;  // of it
  struct clinic clinic;
  struct check_result *results;  // of the lab, then of the clinic
  size_t result_count;
};

static void work_release(struct work *w)
{
  submission_release(&w->submission);
  policy_release(&w->policy);
  buf_release(&w->notes);
  evidence_release(&w->evidence);
  clinic_release(&w->clinic);
  check_results_release(w->results, w->result_count);
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

static int write_console(const char *folder, const char *before,
                         const char *name, const struct boot_facts *f,
                         struct error *err)
{
  if (!f->done)
    return 0;
  char *path = xasprintf("%s/%s%s", folder, before, name);
  int rc = file_write(path, buf_str(&f->console), f->console.len, 0644, err);
  free(path);
  return rc;
}

static int write_consoles(const struct work *w, const char *before,
                          const struct evidence *e, struct error *err)
{
  int rc =
      write_console(w->folder, before, "console-plain.txt", &e->plain, err);
  return rc ? rc
            : write_console(w->folder, before, "console-watched.txt",
                            &e->watched, err);
}

static int write_clinic_evidence(const struct work *w, const char *before,
                                 const struct clinic_kernel *k,
                                 struct error *err)
{
  struct record_parts parts = {.student = w->claim->student,
                               .evidence = &k->evidence};
  char *name = xasprintf("%sevidence.json", before);
  int rc = write_json(w->folder, name, record_evidence(&parts), err);
  free(name);
  return rc ? rc : write_consoles(w, before, &k->evidence, err);
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
      .results = w->results,
      .result_count = w->result_count,
      .evidence = w->lab ? &w->evidence : NULL,
      .clinic = &w->clinic,
  };
}

static int write_record(const struct work *w, const struct record_parts *parts,
                        struct error *err)
{
  int rc = file_mkdirs(w->folder, err);
  rc =
      rc ? rc : write_json(w->folder, "result.json", record_result(parts), err);
  rc = rc ? rc
          : write_json(w->folder, "evidence.json", record_evidence(parts), err);
  rc = rc ? rc : write_consoles(w, "", &w->evidence, err);
  for (size_t i = 0; i < w->clinic.count && rc == 0; i++) {
    const struct clinic_kernel *k = &w->clinic.kernels[i];
    char *before = xasprintf("%s-", k->key->name);
    if (k->changed)
      rc = write_clinic_evidence(w, before, k, err);
    free(before);
  }
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

// Whether there is something of the clinic to judge.
static bool is_clinic_asked(const struct work *w)
{
  return w->submission.clinic_count > 0 &&
         clinic_first_check(w->g->rubric) < w->g->rubric->checks.count;
}

static size_t add_tree_parts(const struct tree *t, struct key_part *ret)
{
  for (size_t i = 0; i < t->count; i++) {
    const struct tree_file *f = &t->files[i];
    ret[2 * i] = (struct key_part){f->path, strlen(f->path)};
    ret[2 * i + 1] = (struct key_part){f->content->bytes, f->content->len};
  }
  return 2 * t->count;
}

static int make_key(struct work *w, struct error *err)
{
  const struct submission *s = &w->submission;
  const char *id = w->claim->student->id;
  struct buf clinic = BUF_INIT;
  size_t room = 4 + 2 * s->tree.count, count = 4;
  int rc = is_clinic_asked(w) ? clinic_describe(w->g->course, &clinic, err) : 0;
  for (size_t i = 0; i < s->clinic_count; i++)
    room += 1 + 2 * s->clinic[i].tree.count;
  struct key_part *parts = xcalloc(room, sizeof(*parts));
  parts[0] = (struct key_part){w->g->tool, strlen(w->g->tool)};
  parts[1] = (struct key_part){id, strlen(id)};
  parts[2] = (struct key_part){s->commit.bytes, sizeof(s->commit.bytes)};
  parts[3] = (struct key_part){buf_str(&clinic), clinic.len};
  count += add_tree_parts(&s->tree, &parts[count]);
  for (size_t i = 0; i < s->clinic_count; i++) {
    const struct submission_branch *b = &s->clinic[i];
    parts[count++] = (struct key_part){&b->number, sizeof(b->number)};
    count += add_tree_parts(&b->tree, &parts[count]);
  }
  w->key = cache_key(parts, count);
  free(parts);
  buf_release(&clinic);
  return rc;
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
  if (make_key(w, err))
    return GRADE_FAILED;
  if (!w->g->again && is_unchanged(w))
    return GRADE_UNCHANGED;
  buf_adds(&w->notes, buf_str(&w->submission.notes));
  if (w->submission.tree.count)
    policy_compare(w->g->course, &w->submission, &w->policy);
  const char *missing = missing_file(w);
  if (!missing || is_clinic_asked(w))
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

static struct gather_spec gather_spec_of(const struct grader *g,
                                         const struct tree *tree)
{
  const struct lab_machine *machine = &g->course->lab.machine;
  return (struct gather_spec){
      .stock = g->stock,
      .tree = tree,
      .rules = &g->rubric->object,
      .programs = &g->rubric->programs,
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
}

static int gather(const struct grader *g, const struct tree *tree,
                  struct evidence *ret, struct error *err)
{
  struct gather_spec spec = gather_spec_of(g, tree);
  return evidence_gather(&spec, ret, err);
}

// Makes room for more results, and returns where they begin.
static struct check_result *add_results(struct work *w, size_t count)
{
  size_t before = w->result_count;
  w->results =
      xreallocarray(w->results, before + count + 1, sizeof(*w->results));
  w->result_count += count;
  return &w->results[before];
}

static int judge_lab(struct work *w, struct error *err)
{
  const struct course *course = w->g->course;
  struct rubric lab = *w->g->rubric;
  struct tree tree = {0};
  struct check_result *results = NULL;
  lab.checks.count = clinic_first_check(&lab);
  int rc = splice(course_start(course), &w->submission.tree,
                  &course->lab.submission, &tree, &w->notes, err);
  rc = rc ? rc : gather(w->g, &tree, &w->evidence, err);
  if (rc == 0) {
    w->lab = true;
    if (!w->evidence.built)
      policy_explain(&w->policy, &w->submission.tree, course_start(course),
                     buf_str(&w->evidence.build_words), &w->notes);
    rubric_judge(&lab, &w->evidence, &results);
    memcpy(add_results(w, lab.checks.count), results,
           lab.checks.count * sizeof(*results));
    free(results);
  }
  tree_release(&tree);
  return rc;
}

static int judge_clinic(struct work *w, struct error *err)
{
  const struct rubric *rubric = w->g->rubric;
  const struct gather_spec gather = gather_spec_of(w->g, NULL);
  const struct clinic_spec spec = {.course = w->g->course,
                                   .rubric = w->g->whole,
                                   .student = w->claim->student,
                                   .submission = &w->submission,
                                   .gather = &gather};
  int rc = clinic_judge(&spec, &w->clinic, err);
  if (rc)
    return rc;
  buf_adds(&w->notes, buf_str(&w->clinic.notes));
  clinic_results(
      &w->clinic, rubric,
      add_results(w, rubric->checks.count - clinic_first_check(rubric)));
  return 0;
}

static int grade(struct work *w, struct error *err)
{
  const char *missing = missing_file(w);
  int rc = 0;
  if (!missing && clinic_first_check(w->g->rubric) > 0)
    rc = judge_lab(w, err);
  else if (missing && w->submission.tree.count)
    buf_addf(&w->notes, "no %s: the clinic alone was judged\n", missing);
  if (rc == 0 && is_clinic_asked(w))
    rc = judge_clinic(w, err);
  if (rc)
    return rc;
  struct record_parts parts = parts_of(w);
  parts.state = RECORD_JUDGED;
  for (size_t i = 0; i < w->result_count; i++)
    if (w->results[i].verdict == VERDICT_NOT_JUDGED) {
      parts.state = RECORD_NOT_JUDGED;
      parts.reason = buf_str(&w->results[i].text);
    }
  return write_record(w, &parts, err);
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
  quick.effort = g->effort < EFFORT_TESTS ? g->effort : EFFORT_TESTS;
  int rc = gather(&quick, course_reference(g->course), &e, err);
  if (rc == 0)
    *ret = evidence_json(&e, "reference");
  evidence_release(&e);
  return rc;
}
