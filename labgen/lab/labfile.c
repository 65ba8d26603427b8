// The lab file's schema, and the rules between its keys. What the files that it
// names must hold is checked where they are read.
#include "labgen/lab/labfile.h"

#include <ctype.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/file.h"
#include "labgen/lab/tree.h"

#define SECRET_MIN_BYTES 16
#define SECRET_MAX_BYTES 4096
#define DAY_SECONDS 86400

static const struct field machine_fields[] = {
    FIELD(struct lab_machine, harts, FIELD_INT, .fallback = "3", .min = 1,
          .max = 8, .doc = "harts of every boot"),
    FIELD(struct lab_machine, memory_mib, FIELD_INT, .fallback = "128",
          .min = 16, .max = 4096, .doc = "memory of every boot, in MiB"),
    FIELD_END,
};

const struct schema lab_machine_schema = {
    .name = "machine",
    .doc = "The machine that kernels run on.",
    .size = sizeof(struct lab_machine),
    .fields = machine_fields,
};

static const struct field base_fields[] = {
    FIELD(struct lab_base, folder, FIELD_FOLDER,
          .doc = "a folder with a kernel tree, such as templates/base"),
    FIELD(struct lab_base, git, FIELD_FOLDER,
          .doc = "or a git repository on this machine"),
    FIELD(struct lab_base, commit, FIELD_TEXT,
          .doc = "and a commit in it: best its full id"),
    FIELD(struct lab_base, products, FIELD_TEXTS,
          .doc = "what its Makefile makes for a boot; without it, "
                 "kernel/kernel"),
    FIELD_END,
};

static int check_base(const void *value, struct reader *r)
{
  const struct lab_base *b = value;
  if (!b->folder == !b->git)
    return reader_error(r, &b->at, "base: give either 'folder' or 'git'");
  if (!b->git != !b->commit)
    return reader_error(r, &b->at, "base: 'git' and 'commit' go together");
  return 0;
}

static const struct schema base_schema = {
    .name = "base",
    .doc = "The kernel tree that the lab starts from.",
    .size = sizeof(struct lab_base),
    .fields = base_fields,
    .check = check_base,
};

static const struct field secret_fields[] = {
    FIELD(struct lab_secret, file, FIELD_FILE, .may_be_missing = true,
          .doc = "a file that only staff can read"),
    FIELD(struct lab_secret, env, FIELD_TEXT,
          .doc = "or the name of an environment variable"),
    FIELD_END,
};

static int check_secret(const void *value, struct reader *r)
{
  const struct lab_secret *s = value;
  if (!s->file == !s->env)
    return reader_error(r, &s->at, "secret: give either 'file' or 'env'");
  return 0;
}

static const struct schema secret_schema = {
    .name = "secret",
    .doc = "The course secret, from which every student's seed is made.",
    .size = sizeof(struct lab_secret),
    .fields = secret_fields,
    .check = check_secret,
};

// What git does not take as the name of a branch, though it is an id.
static void check_branch(const struct place *at, const char *name,
                         struct reader *r)
{
  size_t len = strlen(name);
  if (strcmp(name, "HEAD") == 0 || strstr(name, "..") || name[len - 1] == '.' ||
      (len > 5 && !strcmp(name + len - 5, ".lock")))
    reader_error(r, at, "git takes no branch '%s'; give it another name", name);
}

static const struct field start_fields[] = {
    FIELD(struct lab_start, branch, FIELD_ID, .required = true,
          .doc = "the branch that students work on"),
    FIELD(struct lab_start, commit, FIELD_FOLDER, .required = true,
          .doc = "commit on top of the base (a folder with commit.yaml)"),
    FIELD(struct lab_start, corrections, FIELD_FOLDERS,
          .doc = "commits made after students have begun, in order"),
    FIELD(struct lab_start, handout, FIELD_FILE, .required = true,
          .doc = "the handout, Markdown; ${student}, ${name}, ${title}, "
                 "${branch}, ${deadline}, ${late_days}, ${late_rule} are "
                 "filled in"),
    FIELD(struct lab_start, handout_file, FIELD_TREE_PATH, .fallback = "LAB.md",
          .doc = "where the handout lies in the tree"),
    FIELD_END,
};

