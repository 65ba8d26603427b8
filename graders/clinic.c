// Judges the clinic's kernels, one after the other. What is wrong with each is
// never said here: a text tells what was seen of the student's own kernel, and
// whether the answer is right, not what would be.
#include "graders/clinic.h"

#include <stdlib.h>
#include <string.h>

#include "graders/splice.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

#define MAX_DATA_BYTES (1u << 20)

static const struct {
  const char *name, *title, *hint;
} parts[] = {
#define ROW(number, name, title, hint) {name, title, hint},
    CLINIC_PARTS(ROW)
#undef ROW
};

// --- the rubric -------------------------------------------------------------

static long worth(const struct lab_clinic_marks *m, enum clinic_part part)
{
  const long marks[CLINIC_PART_COUNT] = {[CLINIC_GONE] = m->gone,
                                         [CLINIC_UNBROKEN] = m->unbroken,
                                         [CLINIC_CLASS] = m->class_id,
                                         [CLINIC_PLACE] = m->place,
                                         [CLINIC_WORDS] = m->words};
  return marks[part];
}

void clinic_add_checks(const struct lab *lab, struct rubric *rubric,
                       struct arena *arena)
{
  const struct lab_clinic *clinic = &lab->clinic;
  size_t count = rubric->checks.count, first = count;
  size_t room = count + clinic->picks.count * CLINIC_PART_COUNT;
  struct check *checks = arena_alloc(arena, (room + 1) * sizeof(*checks));
  for (size_t i = 0; i < count; i++)
    checks[i] = *LIST_AT(rubric->checks, struct check, i);
  for (size_t k = 1; k <= clinic->picks.count; k++) {
    for (int part = 0; part < CLINIC_PART_COUNT; part++) {
      checks[count++] = (struct check){
          .at = clinic->at,
          .id = arena_printf(arena, "%s-%zu-%s", clinic->branch, k,
                             parts[part].name),
          .title = arena_printf(arena, "%s-%zu: %s", clinic->branch, k,
                                parts[part].title),
          .kind = CHECK_CLINIC,
          .marks = worth(&clinic->marks, (enum clinic_part)part),
          .visible = true,
          .hint = parts[part].hint,
          .clinic_number = k,
          .clinic_part = part,
      };
    }
  }
  long marks = 0;
  for (size_t i = first; i < count; i++)
    marks += checks[i].marks;
  if (marks > 0)
    rubric->checks = (struct list){checks, count};
}

size_t clinic_first_check(const struct rubric *rubric)
{
  size_t i = 0;
  while (i < rubric->checks.count &&
         LIST_AT(rubric->checks, struct check, i)->kind != CHECK_CLINIC)
    i++;
  return i;
}

bool clinic_asks_boots(const struct check *check)
{
  return check->kind == CHECK_CLINIC && (check->clinic_part == CLINIC_GONE ||
                                         check->clinic_part == CLINIC_UNBROKEN);
}

int clinic_describe(const struct course *course, struct buf *ret,
                    struct error *err)
{
  const struct lab_clinic *clinic = &course->lab.clinic;
  struct buf bytes = BUF_INIT;
  char reference[OBJECT_HEX_BYTES];
  object_hex(&course->chain[course->chain_count - 1].id, reference);
  buf_addf(ret, "%s %ld\n", reference, clinic->line_tolerance);
  for (int part = 0; part < CLINIC_PART_COUNT; part++)
    buf_addf(ret, "%ld ", worth(&clinic->marks, (enum clinic_part)part));
  int rc = file_read(clinic->rendering, MAX_DATA_BYTES, &bytes, err);
  buf_adds(ret, buf_str(&bytes));
  for (size_t i = 0; i < course->catalogue.bug_count && rc == 0; i++) {
    rc = file_read(course->catalogue.bugs[i].at.path, MAX_DATA_BYTES, &bytes,
                   err);
    buf_adds(ret, buf_str(&bytes));
  }
  buf_release(&bytes);
  return rc;
}

// --- the kernel -------------------------------------------------------------

