// `labgen grade`: marks for a folder of submissions. How a run goes is in
// graders/run.h; here are the options, the display, and the words at the end.
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/run.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/cmd.h"
#include "labgen/run/progress.h"
#include "labgen/run/workers.h"

extern const struct command cmd_grade;

struct arguments {
  const char *lab_file;
  struct run_spec run;
  const char **students, **paths;  // owned
  struct texts only, formats;      // items owned, and what they point into
  char *only_text, *format_text;
  bool dry_run;
};

// --- arguments --------------------------------------------------------------

// Splits "a,b,c" in place of a copy.
static void split_list(const char *text, char **ret_copy, struct texts *ret)
{
  char *copy = xstrdup(text), *at = copy;
  size_t room = ret->count;
  while (*at) {
    size_t n = strcspn(at, ",");
    bool more = at[n] == ',';
    at[n] = '\0';
    GROW(ret->items, ret->count, room);
    ret->items[ret->count++] = at;
    at += n + more;
  }
  *ret_copy = copy;
}

static int parse_jobs(const char *text, int *ret)
{
  char *end;
  long value = strtol(text, &end, 10);
  if (end == text || *end || value < 1 || value > 64)
    return command_misused(&cmd_grade, "-j takes a number from 1 to 64");
  *ret = (int)value;
  return 0;
}

static int parse_effort(const char *text, enum effort *ret)
{
  static const char *const names[] = {
#define ROW(number, name, words) name,
      EFFORTS(ROW)
#undef ROW
  };
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (strcmp(names[i], text) == 0) {
      *ret = (enum effort)i;
      return 0;
    }
  }
  return command_misused(&cmd_grade, "--effort takes quick, tests or full");
}

static int check_formats(const struct texts *formats)
{
  struct buf names = BUF_INIT;
  int status = 0;
  class_format_names(&names);
  for (size_t i = 0; i < formats->count && status == 0; i++)
    if (!class_knows_format(formats->items[i]))
      status = command_misused(&cmd_grade, "--format takes %s, not '%s'",
                               buf_str(&names), formats->items[i]);
  buf_release(&names);
  return status;
}

enum { ONLY = 256, FORMAT, AGAIN, DRY_RUN, NO_SANDBOX, EFFORT, CACHE };

static int take_option(struct arguments *a, int option, const char *value,
                       const char *word)
{
  switch (option) {
  case 'c':
    a->lab_file = value;
    return 0;
  case 'o':
    a->run.results = value;
    return 0;
  case 's':
    a->students[a->run.student_count++] = value;
    return 0;
  case 'j':
    return parse_jobs(value, &a->run.jobs);
  case ONLY:
    split_list(value, &a->only_text, &a->only);
    return 0;
  case FORMAT:
    split_list(value, &a->format_text, &a->formats);
    return check_formats(&a->formats);
  case AGAIN:
    a->run.again = true;
    return 0;
  case DRY_RUN:
    a->dry_run = true;
    return 0;
  case NO_SANDBOX:
    a->run.sandbox = false;
    return 0;
  case CACHE:
    a->run.cache = value;
    return 0;
  case EFFORT:
    return parse_effort(value, &a->run.effort);
  case ':':
    return command_misused(&cmd_grade, "%s needs a value", word);
  default:
    return command_misused(&cmd_grade, "unknown option %s", word);
  }
}

static int parse(int argc, char **argv, struct arguments *a)
{
  static const struct option options[] = {
      {"only", required_argument, NULL, ONLY},
      {"format", required_argument, NULL, FORMAT},
      {"again", no_argument, NULL, AGAIN},
      {"dry-run", no_argument, NULL, DRY_RUN},
      {"no-sandbox", no_argument, NULL, NO_SANDBOX},
      {"effort", required_argument, NULL, EFFORT},
      {"cache", required_argument, NULL, CACHE},
      {0},
  };
  int option, status = 0;
  opterr = 0;
  optind = 1;
  while (status == 0 &&
         (option = getopt_long(argc, argv, ":c:o:s:j:", options, NULL)) != -1)
    status = take_option(a, option, optarg, argv[optind - 1]);
  while (status == 0 && optind < argc)
    a->paths[a->run.path_count++] = argv[optind++];
  if (status == 0 && a->run.path_count == 0)
    status = command_misused(&cmd_grade, "no submissions are named");
  return status;
}

