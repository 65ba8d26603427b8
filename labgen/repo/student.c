// Makes the trees and commits of one student. All that is drawn comes from the
// student's own seed, one stream for each purpose, so nothing here depends on
// who else is in the roster.
#include "labgen/repo/student.h"

#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/lab/ctext.h"

#define HANDOUT_MAX_BYTES (1u << 20)

static void start_draws(const struct course *c, const struct student *s,
                        const char *purpose, struct draws *ret)
{
  draws_start(ret, buf_str(&c->secret), c->secret.len, c->lab.id, s->id,
              purpose);
}

// Puts a handout into a tree, the student's own words filled in.
static int add_handout(const struct course *c, const struct student *s,
                       const char *path, const char *branch, struct tree *tree,
                       struct error *err)
{
  struct buf text = BUF_INIT, filled = BUF_INIT, rule = BUF_INIT;
  char deadline[40], late_days[24];
  when_format(&c->lab.dates.deadline, deadline, sizeof(deadline));
  snprintf(late_days, sizeof(late_days), "%ld", c->lab.dates.late_days);
  lab_late_rule(&c->lab.dates, &rule);
  struct param params[] = {
      {"student", s->id},
      {"name", *s->name ? s->name : s->id},
      {"title", c->lab.title},
      {"branch", branch},
      {"deadline", deadline},
      {"late_days", late_days},
      {"late_rule", buf_str(&rule)},
  };
  struct place at = {path, 0, 0};
  int rc = file_read(path, HANDOUT_MAX_BYTES, &text, err);
  rc = rc ? rc
          : text_expand(&at, buf_str(&text), params,
                        sizeof(params) / sizeof(params[0]), &filled, err);
  rc = rc ? rc
          : tree_put(tree, c->lab.start.handout_file, buf_str(&filled),
                     filled.len, false, err);
  buf_release(&text);
  buf_release(&filled);
  buf_release(&rule);
  return rc;
}

// --- the lab ---------------------------------------------------------------

// The handout stands right above the start, so that a correction made later is
// a commit on top of what the student has.
static int make_lab(struct course *c, struct student_work *w, struct error *err)
{
  const struct student *s = w->student;
  char *message = xasprintf("Handout for %s", s->id);
  struct commit_words words = course_words(c, message);
  struct tree handout = {0};
  w->start_count = c->start;
  w->starts = xcalloc(w->start_count, sizeof(*w->starts));
  tree_copy(&w->lab_tree, &c->chain[1].tree);
  int rc = add_handout(c, s, c->lab.start.handout, c->lab.start.branch,
                       &w->lab_tree, err);
  rc = rc ? rc
          : objects_commit(c->objects, &w->lab_tree, &c->chain[1].id, &words,
                           &w->starts[0], err);
  const char *path = c->lab.start.handout_file;
  for (size_t i = 1; i < w->start_count && rc == 0; i++) {
    const struct tree_file *f = tree_find(&w->lab_tree, path);
    tree_copy(&handout, &c->chain[1 + i].tree);
    rc = tree_put(&handout, path, f->content->bytes, f->content->len, false,
                  err);
    tree_copy(&w->lab_tree, &handout);
    words = course_words(c, c->chain[1 + i].message);
    rc = rc ? rc
            : objects_commit(c->objects, &w->lab_tree, &w->starts[i - 1],
                             &words, &w->starts[i], err);
  }
  tree_release(&handout);
  free(message);
  return rc;
}

// --- the clinic ------------------------------------------------------------

static int add_answers(const struct course *c, struct tree *tree,
                       struct error *err)
{
  struct buf b = BUF_INIT;
  buf_adds(&b,
           "# What is wrong in this kernel? Fill in what follows each colon"
           " and commit.\n#\n# class is one of these:\n");
  for (size_t i = 0; i < c->catalogue.class_count; i++)
    buf_addf(&b, "#   %s: %s\n", c->catalogue.classes[i].id,
             c->catalogue.classes[i].meaning);
  buf_adds(&b,
           "class:\n"
           "# the function and the line with the mistake, as this branch"
           " was handed out\n"
           "function:\n"
           "line:\n"
           "# why it is wrong, and how you saw it; lines below are indented"
           " by two blanks\n"
           "explanation: |\n  \n"
           "seen: |\n  \n");
  int rc = tree_put(tree, ANSWERS_FILE, buf_str(&b), b.len, false, err);
  buf_release(&b);
  return rc;
}

// Lists the functions that hold lines which differ.
static void list_functions(const char *text, struct clinic_branch *b)
{
  struct ctext_items all = {0};
  struct buf code = BUF_INIT;
  ctext_blank(text, &code);
  if (ctext_split(buf_str(&code), &all, NULL) == 0) {
    const char *p = buf_str(&code);
    b->functions = xcalloc(all.count + 1, sizeof(*b->functions));
    for (size_t i = 0; i < all.count; i++) {
      p = strstr(p, all.items[i].text);
      size_t first = ctext_line(buf_str(&code), (size_t)(p - code.data));
      p += strlen(all.items[i].text);
      size_t last = ctext_line(buf_str(&code), (size_t)(p - code.data));
      bool differs = false;
      for (size_t k = 0; k < b->line_count; k++)
        differs = differs || (b->lines[k].first <= last &&
                              b->lines[k].first + b->lines[k].count >= first);
      if (differs && all.items[i].function)
        b->functions[b->function_count++] = xstrdup(all.items[i].function);
    }
  }
  ctext_items_release(&all);
  buf_release(&code);
}