// A kernel that is being judged.
struct judging {
  const struct clinic_spec *spec;
  struct clinic *clinic;
  struct clinic_kernel *k;
  const struct submission_branch *came;
};

// Adds lines, the kernel's name before each.
static void add_lines(struct buf *ret, const struct clinic_kernel *k,
                      const char *lines)
{
  while (*lines) {
    size_t len = strcspn(lines, "\n");
    buf_addf(ret, "%s: %.*s\n", k->key->name, (int)len, lines);
    lines += len + (lines[len] == '\n');
  }
}

static void add_notes(const struct judging *j, const char *lines)
{
  add_lines(&j->clinic->notes, j->k, lines);
}

static enum verdict fail(struct buf *text, const char *why)
{
  buf_addf(text, "%s\n", why);
  return VERDICT_FAIL;
}

static void note_unused(const struct judging *j)
{
  for (size_t i = 0; i < j->k->policy.count; i++) {
    const struct policy_file *f = &j->k->policy.files[i];
    if (f->use != POLICY_NOT_USED || strcmp(f->path, ANSWERS_FILE) == 0)
      continue;
    char *line =
        xasprintf("%s: %s; not used", f->path, policy_change_words(f->change));
    add_notes(j, line);
    free(line);
  }
}

// Names the bytes of all files that are taken whole.
static char *hash_files(const struct tree *tree, const struct texts *files)
{
  struct key_part *all = xcalloc(files->count + 1, sizeof(*all));
  for (size_t i = 0; i < files->count; i++) {
    const struct tree_file *f = tree_find(tree, files->items[i]);
    all[i] =
        (struct key_part){f ? f->content->bytes : "", f ? f->content->len : 0};
  }
  char *hash = cache_key(all, files->count);
  free(all);
  return hash;
}

// Puts what came back into the tree as it was handed out. A branch without its
// file is the student's fault: the part says so.
static int put_together(const struct judging *j, struct error *err)
{
  const struct course *course = j->spec->course;
  struct clinic_kernel *k = j->k;
  struct error mine = {0};
  struct buf notes = BUF_INIT;
  policy_compare_trees(course, &k->key->tree, &j->came->tree, &k->policy);
  note_unused(j);
  int rc = splice(&k->key->tree, &j->came->tree, &course->lab.submission,
                  &k->tree, &notes, &mine);
  add_notes(j, buf_str(&notes));
  if (rc == LG_EREFUSED) {
    k->verdicts[CLINIC_GONE] = fail(&k->texts[CLINIC_GONE], mine.message);
    rc = 0;
  } else if (rc) {
    error_set(err, rc, "%s", mine.message);
  } else {
    k->changed = !tree_equal(&k->tree, &k->key->tree);
    if (k->changed)
      k->hash = hash_files(&k->tree, &course->lab.submission.files);
    else
      k->verdicts[CLINIC_GONE] = fail(
          &k->texts[CLINIC_GONE],
          "the kernel is as it was handed out: nothing that may be changed "
          "was changed");
  }
  error_release(&mine);
  buf_release(&notes);
  return rc;
}

static bool names(const struct texts *all, const char *name)
{
  for (size_t i = 0; i < all->count; i++)
    if (strcmp(all->items[i], name) == 0)
      return true;
  return false;
}

static void add_result(struct buf *text, const struct check_result *r)
{
  buf_addf(text, "%s: %s\n%s", r->check->title, verdict_words(r->verdict),
           buf_str(&r->text));
}