static int check_start(const void *value, struct reader *r)
{
  const struct lab_start *start = value;
  check_branch(&start->at, start->branch, r);
  return r->rc;
}

static const struct schema start_schema = {
    .name = "start",
    .doc = "What a student's lab repository holds.",
    .size = sizeof(struct lab_start),
    .fields = start_fields,
    .check = check_start,
};

static const struct field branch_fields[] = {
    FIELD(struct lab_branch, name, FIELD_ID, .required = true,
          .doc = "its name"),
    FIELD(struct lab_branch, commit, FIELD_FOLDER, .required = true,
          .doc = "commit on top of the reference (a folder with commit.yaml)"),
    FIELD_END,
};

static int check_further_branch(const void *value, struct reader *r)
{
  const struct lab_branch *branch = value;
  check_branch(&branch->at, branch->name, r);
  return r->rc;
}

static const struct schema branch_schema = {
    .name = "branch",
    .doc = "A further branch of the instructor's repository.",
    .size = sizeof(struct lab_branch),
    .fields = branch_fields,
    .check = check_further_branch,
};

static const struct field pick_fields[] = {
    FIELD(struct lab_pick, classes, FIELD_TEXTS,
          .doc = "classes to draw from; without it, all"),
    FIELD(struct lab_pick, difficulty, FIELD_INTS, .min = 1, .max = 3,
          .doc = "difficulties to draw from; without it, all"),
    FIELD_END,
};

static const struct schema pick_schema = {
    .name = "pick",
    .doc = "One bug of a clinic.",
    .size = sizeof(struct lab_pick),
    .fields = pick_fields,
};

#define MARKS(member, marks, what)                                     \
  FIELD(struct lab_clinic_marks, member, FIELD_INT, .fallback = marks, \
        .min = 0, .max = 1000, .doc = what)

static const struct field clinic_marks_fields[] = {
    MARKS(gone, "5",
          "the mistake is gone: its checks pass, and the explorer finds "
          "nothing of it"),
    MARKS(unbroken, "2", "and all other checks pass"),
    FIELD_KEY("class", struct lab_clinic_marks, class_id, FIELD_INT,
              .fallback = "1", .min = 0, .max = 1000,
              .doc = "answers.yaml names the class"),
    MARKS(place, "1", "and the function and the line"),
    MARKS(words, "1",
          "and says why it is wrong and how it was seen; what it says is for "
          "staff to judge"),
    FIELD_END,
};
#undef MARKS

// Tools name class and place, so these must not be worth much.
static int check_clinic_marks(const void *value, struct reader *r)
{
  const struct lab_clinic_marks *m = value;
  long named = m->class_id + m->place;
  long all = named + m->gone + m->unbroken + m->words;
  if (4 * named > all)
    return reader_error(r, &m->at,
                        "marks: 'class' and 'place' are %ld of %ld; at most a "
                        "quarter may be, since tools find them",
                        named, all);
  return 0;
}

static const struct schema clinic_marks_schema = {
    .name = "marks",
    .doc = "What each kernel of the clinic is worth.",
    .size = sizeof(struct lab_clinic_marks),
    .fields = clinic_marks_fields,
    .check = check_clinic_marks,
};

static const struct field clinic_fields[] = {
    FIELD(struct lab_clinic, bugs, FIELD_FOLDER, .required = true,
          .doc = "the catalogue: a folder of ID.yaml"),
    FIELD(struct lab_clinic, classes, FIELD_FILE, .required = true,
          .doc = "the closed list of classes"),
    FIELD(struct lab_clinic, rendering, FIELD_FILE, .required = true,
          .doc = "how the reference is rewritten for each student"),
    FIELD(struct lab_clinic, handout, FIELD_FILE, .required = true,
          .doc = "the clinic's handout, Markdown"),
    FIELD(struct lab_clinic, branch, FIELD_ID, .fallback = "clinic",
          .doc = "branches are called BRANCH-1, BRANCH-2, ..."),
    FIELD(struct lab_clinic, picks, FIELD_STRUCTS, .required = true,
          .sub = &pick_schema,
          .doc = "what each student gets: a bug for each pick, all of "
                 "different classes"),
    FIELD(
        struct lab_clinic, marks, FIELD_STRUCT, .sub = &clinic_marks_schema,
        .doc = "what each kernel is worth; class and place at most a quarter"),
    FIELD(struct lab_clinic, line_tolerance, FIELD_INT, .fallback = "3",
          .min = 0, .max = 100,
          .doc = "lines that an answer may be beside the mistake"),
    FIELD_END,
};

