// Brings together a student's working tree, the lab that students have, and the
// check runner. Nothing is judged here, and there is no sandbox: the code is the
// student's own.

#include "graders/pregrade.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "graders/answers.h"
#include "graders/splice.h"
#include "graders/stock.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/repo/student.h"
#include "labgen/run/child.h"

enum { MAX_FILE_BYTES = 16 << 20, KEPT_S = 3600, ASK_MS = 10000 };

// What the clinic's branches are judged on: what the programs show, since what
// the watchers and the explorer find is the answer that is asked for.
static bool is_for_clinic(int kind)
{
  return kind == CHECK_BUILD || kind == CHECK_BOOT || kind == CHECK_CONSOLE;
}

// ---- the student's tree ------------------------------------------------------------

// Puts DIR/name into the tree. *ret_there: whether it is there.
static int read_one(const char *dir, const char *name, struct tree *tree,
                    bool *ret_there, struct error *err)
{
  struct buf bytes = BUF_INIT;
  char *path = path_join(dir, name);
  int rc = 0;

  *ret_there = file_exists(path);
  if (*ret_there)
    rc = file_read(path, MAX_FILE_BYTES, &bytes, err);
  if (rc == 0 && *ret_there)
    rc = tree_put(tree, name, buf_str(&bytes), bytes.len, false, err);
  buf_release(&bytes);
  free(path);
  return rc;
}

int pregrade_read(const struct public_lab *lab, const char *dir,
                  struct tree *ret, struct buf *ret_notes, struct error *err)
{
  const struct texts *files = &lab->facts.submission.files;
  struct tree tree = {0};
  bool there;
  int rc = 0;

  for (size_t i = 0; rc == 0 && i < lab->start.count; i++) {
    const char *name = lab->start.files[i].path;
    rc = read_one(dir, name, &tree, &there, err);
    if (rc == 0 && !there)
      buf_addf(ret_notes, "%s: missing here; the course's is used\n", name);
  }
  for (size_t i = 0; rc == 0 && i < files->count; i++)
    rc = read_one(dir, files->items[i], &tree, &there, err);
  if (rc != 0) {
    tree_release(&tree);
    return rc;
  }
  tree_release(ret);
  *ret = tree;
  return 0;
}

// A line without the white space at its ends.
static const char *trim(const char *line, size_t *len)
{
  while (*len > 0 && strchr(" \t\r", *line)) {
    line++;
    --*len;
  }
  while (*len > 0 && strchr(" \t\r", line[*len - 1]))
    --*len;
  return line;
}

static bool has_line(const char *in, const char *line, size_t len)
{
  for (const char *at = in; *at != '\0';) {
    size_t other = strcspn(at, "\n"), trimmed = other;
    const char *text = trim(at, &trimmed);
    if (trimmed == len && memcmp(text, line, len) == 0)
      return true;
    at += other + (at[other] == '\n');
  }
  return false;
}

// The number of the first line of `a` that is nowhere in `b`; 0: there is none.
// Where a line stands does not matter, since splicing moves some.
static size_t line_not_in(const struct content *a, const struct content *b)
{
  size_t number = 1;

  for (const char *at = a->bytes; *at != '\0'; number++) {
    size_t whole = strcspn(at, "\n"), len = whole;
    const char *text = trim(at, &len);
    if (len > 0 && !has_line(b->bytes, text, len))
      return number;
    at += whole + (at[whole] == '\n');
  }
  return 0;
}