// Whether the checks that the bug must fail pass, and the explorer finds nothing
// of what it found.
static enum verdict judge_gone(const struct clinic_kernel *k,
                               const struct check_result *results, size_t count,
                               struct buf *text)
{
  const struct bug *bug = k->key->assignment.bug;
  enum verdict verdict = VERDICT_PASS;
  if (!k->evidence.built) {
    buf_adds(text, buf_str(&k->evidence.build_words));
    return fail(text, "it does not compile");
  }
  for (size_t i = 0; i < count; i++) {
    const struct check_result *r = &results[i];
    if (!names(&bug->checks, r->check->id) || r->verdict == VERDICT_PASS)
      continue;
    add_result(text, r);
    if (r->verdict == VERDICT_NOT_JUDGED)
      return VERDICT_NOT_JUDGED;
    verdict = VERDICT_FAIL;
  }
  for (size_t i = 0; i < k->evidence.finding_count; i++) {
    const struct found *f = &k->evidence.findings[i];
    if (f->note || !found_by_explorer(f) ||
        !names(&bug->explore.findings, f->kind))
      continue;
    buf_addf(text, "the explorer still finds: %s\n", f->text);
    verdict = VERDICT_FAIL;
  }
  return verdict;
}

// Whether all other checks pass. Those that ask for more programs than are run
// here do not count.
static enum verdict judge_unbroken(const struct clinic_kernel *k,
                                   const struct check_result *results,
                                   size_t count, struct buf *text)
{
  const struct bug *bug = k->key->assignment.bug;
  enum verdict verdict = VERDICT_PASS;
  for (size_t i = 0; i < count; i++) {
    const struct check_result *r = &results[i];
    bool asks_more = r->check->kind == CHECK_CONSOLE &&
                     r->check->effort > (int)k->evidence.effort;
    if (asks_more || names(&bug->checks, r->check->id) ||
        r->verdict == VERDICT_PASS)
      continue;
    add_result(text, r);
    if (r->verdict == VERDICT_NOT_JUDGED)
      return VERDICT_NOT_JUDGED;
    verdict = VERDICT_FAIL;
  }
  return verdict;
}

// A bug that nothing can show would be gone in every kernel.
static int check_bug(const struct bug *bug, const struct rubric *rubric,
                     struct error *err)
{
  size_t shown = bug->explore.findings.count;
  for (size_t i = 0; i < bug->checks.count; i++)
    shown += rubric_find(rubric, bug->checks.items[i]) != NULL;
  if (shown > 0)
    return 0;
  return error_at(err, LG_EINPUT, bug->at.path, bug->at.line, bug->at.column,
                  "'%s' is in the clinic, and names no check of the rubric and "
                  "no finding that it must show",
                  bug->id);
}

// What looks like an attempt on the grader is for staff to decide on.
static void report_tampering(const struct judging *j,
                             const struct check_result *results, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    const struct check_result *r = &results[i];
    if (check_shows_tampering(r->check) && r->verdict == VERDICT_FAIL)
      add_lines(&j->clinic->staff, j->k, buf_str(&r->text));
  }
  if (j->k->evidence.unexplorable)
    add_lines(&j->clinic->staff, j->k, buf_str(&j->k->evidence.explore_words));
}

static int boot_kernel(const struct judging *j, struct error *err)
{
  const struct rubric *rubric = j->spec->rubric;
  struct clinic_kernel *k = j->k;
  struct gather_spec gather = *j->spec->gather;
  struct check_result *results = NULL;
  size_t count = rubric->checks.count;
  gather.tree = &k->tree;
  gather.effort = EFFORT_QUICK;
  gather.plain = gather.watched = gather.explore = true;
  int rc = check_bug(k->key->assignment.bug, rubric, err);
  rc = rc ? rc : evidence_gather(&gather, &k->evidence, err);
  if (rc)
    return rc;
  if (!k->evidence.built) {
    struct buf notes = BUF_INIT;
    policy_explain(&k->policy, &j->came->tree, &k->key->tree,
                   buf_str(&k->evidence.build_words), &notes);
    add_notes(j, buf_str(&notes));
    buf_release(&notes);
  }
  rubric_judge(rubric, &k->evidence, &results);
  report_tampering(j, results, count);
  k->verdicts[CLINIC_GONE] =
      judge_gone(k, results, count, &k->texts[CLINIC_GONE]);
  if (k->verdicts[CLINIC_GONE] == VERDICT_PASS)
    k->verdicts[CLINIC_UNBROKEN] =
        judge_unbroken(k, results, count, &k->texts[CLINIC_UNBROKEN]);
  check_results_release(results, count);
  return 0;
}