static int check_students(const struct course *c, const struct arguments *a,
                          struct error *err)
{
  int rc = 0;
  for (size_t i = 0; i < a->run.student_count; i++) {
    int one = command_check_student(&c->roster, a->students[i], err);
    rc = rc ? rc : one;
  }
  return rc;
}

// --- only some checks -------------------------------------------------------

static bool is_partial(const struct arguments *a)
{
  return a->only.count > 0 || a->run.effort != EFFORT_FULL;
}

static size_t check_index(const struct rubric *rubric, const char *id)
{
  size_t i = 0;
  while (i < rubric->checks.count &&
         strcmp(LIST_AT(rubric->checks, struct check, i)->id, id) != 0)
    i++;
  return i;
}

// Leaves only the named checks in the rubric (none named: all that the effort
// shows), and those that they need.
static int keep_only(struct rubric *rubric, const struct texts *only,
                     enum effort effort, struct arena *arena, struct error *err)
{
  size_t count = rubric->checks.count, kept = 0;
  bool *wanted = xcalloc(count + 1, sizeof(*wanted));
  int rc = 0;
  for (size_t i = 0; i < count && only->count == 0; i++) {
    const struct check *c = LIST_AT(rubric->checks, struct check, i);
    wanted[i] = c->kind != CHECK_CONSOLE || c->effort <= (int)effort;
  }
  for (size_t i = 0; i < only->count; i++) {
    size_t at = check_index(rubric, only->items[i]);
    wanted[at] = true;
    if (at == count)
      rc = error_set(err, LG_EUSAGE,
                     "no check '%s'; 'labgen show checks' lists them",
                     only->items[i]);
  }
  // A check needs only checks before it.
  struct check *checks = arena_alloc(arena, (count + 1) * sizeof(*checks));
  for (size_t i = count; i-- > 0;) {
    const struct check *c = LIST_AT(rubric->checks, struct check, i);
    for (size_t n = 0; wanted[i] && n < c->needs.count; n++)
      wanted[check_index(rubric, c->needs.items[n])] = true;
  }
  for (size_t i = 0; i < count; i++)
    if (wanted[i])
      checks[kept++] = *LIST_AT(rubric->checks, struct check, i);
  if (rc == 0)
    rubric->checks = (struct list){checks, kept};
  free(wanted);
  return rc;
}

// --- the display ------------------------------------------------------------

struct display {
  struct progress *progress;
  size_t *items;  // the display's numbers of the run's items
};

static void show_total(void *arg, size_t total)
{
  struct display *d = arg;
  if (total == 0)
    return;
  d->items = xcalloc(total, sizeof(*d->items));
  d->progress = progress_start(stderr, total);
  fprintf(stderr,
          "labgen: %zu to grade; first the lab's start kernel is measured\n",
          total);
}

static void show_begin(void *arg, size_t item, const char *student)
{
  struct display *d = arg;
  d->items[item] = progress_begin(d->progress, student);
}

static void show_doing(void *arg, size_t item, const char *doing)
{
  struct display *d = arg;
  progress_say(d->progress, d->items[item], doing);
}

static void show_end(void *arg, size_t item, const char *student,
                     const char *outcome, bool good)
{
  struct display *d = arg;
  (void)student;
  progress_end(d->progress, d->items[item], outcome,
               good ? PROGRESS_GOOD : PROGRESS_BAD);
}

static void show_tick(void *arg)
{
  struct display *d = arg;
  if (d->progress)
    progress_tick(d->progress);
}