// Finds out where the two trees differ: the bug's place in this student's code.
static int locate(const struct course *c, const struct tree *clean,
                  struct clinic_branch *b, struct error *err)
{
  const struct bug *bug = b->assignment.bug;
  b->file = c->rendering.file;
  for (size_t i = 0; i < bug->edits.count; i++) {
    const char *file = LIST_AT(bug->edits, struct edit, i)->file;
    if (!bug->file && strcmp(file, c->rendering.file) != 0)
      b->file = file;
  }
  if (bug->file)
    b->file = bug->file;
  const struct tree_file *old = tree_find(clean, b->file);
  const struct tree_file *new = tree_find(&b->tree, b->file);
  if (!old || !new)
    return error_at(err, LG_EINPUT, bug->at.path, bug->at.line, bug->at.column,
                    "%s: no such file in the tree", b->file);
  int rc =
      source_diff(old->content, new->content, &b->lines, &b->line_count, err);
  if (rc == 0 && b->line_count == 0)
    return error_at(err, LG_EINPUT, bug->at.path, bug->at.line, bug->at.column,
                    "the edits change nothing but comments in %s", b->file);
  if (rc == 0)
    list_functions(new->content->bytes, b);
  return rc;
}

static int make_branch(struct course *c, const struct student *s, size_t number,
                       struct clinic_branch *b, struct error *err)
{
  struct draws d;
  struct tree clean = {0};
  const struct object_id *start = &c->chain[c->start].id;
  b->name = xasprintf("%s-%zu", c->lab.clinic.branch, number);
  char *purpose = xasprintf("rendering %zu", number);
  char *message = xasprintf("Kernel %s of %s", b->name, s->id);
  struct commit_words words = course_words(c, message);
  start_draws(c, s, purpose, &d);
  tree_copy(&clean, course_reference(c));
  tree_copy(&b->tree, &clean);
  int rc = bug_apply(b->assignment.bug, b->assignment.choice, &b->tree, err);
  rc = rc ? rc
          : render_pair(&c->rendering, &d, &clean, &b->tree,
                        b->assignment.bug->function, &b->function, err);
  rc = rc ? rc : locate(c, &clean, b, err);
  rc = rc ? rc
          : add_handout(c, s, c->lab.clinic.handout, c->lab.clinic.branch,
                        &b->tree, err);
  rc = rc ? rc : add_answers(c, &b->tree, err);
  rc =
      rc ? rc
         : objects_commit(c->objects, &b->tree, start, &words, &b->commit, err);
  tree_release(&clean);
  free(purpose);
  free(message);
  return rc;
}

static void draw_bugs(const struct course *c, const struct student *s,
                      struct assignment *ret)
{
  struct draws d;
  start_draws(c, s, "bugs", &d);
  assign_bugs(&c->lab.clinic, &c->catalogue, &d, ret);
}

static int make_clinic(struct course *c, struct student_work *w,
                       struct error *err)
{
  size_t count = c->lab.clinic.picks.count;
  struct assignment *bugs = xcalloc(count + 1, sizeof(*bugs));
  int rc = 0;
  draw_bugs(c, w->student, bugs);
  w->clinic_count = count;
  w->clinic = xcalloc(count + 1, sizeof(*w->clinic));
  for (size_t i = 0; i < count && rc == 0; i++) {
    w->clinic[i].assignment = bugs[i];
    rc = make_branch(c, w->student, i + 1, &w->clinic[i], err);
  }
  free(bugs);
  return rc;
}

int student_make(struct course *course, const struct student *student,
                 struct student_work *ret, struct error *err)
{
  struct student_work w = {.student = student};
  int rc = make_lab(course, &w, err);
  rc = rc ? rc : make_clinic(course, &w, err);
  if (rc)
    student_release(&w);
  else
    *ret = w;
  return rc;
}

void student_release(struct student_work *w)
{
  for (size_t i = 0; i < w->clinic_count; i++) {
    struct clinic_branch *b = &w->clinic[i];
    tree_release(&b->tree);
    free(b->name);
    free(b->function);
    for (size_t k = 0; k < b->function_count; k++)
      free(b->functions[k]);
    free(b->functions);
    free(b->lines);
  }
  free(w->clinic);
  free(w->starts);
  tree_release(&w->lab_tree);
  *w = (struct student_work){0};
}

void student_lab_plan(const struct course *course, const struct student_work *w,
                      struct repo_plan *ret)
{
  struct repo_branch *branch = xcalloc(1, sizeof(*branch));
  branch->name = course->lab.start.branch;
  branch->commit = w->starts[w->start_count - 1];
  *ret = (struct repo_plan){branch, 1, 0, &w->lab_tree};
}

static int by_name(const void *a, const void *b)
{
  const struct repo_branch *x = a, *y = b;
  return strcmp(x->name, y->name);
}

void student_clinic_plan(const struct student_work *w, struct repo_plan *ret)
{
  struct repo_branch *branches = xcalloc(w->clinic_count, sizeof(*branches));
  *ret = (struct repo_plan){branches, w->clinic_count, 0, &w->clinic[0].tree};
  for (size_t i = 0; i < w->clinic_count; i++)
    branches[i] = (struct repo_branch){w->clinic[i].name, w->clinic[i].commit};
  qsort(branches, w->clinic_count, sizeof(*branches), by_name);
  while (strcmp(branches[ret->head].name, w->clinic[0].name) != 0)
    ret->head++;
}

bool student_same_bugs(const struct course *course, const struct student *a,
                       const struct student *b)
{
  size_t count = course->lab.clinic.picks.count, same = 0;
  struct assignment *x = xcalloc(count + 1, sizeof(*x));
  struct assignment *y = xcalloc(count + 1, sizeof(*y));
  draw_bugs(course, a, x);
  draw_bugs(course, b, y);
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < count; j++)
      same += x[i].bug == y[j].bug;
  free(x);
  free(y);
  return same == count;
}