// --- the answer -------------------------------------------------------------

bool clinic_fits_function(const struct clinic_branch *key,
                          const struct answers *a)
{
  bool anywhere = !key->function && key->function_count == 0;
  if (!a->function)
    return false;
  for (size_t i = 0; i < key->function_count; i++)
    if (strcmp(key->functions[i], a->function) == 0)
      return true;
  return anywhere || (key->function && strcmp(key->function, a->function) == 0);
}

bool clinic_fits_line(const struct clinic_branch *key, const struct answers *a,
                      long tolerance)
{
  for (size_t i = 0; i < key->line_count && a->line > 0; i++) {
    long first = (long)key->lines[i].first, count = (long)key->lines[i].count;
    // Where lines were taken away, the mistake is between two lines.
    long last = count > 0 ? first + count - 1 : first;
    first -= count == 0;
    if (a->line >= first - tolerance && a->line <= last + tolerance)
      return true;
  }
  return false;
}

static enum verdict judge_class(const struct clinic_kernel *k, struct buf *text)
{
  const char *given = k->answers.class_id;
  if (!given)
    return fail(text, "answers.yaml names no class of its list");
  if (strcmp(given, k->key->assignment.bug->class_id) == 0)
    return VERDICT_PASS;
  buf_addf(text, "'%s' is not what is wrong here\n", given);
  return VERDICT_FAIL;
}

static enum verdict judge_place(const struct clinic_kernel *k, long tolerance,
                                struct buf *text)
{
  const struct answers *a = &k->answers;
  bool line = clinic_fits_line(k->key, a, tolerance);
  if (clinic_fits_function(k->key, a) && line)
    return VERDICT_PASS;
  if (!a->function || a->line <= 0)
    return fail(text, "answers.yaml lacks the function or the line");
  if (line)
    buf_addf(text, "the mistake is not in '%s'\n", a->function);
  else
    buf_addf(text,
             "line %ld is more than %ld lines from the mistake; lines count "
             "as the file was handed out\n",
             a->line, tolerance);
  return VERDICT_FAIL;
}

static void judge_answers(const struct judging *j)
{
  const struct course *course = j->spec->course;
  struct clinic_kernel *k = j->k;
  struct buf problems = BUF_INIT;
  const struct tree_file *f = tree_find(&j->came->tree, ANSWERS_FILE);
  const char *bytes = f ? f->content->bytes : "";
  answers_read(bytes, f ? f->content->len : 0, course->catalogue.classes,
               course->catalogue.class_count, &k->answers, &problems);
  if (f)
    add_notes(j, buf_str(&problems));
  else
    add_notes(j, ANSWERS_FILE ": not there");
  k->verdicts[CLINIC_CLASS] = judge_class(k, &k->texts[CLINIC_CLASS]);
  k->verdicts[CLINIC_PLACE] = judge_place(k, course->lab.clinic.line_tolerance,
                                          &k->texts[CLINIC_PLACE]);
  k->verdicts[CLINIC_WORDS] =
      answers_says(k->answers.explanation) && answers_says(k->answers.seen)
          ? VERDICT_PASS
          : fail(&k->texts[CLINIC_WORDS],
                 "answers.yaml lacks an explanation, or how it was seen");
  buf_release(&problems);
}

// --- all kernels ------------------------------------------------------------

static const struct submission_branch *find_branch(const struct submission *s,
                                                   size_t number)
{
  for (size_t i = 0; i < s->clinic_count; i++)
    if (s->clinic[i].number == number)
      return &s->clinic[i];
  return NULL;
}