// --- the end ----------------------------------------------------------------

static void print_escaped(FILE *stream, const char *before, const char *text,
                          const char *behind)
{
  struct buf b = BUF_INIT;
  buf_add_terminal(&b, text, strlen(text));
  fprintf(stream, "%s%s%s", before, buf_str(&b), behind);
  buf_release(&b);
}

static size_t print_nobodys(const struct intake *in)
{
  size_t count = 0;
  for (size_t i = 0; i < in->count; i++) {
    const struct intake_entry *e = &in->entries[i];
    if (!e->problem)
      continue;
    print_escaped(stderr, "labgen: ", e->name, ": ");
    print_escaped(stderr, "", e->problem, "\n");
    count++;
  }
  return count;
}

static void print_whose(const struct arguments *a, const struct intake *in)
{
  for (size_t i = 0; i < in->count; i++) {
    const struct intake_entry *e = &in->entries[i];
    bool wanted = a->run.student_count == 0;
    for (size_t k = 0; e->student && k < a->run.student_count; k++)
      wanted = wanted || strcmp(a->students[k], e->student->id) == 0;
    if (!e->student || !wanted)
      continue;
    print_escaped(stdout, "", e->student->id, "");
    printf("\t");
    print_escaped(stdout, "", e->name, "");
    printf("%s%s\n", e->late ? "\tlate" : "",
           e->superseded ? "\tnot used: a later one is there" : "");
  }
}

static int show_result(const struct arguments *a, const struct run_result *r)
{
  const struct class_counts *n = &r->counts;
  size_t nobodys = print_nobodys(&r->intake);
  printf("%s: %zu graded now, %zu unchanged\n", a->run.results, r->graded,
         r->unchanged);
  printf(
      "%zu judged, %zu of them with full marks; %zu refused, %zu not judged, "
      "%zu handed in nothing, %zu entries are nobody's\n",
      n->judged, n->full, n->refused, n->not_judged, n->missing, nobodys);
  if (r->kept)
    printf("%zu could not be judged now; their earlier results were kept\n",
           r->kept);
  printf("Look at %s/report.html\n", a->run.results);
  if (r->not_judged)
    return error_exit_status(LG_EHARNESS);
  return r->lost || r->refused || nobodys ? 1 : 0;
}

static int run_dry(const struct arguments *a, struct error *err)
{
  struct run_result result = {0};
  char *scratch = NULL;
  size_t nobodys = 0;
  int rc = file_make_temp_dir(NULL, "labgen-grade-", &scratch, err);
  rc = rc ? rc : run_look(&a->run, scratch, &result, err);
  if (rc == 0) {
    print_whose(a, &result.intake);
    nobodys = print_nobodys(&result.intake);
  }
  if (scratch)
    file_remove_tree(scratch, NULL);
  free(scratch);
  run_release(&result);
  return rc ? command_failed(err) : nobodys ? 1 : 0;
}

static int run_for_real(struct arguments *a, struct error *err)
{
  struct run_result result = {0};
  struct display display = {0};
  char *only = is_partial(a) ? path_join(a->run.results, "only") : NULL;
  a->run.on_total = show_total;
  a->run.on_begin = show_begin;
  a->run.on_doing = show_doing;
  a->run.on_end = show_end;
  a->run.on_tick = show_tick;
  a->run.arg = &display;
  a->run.formats = a->formats;
  // Results of some checks alone must not take the place of whole ones.
  if (only)
    a->run.results = only;
  int rc = run_grade(&a->run, &result, err);
  progress_finish(display.progress);
  free(display.items);
  int status = rc ? command_failed(err) : show_result(a, &result);
  run_release(&result);
  free(only);
  return status;
}