static const struct schema clinic_schema = {
    .name = "clinic",
    .doc = "Broken kernels for students to examine.",
    .size = sizeof(struct lab_clinic),
    .fields = clinic_fields,
};

static const struct field function_fields[] = {
    FIELD(struct lab_function, file, FIELD_TREE_PATH, .required = true,
          .doc = "path in the tree"),
    FIELD(struct lab_function, function, FIELD_TEXT, .required = true,
          .doc = "its name"),
    FIELD_END,
};

static const struct schema function_schema = {
    .name = "function",
    .doc = "A function that a submission may change.",
    .size = sizeof(struct lab_function),
    .fields = function_fields,
};

static const struct field submission_fields[] = {
    FIELD(struct lab_submission, files, FIELD_TEXTS, .required = true,
          .doc = "files that are taken whole"),
    FIELD(struct lab_submission, functions, FIELD_STRUCTS,
          .sub = &function_schema,
          .doc = "functions whose text is taken, with what only they use"),
    FIELD(struct lab_submission, prototypes, FIELD_TEXTS,
          .doc = "headers from which new prototypes are taken"),
    FIELD_END,
};

static int check_submission(const void *value, struct reader *r)
{
  const struct lab_submission *s = value;
  const struct texts lists[] = {s->files, s->prototypes};
  for (size_t i = 0; i < 2; i++)
    for (size_t k = 0; k < lists[i].count; k++)
      if (!tree_path_ok(lists[i].items[k]))
        reader_error(r, &s->at,
                     "submission: '%s' must be a relative path without '..' or "
                     "'.git'",
                     lists[i].items[k]);
  return r->rc;
}

const struct schema lab_submission_schema = {
    .name = "submission",
    .doc = "What a submission may change; all else is the course's.",
    .size = sizeof(struct lab_submission),
    .fields = submission_fields,
    .check = check_submission,
};

static const char *const too_late_names[] = {
#define ROW(number, name, words) name,
    TOO_LATES(ROW)
#undef ROW
        NULL};

static const struct field dates_fields[] = {
    FIELD(struct lab_dates, deadline, FIELD_TIME, .required = true,
          .doc = "when the lab is due"),
    FIELD(struct lab_dates, late_days, FIELD_INT, .fallback = "0", .min = 0,
          .max = 365, .doc = "days after it that still count"),
    FIELD(struct lab_dates, late_penalty, FIELD_INT, .fallback = "0", .min = 0,
          .max = 100, .doc = "percent of the marks that each late day costs"),
    FIELD(struct lab_dates, too_late, FIELD_CHOICE, .fallback = "zero",
          .choices = too_late_names,
          .doc = "what later work gets: no marks, or those of the last day"),
    FIELD(struct lab_dates, clinic_release, FIELD_TIME,
          .doc = "when clinic repositories may be written; without it, the "
                 "deadline plus the late days"),
    FIELD_END,
};

static int check_dates(const void *value, struct reader *r)
{
  const struct lab_dates *d = value;
  int64_t end = d->deadline.seconds + d->late_days * DAY_SECONDS;
  if (d->clinic_release.set && d->clinic_release.seconds < end)
    return reader_error(r, &d->at,
                        "dates: 'clinic_release' lies before the last late "
                        "day, when solutions can still be handed in");
  if (d->late_penalty && !d->late_days)
    return reader_error(r, &d->at,
                        "dates: 'late_penalty' is for late days, and "
                        "'late_days' gives none");
  if (d->late_penalty * d->late_days > 100)
    return reader_error(r, &d->at,
                        "dates: %ld percent a day would be more than all marks "
                        "before the last of %ld late days",
                        d->late_penalty, d->late_days);
  return 0;
}