static int judge_kernel(struct judging *j, struct error *err)
{
  struct clinic_kernel *k = j->k;
  for (int part = 0; part < CLINIC_PART_COUNT; part++)
    k->verdicts[part] = VERDICT_NOT_REACHED;
  if (!j->came) {
    for (int part = 0; part < CLINIC_PART_COUNT; part++)
      k->verdicts[part] = fail(&k->texts[part], "the branch was not handed in");
    return 0;
  }
  k->there = true;
  if (j->spec->gather->on_progress)
    j->spec->gather->on_progress(j->spec->gather->arg, k->key->name);
  judge_answers(j);
  int rc = put_together(j, err);
  if (rc == 0 && k->changed && j->spec->gather->plain)
    rc = boot_kernel(j, err);
  if (k->verdicts[CLINIC_GONE] == VERDICT_NOT_JUDGED) {
    k->verdicts[CLINIC_UNBROKEN] = VERDICT_NOT_JUDGED;
    buf_adds(&k->texts[CLINIC_UNBROKEN],
             "whether the mistake is gone was not judged\n");
  }
  if (k->verdicts[CLINIC_UNBROKEN] == VERDICT_NOT_REACHED)
    buf_adds(&k->texts[CLINIC_UNBROKEN],
             "it counts once the mistake is gone\n");
  return rc;
}

static int judge_all(const struct clinic_spec *spec, struct clinic *c,
                     struct error *err)
{
  int rc = 0;
  c->count = c->work.clinic_count;
  c->kernels = xcalloc(c->count + 1, sizeof(*c->kernels));
  for (size_t i = 0; i < c->count && rc == 0; i++) {
    struct judging j = {.spec = spec,
                        .clinic = c,
                        .k = &c->kernels[i],
                        .came = find_branch(spec->submission, i + 1)};
    j.k->key = &c->work.clinic[i];
    rc = judge_kernel(&j, err);
  }
  return rc ? rc : clinic_compare(spec, c, err);
}

int clinic_judge(const struct clinic_spec *spec, struct clinic *ret,
                 struct error *err)
{
  struct course *course = spec->course;
  struct clinic c = {0};
  struct error mine = {0};
  size_t mark = objects_mark(course->objects);
  if (course->secret.len == 0 &&
      lab_read_secret(&course->lab, &course->roster, &course->secret, &mine)) {
    buf_addf(&c.unjudged,
             "the clinic was not judged, since its kernels follow from the "
             "course secret: %s\n",
             mine.message);
    error_release(&mine);
    *ret = c;
    return 0;
  }
  int rc = student_make(course, spec->student, &c.work, err);
  objects_rollback(course->objects, mark);
  rc = rc ? rc : judge_all(spec, &c, err);
  if (rc)
    clinic_release(&c);
  else
    *ret = c;
  return rc;
}

void clinic_results(struct clinic *c, const struct rubric *rubric,
                    struct check_result *ret)
{
  size_t first = clinic_first_check(rubric);
  for (size_t i = first; i < rubric->checks.count; i++) {
    const struct check *check = LIST_AT(rubric->checks, struct check, i);
    if (c->unjudged.len > 0) {
      ret[i - first] = (struct check_result){
          .check = check, .verdict = VERDICT_NOT_JUDGED, .text = BUF_INIT};
      buf_adds(&ret[i - first].text, buf_str(&c->unjudged));
      continue;
    }
    struct clinic_kernel *k = &c->kernels[check->clinic_number - 1];
    enum verdict verdict = k->verdicts[check->clinic_part];
    ret[i - first] = (struct check_result){
        .check = check,
        .verdict = verdict,
        .marks = verdict == VERDICT_PASS ? check->marks : 0,
        .text = k->texts[check->clinic_part]};
    k->texts[check->clinic_part] = (struct buf)BUF_INIT;
  }
}

void clinic_release(struct clinic *c)
{
  for (size_t i = 0; i < c->count; i++) {
    struct clinic_kernel *k = &c->kernels[i];
    tree_release(&k->tree);
    policy_release(&k->policy);
    answers_release(&k->answers);
    evidence_release(&k->evidence);
    for (int part = 0; part < CLINIC_PART_COUNT; part++)
      buf_release(&k->texts[part]);
    free(k->hash);
  }
  free(c->kernels);
  buf_release(&c->notes);
  buf_release(&c->staff);
  buf_release(&c->unjudged);
  student_release(&c->work);
  *c = (struct clinic){0};
}