static int run(struct arguments *a)
{
  struct course course = {0};
  struct rubric rubric = {0}, whole = {0};
  struct arena arena = {0};
  struct error err = {0};
  const char *data;
  char *path = NULL;
  int rc = course_load(a->lab_file, false, &course, &err);
  rc = rc ? rc : check_students(&course, a, &err);
  rc = rc ? rc : data_dir(&data, &err);
  if (rc == 0) {
    path = course.lab.rubric ? xstrdup(course.lab.rubric)
                             : path_join(data, "graders/percpu-kalloc.yaml");
    rc = rubric_read(path, &arena, &rubric, &err);
  }
  whole = rubric;
  if (rc == 0)
    clinic_add_checks(&course.lab, &rubric, &arena);
  if (rc == 0 && is_partial(a))
    rc = keep_only(&rubric, &a->only, a->run.effort, &arena, &err);
  a->run.course = &course;
  a->run.rubric = &rubric;
  a->run.whole = &whole;
  a->run.students = a->students;
  a->run.paths = a->paths;
  int status = rc           ? command_failed(&err)
               : a->dry_run ? run_dry(a, &err)
                            : run_for_real(a, &err);
  course_release(&course);
  arena_release(&arena);
  free(path);
  workers_raise_signal();
  return status;
}

// As many as there are cores to run on: two boots on two cores were measured to
// disturb each other's counts no more than one alone is.
static int default_jobs(void)
{
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
  return count > 16 ? 16 : count;
}

static int grade(int argc, char **argv)
{
  struct arguments a = {0};
  char *lab_file = NULL;
  a.run.results = "results";
  a.run.jobs = default_jobs();
  a.run.effort = EFFORT_FULL;
  a.run.sandbox = true;
  a.students = xcalloc((size_t)argc + 1, sizeof(*a.students));
  a.paths = xcalloc((size_t)argc + 1, sizeof(*a.paths));
  int status = parse(argc, argv, &a);
  if (status == 0) {
    a.lab_file = lab_file = command_lab_file(a.lab_file);
    status = run(&a);
  }
  free(a.students);
  free(a.paths);
  free(a.only.items);
  free(a.only_text);
  free(a.formats.items);
  free(a.format_text);
  free(lab_file);
  return status;
}

const struct command cmd_grade = {
    .name = "grade",
    .summary = "Grade submissions: marks, evidence and feedback for each.",
    .usage = "[-c LABFILE] [-o RESULTS] [-s STUDENT]... [OPTION]... PATH...",
    .help =
        "  PATH            a folder or archive of submissions, or one of "
        "them:\n"
        "                  folder, git repository, .tar[.gz|.xz|.zst], .zip,\n"
        "                  named by student or as Canvas, Moodle, Gradescope "
        "do\n"
        "  -c LABFILE      the lab file (config.yaml)\n"
        "  -o RESULTS      the folder for results (results)\n"
        "  -s STUDENT      this student alone; may be given again\n"
        "  -j N            grade N at once (as many as cores)\n"
        "  --only CHECKS   these checks alone, into RESULTS/only\n"
        "  --format LIST   these reports alone: csv, canvas, moodle, junit,\n"
        "                  html, feedback, gradescope (all)\n"
        "  --effort HOW    quick: to the shell; tests: the lab's tests; full:\n"
        "                  usertests too (full). Less than full leaves out "
        "the\n"
        "                  checks that need more, and goes into RESULTS/only\n"
        "  --cache FOLDER  where built kernels are kept (RESULTS/.cache)\n"
        "  --again         also what is unchanged since it was graded\n"
        "  --dry-run       show which file belongs to whom\n"
        "  --no-sandbox    compile and run students' code without bubblewrap\n"
        "\n"
        "RESULTS/overrides.yaml, a list of {student, check, marks, reason},\n"
        "holds staff's decisions. Killed at any point, a run goes on where it\n"
        "stopped. Exit status: 0 all have full marks, 1 somebody lost marks "
        "or\n"
        "an entry is nobody's, 2 usage or lab file, 3 something not judged.\n",
    .run = grade,
};