static const struct schema dates_schema = {
    .name = "dates",
    .doc = "Points in time, each with its offset from UTC.",
    .size = sizeof(struct lab_dates),
    .fields = dates_fields,
    .check = check_dates,
};

static const struct field commits_fields[] = {
    FIELD(struct lab_commits, author, FIELD_TEXT, .required = true,
          .doc = "author and committer of every commit"),
    FIELD(struct lab_commits, email, FIELD_TEXT, .required = true,
          .doc = "and the e-mail address"),
    FIELD(struct lab_commits, date, FIELD_TIME, .required = true,
          .doc = "the date of every commit"),
    FIELD_END,
};

static int check_commits(const void *value, struct reader *r)
{
  const struct lab_commits *c = value;
  if (strpbrk(c->author, "<>\n") || strpbrk(c->email, "<> \n"))
    return reader_error(r, &c->at,
                        "commits: '<', '>' and line ends cannot stand in an "
                        "author, nor blanks in an e-mail address");
  return 0;
}

static const struct schema commits_schema = {
    .name = "commits",
    .doc = "What all commits carry, so that they come out the same each time.",
    .size = sizeof(struct lab_commits),
    .fields = commits_fields,
    .check = check_commits,
};

static const struct field limits_fields[] = {
    FIELD(struct lab_limits, compile_seconds, FIELD_INT, .fallback = "120",
          .min = 1, .max = 3600, .doc = "CPU seconds of one compilation"),
    FIELD(struct lab_limits, compile_memory_mib, FIELD_INT, .fallback = "1024",
          .min = 64, .max = 65536, .doc = "address space of a compiler"),
    FIELD_END,
};

static const struct schema limits_schema = {
    .name = "limits",
    .doc = "Limits on what labgen starts.",
    .size = sizeof(struct lab_limits),
    .fields = limits_fields,
};

static const struct field lab_fields[] = {
    FIELD(struct lab, id, FIELD_ID, .required = true,
          .doc = "the lab's name, part of every seed"),
    FIELD(struct lab, title, FIELD_TEXT, .required = true,
          .doc = "the lab's name for people"),
    FIELD(struct lab, machine, FIELD_STRUCT, .required = true,
          .sub = &lab_machine_schema, .doc = "the machine that kernels run on"),
    FIELD(struct lab, base, FIELD_STRUCT, .required = true, .sub = &base_schema,
          .doc = "the kernel tree that the lab starts from"),
    FIELD(struct lab, secret, FIELD_STRUCT, .required = true,
          .sub = &secret_schema, .doc = "where the course secret is"),
    FIELD(struct lab, roster, FIELD_FILE, .required = true,
          .doc = "CSV or YAML: id, name, email, section, further columns"),
    FIELD(struct lab, start, FIELD_STRUCT, .required = true,
          .sub = &start_schema, .doc = "what students begin with"),
    FIELD(struct lab, reference, FIELD_FOLDERS, .required = true,
          .doc = "the reference's commits on top of start, in order"),
    FIELD(struct lab, branches, FIELD_STRUCTS, .sub = &branch_schema,
          .doc = "further branches of the instructor's repository"),
    FIELD(struct lab, clinic, FIELD_STRUCT, .required = true,
          .sub = &clinic_schema, .doc = "broken kernels"),
    FIELD(struct lab, submission, FIELD_STRUCT, .required = true,
          .sub = &lab_submission_schema, .doc = "what a submission may change"),
    FIELD(struct lab, rubric, FIELD_FILE, .doc = "checks and marks"),
    FIELD(struct lab, dates, FIELD_STRUCT, .required = true,
          .sub = &dates_schema, .doc = "deadline and release"),
    FIELD(struct lab, commits, FIELD_STRUCT, .required = true,
          .sub = &commits_schema, .doc = "author and date of commits"),
    FIELD(struct lab, limits, FIELD_STRUCT, .sub = &limits_schema,
          .doc = "limits on what labgen starts"),
    FIELD_END,
};