static bool same_content(const struct content *a, const struct content *b)
{
  return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

// Says which changes of the student's are left out of the tree that is judged.
static void note_unused(const struct tree *start, const struct tree *student,
                        const struct tree *judged, struct buf *notes)
{
  for (size_t i = 0; i < student->count; i++) {
    const struct tree_file *mine = &student->files[i];
    const struct tree_file *used = tree_find(judged, mine->path);
    const struct tree_file *theirs = tree_find(start, mine->path);
    if (used == NULL || same_content(mine->content, used->content))
      continue;
    size_t line = line_not_in(mine->content, used->content);
    if (line > 0)
      buf_addf(notes,
               "%s:%zu: this may not be handed in, and is not used; the "
               "course's own is\n",
               mine->path, line);
    else if (theirs != NULL && same_content(used->content, theirs->content) &&
             line_not_in(used->content, mine->content) > 0)
      buf_addf(notes,
               "%s: lines of the course's are missing here; they are there "
               "when your work is judged\n",
               mine->path);
  }
}

// Whether the folder is a branch of the clinic.
static bool is_clinic(const char *dir)
{
  char *path = path_join(dir, ANSWERS_FILE);
  bool there = file_exists(path);

  free(path);
  return there;
}

// Says what of answers.yaml could not be read when it is handed in. Students do
// not have the list of classes as data, so any name passes for one here.
static void note_answers(const char *dir, struct buf *notes)
{
  char *path = path_join(dir, ANSWERS_FILE);
  struct answers answers = {0};
  struct buf bytes = BUF_INIT;
  struct error err = {0};

  if (file_read(path, MAX_FILE_BYTES, &bytes, &err) == 0)
    answers_read(buf_str(&bytes), bytes.len, NULL, 0, &answers, notes);
  else
    buf_addf(notes, "%s\n", err.message);
  answers_release(&answers);
  error_release(&err);
  buf_release(&bytes);
  free(path);
}

// The tree that is judged.
static int make_tree(const struct pregrade_spec *spec, bool clinic,
                     struct tree *ret, struct buf *notes, struct error *err)
{
  struct tree student = {0};
  int rc = pregrade_read(spec->lab, spec->dir, &student, notes, err);

  rc = rc ? rc
          : splice(&spec->lab->start, &student, &spec->lab->facts.submission,
                   ret, notes, err);
  // The clinic's kernels are not the student's work.
  if (rc == 0 && !clinic)
    note_unused(&spec->lab->start, &student, ret, notes);
  tree_release(&student);
  return rc;
}

// ---- the cache ---------------------------------------------------------------------

static char *cache_folder(void)
{
  const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  const char *tmp = getenv("TMPDIR");

  if (xdg && *xdg)
    return path_join(xdg, "labgen");
  if (home && *home)
    return path_join(home, ".cache/labgen");
  return xasprintf("%s/labgen-%u", tmp && *tmp ? tmp : "/tmp",
                   (unsigned)getuid());
}

// Removes kernels that nobody has used for an hour: each state of a student's
// file makes two. Compiled courses stay.
static void tidy(const char *cache)
{
  DIR *dir = opendir(cache);
  struct dirent *entry;
  struct stat st;

  while (dir != NULL && (entry = readdir(dir)) != NULL) {
    if (strncmp(entry->d_name, "kernel-", 7) != 0 &&
        strncmp(entry->d_name, "new-", 4) != 0)
      continue;
    char *path = path_join(cache, entry->d_name);
    if (stat(path, &st) == 0 && time(NULL) - st.st_mtime > KEPT_S)
      file_remove_tree(path, NULL);
    free(path);
  }
  if (dir != NULL)
    closedir(dir);
}

int pregrade_stock(const struct public_lab *lab, struct stock *ret,
                   struct error *err)
{
  struct error words = {0};
  char *cache = cache_folder();
  int rc = stock_open(cache, &lab->start, false, ret, &words);

  if (rc == LG_EBUILD)
    rc = error_set(err, LG_EHARNESS,
                   "the course's own kernel does not compile on this machine; "
                   "'labgen doctor' says what is missing\n%s",
                   words.message);
  else if (rc != 0)
    rc = error_set(err, rc, "%s", words.message ? words.message : "");
  else
    tidy(cache);
  error_release(&words);
  free(cache);
  return rc;
}

// ---- all of it ---------------------------------------------------------------------

// The explorer compiles for this machine. Without a compiler everything else is
// judged all the same.
static bool can_explore(void)
{
  static const char *const ask[] = {"gcc", "--version", NULL};
  struct child_spec spec = {.argv = ask, .deadline_ms = clock_ms() + ASK_MS};
  struct child_result result = {0};
  bool can = child_run(&spec, &result, NULL) == 0 &&
             result.end == CHILD_EXITED && result.status == 0;

  child_result_release(&result);
  return can;
}

// The watchers know the function; the line is where it begins.
static void find_lines(const struct tree *tree, struct evidence *e)
{
  const struct tree_file *file = tree_find(tree, STUDENT_FILE);
  size_t start, end;

  for (size_t i = 0; file != NULL && i < e->finding_count; i++) {
    struct found *f = &e->findings[i];
    if (f->line > 0 || f->function == NULL ||
        !splice_find_function(file->content->bytes, f->function, &start, &end))
      continue;
    f->line = 1;
    for (size_t at = 0; at < start; at++)
      f->line += file->content->bytes[at] == '\n';
  }
}

// A tree that is being judged.
struct judging {
  const struct pregrade_spec *spec;
  bool clinic;
  char **told;  // by check: the text that was told with it, owned; or NULL
  bool told_explorer;
};

// Judges all checks, and keeps those that are judged on such a branch: the
// number of them is returned.
static size_t judge(const struct judging *j, const struct evidence *e,
                    struct check_result **ret)
{
  const struct rubric *rubric = &j->spec->lab->facts.rubric;
  struct check_result *all;
  size_t count = 0;

  rubric_judge(rubric, e, &all);
  for (size_t i = 0; i < rubric->checks.count; i++) {
    if (j->clinic && !is_for_clinic(all[i].check->kind))
      buf_release(&all[i].text);
    else
      all[count++] = all[i];
  }
  *ret = all;
  return count;
}

// More evidence takes no pass and no failure away, since a check that waits for
// some is not judged.
static void tell_checks(struct judging *j, const struct check_result *results,
                        size_t count, bool final)
{
  for (size_t i = 0; i < count && j->spec->on_check != NULL; i++) {
    enum verdict v = results[i].verdict;
    if (j->told[i] || !(final || v == VERDICT_PASS || v == VERDICT_FAIL))
      continue;
    j->told[i] = xstrdup(buf_str(&results[i].text));
    j->spec->on_check(j->spec->arg, &results[i], j->clinic);
  }
}

// Whether a line was told, were it with another number of times at its end.
static bool was_told(const char *told, const char *line, size_t len)
{
  static const char times[] = " times)";
  size_t end = sizeof times - 1;

  if (len > end && memcmp(line + len - end, times, end) == 0)
    while (len > 0 && line[--len] != '(')
      ;
  return memmem(told, strlen(told), line, len) != NULL;
}

static void tell_more(struct judging *j, const struct check_result *results,
                      size_t count)
{
  for (size_t i = 0; i < count && j->spec->on_check != NULL; i++) {
    struct buf more = BUF_INIT;
    for (const char *at = buf_str(&results[i].text); *at != '\0';) {
      size_t len = strcspn(at, "\n");
      if (!was_told(j->told[i], at, len)) {
        buf_add(&more, at, len);
        buf_addc(&more, '\n');
      }
      at += len + (at[len] == '\n');
    }
    if (more.len > 0)
      j->spec->on_more(j->spec->arg, &results[i], buf_str(&more));
    buf_release(&more);
  }
}

static void on_evidence(void *arg, const struct evidence *so_far)
{
  struct judging *j = arg;
  struct check_result *results;
  size_t count = judge(j, so_far, &results);

  if (so_far->explore_words.len > 0 && !j->told_explorer) {
    j->told_explorer = true;
    j->spec->on_explored(j->spec->arg, buf_str(&so_far->explore_words));
  }
  tell_checks(j, results, count, false);
  check_results_release(results, count);
}

static void on_progress(void *arg, const char *doing)
{
  const struct judging *j = arg;

  j->spec->on_progress(j->spec->arg, doing);
}

int pregrade(const struct pregrade_spec *spec, struct pregrade_result *ret,
             struct error *err)
{
  struct pregrade_result r = {.clinic = is_clinic(spec->dir)};
  struct stock stock = {0};
  struct tree tree = {0};
  struct judging judging = {
      .spec = spec,
      .clinic = r.clinic,
      .told = xcalloc(spec->lab->facts.rubric.checks.count + 1, sizeof(char *)),
  };
  int rc = make_tree(spec, r.clinic, &tree, &r.notes, err);
  if (r.clinic)
    note_answers(spec->dir, &r.notes);

  if (rc == 0) {
    spec->on_progress(spec->arg, "compiles the course's kernel, once");
    rc = pregrade_stock(spec->lab, &stock, err);
  }
  if (rc == 0) {
    struct gather_spec gather = {
        .stock = &stock,
        .tree = &tree,
        .rules = &spec->lab->facts.rubric.object,
        .programs = &spec->lab->facts.rubric.programs,
        .harts = (unsigned)spec->lab->facts.machine.harts,
        .memory_mib = (unsigned)spec->lab->facts.machine.memory_mib,
        .effort = spec->effort,
        .plain = true,
        .watched = !r.clinic,
        .explore = !r.clinic && can_explore(),
        .on_progress = on_progress,
        .on_evidence = on_evidence,
        .arg = &judging,
    };
    rc = evidence_gather(&gather, &r.evidence, err);
  }
  if (rc == 0) {
    find_lines(&tree, &r.evidence);
    r.count = judge(&judging, &r.evidence, &r.results);
    tell_checks(&judging, r.results, r.count, true);
    tell_more(&judging, r.results, r.count);
  }
  for (size_t i = 0; i < spec->lab->facts.rubric.checks.count; i++)
    free(judging.told[i]);
  free(judging.told);
  stock_close(&stock);
  tree_release(&tree);
  if (rc != 0)
    pregrade_release(&r);
  else
    *ret = r;
  return rc;
}

void pregrade_release(struct pregrade_result *r)
{
  check_results_release(r->results, r->count);
  evidence_release(&r->evidence);
  buf_release(&r->notes);
  *r = (struct pregrade_result){0};
}