static int check_lab(const void *value, struct reader *r)
{
  const struct lab *lab = value;
  for (size_t i = 0; i < lab->branches.count; i++) {
    const struct lab_branch *b = LIST_AT(lab->branches, struct lab_branch, i);
    bool taken =
        strcmp(b->name, "base") == 0 || strcmp(b->name, "start") == 0 ||
        strcmp(b->name, "reference") == 0 || strcmp(b->name, "clinic") == 0;
    for (size_t k = 0; k < i; k++)
      taken =
          taken || strcmp(LIST_AT(lab->branches, struct lab_branch, k)->name,
                          b->name) == 0;
    if (taken)
      reader_error(r, &b->at,
                   "branch '%s' is in the instructor's repository already; "
                   "give this one another name",
                   b->name);
  }
  check_branch(&lab->clinic.at, lab->clinic.branch, r);
  return r->rc;
}

const struct schema lab_schema = {
    .name = "lab file",
    .doc = "Everything about a lab.",
    .size = sizeof(struct lab),
    .fields = lab_fields,
    .check = check_lab,
};

int lab_read(const char *path, struct arena *arena, struct lab *ret,
             struct error *err)
{
  struct lab lab;
  int rc = schema_read_file(&lab_schema, path, arena, &lab, err);
  if (rc)
    return rc;
  if (!lab.dates.clinic_release.set) {
    lab.dates.clinic_release = lab.dates.deadline;
    lab.dates.clinic_release.seconds += lab.dates.late_days * DAY_SECONDS;
  }
  *ret = lab;
  return 0;
}

void lab_late_rule(const struct lab_dates *dates, struct buf *ret)
{
  static const char *const words[] = {
#define ROW(number, name, words) words,
      TOO_LATES(ROW)
#undef ROW
  };
  if (dates->late_days == 0) {
    buf_addf(ret, "What is handed in later %s.",
             dates->too_late == TOO_LATE_ZERO ? words[TOO_LATE_ZERO]
                                              : "is marked all the same");
    return;
  }
  buf_addf(ret, "Up to %ld day%s late ", dates->late_days,
           dates->late_days == 1 ? "" : "s");
  if (dates->late_penalty)
    buf_addf(ret, "costs %ld percent of the marks a day", dates->late_penalty);
  else
    buf_adds(ret, "costs nothing");
  buf_addf(ret, "; what comes after that %s.", words[dates->too_late]);
}

int lab_read_secret(const struct lab *lab, const struct roster *roster,
                    struct buf *ret, struct error *err)
{
  const struct place *at = &lab->secret.at;
  struct buf secret = BUF_INIT;
  int rc = 0;
  if (lab->secret.file && !file_exists(lab->secret.file)) {
    rc = error_at(err, LG_EINPUT, at->path, at->line, at->column,
                  "secret: no file '%s'", lab->secret.file);
  } else if (lab->secret.file) {
    rc = file_read(lab->secret.file, SECRET_MAX_BYTES, &secret, err);
  } else {
    const char *value = getenv(lab->secret.env);
    if (!value)
      rc = error_at(err, LG_EINPUT, at->path, at->line, at->column,
                    "secret: the environment variable %s is not set",
                    lab->secret.env);
    else
      buf_adds(&secret, value);
  }
  if (rc)
    goto out;
  while (secret.len && isspace((unsigned char)secret.data[secret.len - 1]))
    buf_truncate(&secret, secret.len - 1);
  if (secret.len < SECRET_MIN_BYTES) {
    rc = error_at(err, LG_EINPUT, at->path, at->line, at->column,
                  "secret: at least %d bytes are needed; make one with "
                  "'head -c 32 /dev/urandom | base64'",
                  SECRET_MIN_BYTES);
    goto out;
  }
  char hash[2 * sizeof(roster->hash) + 1];
  sodium_bin2hex(hash, sizeof(hash), roster->hash, sizeof(roster->hash));
  if (strncmp(buf_str(&secret), "demo ", 5) == 0 &&
      strcmp(buf_str(&secret) + 5, hash) != 0) {
    rc = error_at(err, LG_EINPUT, at->path, at->line, at->column,
                  "secret: the demo's secret is public and for the demo's "
                  "roster alone; make one of your own with "
                  "'head -c 32 /dev/urandom | base64 > course.secret'");
    goto out;
  }
  buf_release(ret);
  *ret = secret;
  return 0;
out:
  buf_release(&secret);
  return rc;
}
