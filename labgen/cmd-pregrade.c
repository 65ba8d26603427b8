// `labgen pregrade`: a student's own tree, held to the visible checks. How is in
// graders/pregrade.h; here are the options, the progress and the report.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graders/ci.h"
#include "graders/lockrun.h"
#include "graders/pregrade.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/cmd.h"
#include "labgen/run/child.h"
#include "labgen/run/progress.h"

extern const struct command cmd_pregrade;

#define CI_FOLDER "labgen-results"

struct arguments {
  const char *lab_file, *dir;
  enum effort effort;
  bool locks, ci;
};

static int parse(int argc, char **argv, struct arguments *a)
{
  enum { QUICK = 256, FULL, LOCKS, CI };
  static const struct option options[] = {
      {"quick", no_argument, NULL, QUICK},
      {"full", no_argument, NULL, FULL},
      {"locks", no_argument, NULL, LOCKS},
      {"ci", no_argument, NULL, CI},
      {0},
  };
  int option;
  opterr = 0;
  optind = 1;
  while ((option = getopt_long(argc, argv, ":c:", options, NULL)) != -1) {
    switch (option) {
    case 'c':
      a->lab_file = optarg;
      break;
    case QUICK:
      a->effort = EFFORT_QUICK;
      break;
    case FULL:
      a->effort = EFFORT_FULL;
      break;
    case LOCKS:
      a->locks = true;
      break;
    case CI:
      a->ci = true;
      break;
    case ':':
      return command_misused(&cmd_pregrade, "%s needs a value",
                             argv[optind - 1]);
    default:
      return command_misused(&cmd_pregrade, "unknown option %s",
                             argv[optind - 1]);
    }
  }
  if (argc - optind > 1)
    return command_misused(&cmd_pregrade, "one folder at a time");
  if (optind < argc)
    a->dir = argv[optind];
  return 0;
}

// ---- progress ------------------------------------------------------------------

// One item on a terminal; elsewhere, a line for each thing that is begun.
struct telling {
  struct progress *progress;
  size_t item;
  bool live;
  char *last;  // owned
  enum effort effort;
  bool begun;  // the report
};

static void tell(void *arg, const char *doing)
{
  struct telling *t = arg;
  if (t->last == NULL || strcmp(t->last, doing) != 0) {
    free(t->last);
    t->last = xstrdup(doing);
    progress_say(t->progress, t->item, doing);
    if (!t->live)
      fprintf(stderr, "labgen: %s\n", doing);
  }
  progress_tick(t->progress);
}

static void start_telling(struct telling *t, const char *name)
{
  const char *term = getenv("TERM");
  t->progress = progress_start(stderr, 1);
  t->item = progress_begin(t->progress, name);
  t->live = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

static void end_telling(struct telling *t)
{
  progress_finish(t->progress);
  free(t->last);
}

// ---- the report ------------------------------------------------------------------

enum tone { TONE_GOOD, TONE_BAD, TONE_DIM, TONE_COUNT };

static bool has_colours(void)
{
  const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
  return isatty(STDOUT_FILENO) && !(no && *no) && term &&
         strcmp(term, "dumb") != 0;
}

static void print_word(const char *word, int width, enum tone tone)
{
  static const char *const codes[] = {"\x1b[32m", "\x1b[1;31m", "\x1b[33m"};
  if (has_colours())
    printf("%s%-*s\x1b[0m", codes[tone], width, word);
  else
    printf("%-*s", width, word);
}

static void print_lines(const char *before, const char *text)
{
  while (*text) {
    size_t len = strcspn(text, "\n");
    struct buf line = BUF_INIT;
    buf_add_terminal(&line, text, len);
    printf("%s%s\n", before, buf_str(&line));
    buf_release(&line);
    text += len + (text[len] == '\n');
  }
}

// Whether a check was left out because its programs were not run.
static bool is_left_out(const struct check_result *r, enum effort effort)
{
  return r->check->kind == CHECK_CONSOLE && r->check->effort > (int)effort;
}

static void print_check(const struct check_result *r, bool clinic)
{
  static const enum tone tones[] = {
      [VERDICT_PASS] = TONE_GOOD,
      [VERDICT_FAIL] = TONE_BAD,
      [VERDICT_NOT_REACHED] = TONE_DIM,
      [VERDICT_NOT_JUDGED] = TONE_DIM,
  };
  const struct check *c = r->check;
  print_word(verdict_words(r->verdict), 12, tones[r->verdict]);
  if (!clinic)
    printf("%3ld/%-3ld ", r->marks, c->marks);
  printf("%-22s %s\n", c->id, c->title);
  print_lines("      ", buf_str(&r->text));
  if (r->verdict != VERDICT_FAIL)
    return;
  if (!clinic)
    print_lines("    where to look: ", c->hint);
  if (c->see)
    print_lines("    see it: ", c->see);
}

static void print_summary(const struct pregrade_result *r,
                          const struct arguments *a)
{
  long marks = 0, most = 0, left_out = 0;
  struct buf names = BUF_INIT;
  for (size_t i = 0; i < r->count; i++) {
    const struct check_result *c = &r->results[i];
    if (is_left_out(c, a->effort)) {
      left_out += c->check->marks;
      buf_addf(&names, "%s%s", names.len ? ", " : "", c->check->id);
      continue;
    }
    marks += c->marks;
    most += c->check->marks;
  }
  if (!r->clinic)
    printf("\nMarks for these checks: %ld of %ld\n", marks, most);
  if (names.len > 0 && r->clinic)
    printf("\nNot run: %s; 'labgen pregrade --full' does\n", buf_str(&names));
  else if (names.len > 0)
    printf("Not run: %s (%ld marks); 'labgen pregrade --full' does\n",
           buf_str(&names), left_out);
  buf_release(&names);
}

static void tell_explored(void *arg, const char *words)
{
  struct telling *t = arg;
  progress_hide(t->progress);
  print_lines("Explorer: ", words);
  fflush(stdout);
}

// Prints a check while others are still being looked at.
static void tell_check(void *arg, const struct check_result *r, bool clinic)
{
  struct telling *t = arg;
  if (is_left_out(r, t->effort))
    return;
  progress_hide(t->progress);
  if (clinic && !t->begun)
    puts("A kernel of the clinic: built, and the test programs run.\n");
  t->begun = true;
  print_check(r, clinic);
  fflush(stdout);
}

static void tell_more(void *arg, const struct check_result *r,
                      const char *lines)
{
  struct telling *t = arg;
  if (is_left_out(r, t->effort))
    return;
  progress_hide(t->progress);
  printf("more on %s:\n", r->check->id);
  print_lines("      ", lines);
}

// ---- for services ----------------------------------------------------------------

static int write_file(const char *folder, const char *name,
                      const struct buf *text, struct error *err)
{
  char *path = path_join(folder, name);
  int rc = file_write_atomic(path, buf_str(text), text->len, 0644, err);
  free(path);
  return rc;
}

// GitHub reads annotations from the log, GitLab from files.
static int write_ci(const struct public_lab *lab,
                    const struct pregrade_result *r, const char *dir,
                    struct error *err)
{
  struct ci_results results = {.suite = lab->facts.id,
                               .file = STUDENT_FILE,
                               .evidence = &r->evidence,
                               .results = r->results,
                               .count = r->count};
  struct buf junit = BUF_INIT, gitlab = BUF_INIT, github = BUF_INIT;
  const char *actions = getenv("GITHUB_ACTIONS");
  char *folder = path_join(dir, CI_FOLDER);
  int rc = file_mkdirs(folder, err);

  ci_junit(&results, &junit);
  ci_gitlab(&results, &gitlab);
  rc = rc ? rc : write_file(folder, "junit.xml", &junit, err);
  rc = rc ? rc : write_file(folder, "code-quality.json", &gitlab, err);
  if (actions && strcmp(actions, "true") == 0) {
    ci_github(&results, &github);
    fputs(buf_str(&github), stdout);
  }
  buf_release(&junit);
  buf_release(&gitlab);
  buf_release(&github);
  free(folder);
  return rc;
}

// ---- the command -----------------------------------------------------------------

static int status_of(const struct pregrade_result *r, enum effort effort)
{
  int status = 0;
  for (size_t i = 0; i < r->count; i++) {
    if (r->results[i].verdict == VERDICT_FAIL)
      return error_exit_status(LG_EREFUSED);
    if (is_left_out(&r->results[i], effort))
      continue;
    if (r->results[i].verdict != VERDICT_PASS)
      status = error_exit_status(LG_EHARNESS);
  }
  return status;
}

static int run_checks(const struct public_lab *lab, const struct arguments *a,
                      int *ret_status, struct error *err)
{
  struct telling t = {.effort = a->effort};
  struct pregrade_result r = {0};
  start_telling(&t, lab->facts.title);
  struct pregrade_spec spec = {.lab = lab,
                               .dir = a->dir,
                               .effort = a->effort,
                               .on_progress = tell,
                               .on_explored = tell_explored,
                               .on_check = tell_check,
                               .on_more = tell_more,
                               .arg = &t};
  int rc = pregrade(&spec, &r, err);
  end_telling(&t);
  if (rc == 0) {
    print_summary(&r, a);
    print_lines("Note: ", buf_str(&r.notes));
    *ret_status = status_of(&r, a->effort);
  }
  if (rc == 0 && a->ci)
    rc = write_ci(lab, &r, a->dir, err);
  pregrade_release(&r);
  return rc;
}

static int show_locks(const struct public_lab *lab, const struct arguments *a,
                      struct error *err)
{
  struct telling t = {0};
  struct buf text = BUF_INIT;
  start_telling(&t, lab->facts.title);
  int rc = lockrun_compare(lab, a->dir, tell, &t, &text, err);
  end_telling(&t);
  if (rc == 0)
    print_lines("", buf_str(&text));
  buf_release(&text);
  return rc;
}

static int run(int argc, char **argv)
{
  struct arguments a = {.dir = ".", .effort = EFFORT_TESTS};
  struct public_lab lab = {0};
  struct error err = {0};
  int status = parse(argc, argv, &a);
  if (status)
    return status;
  char *inside = path_join(a.dir, ".");  // which no file has
  int rc = file_exists(inside)
               ? public_find(a.lab_file, &lab, &err)
               : error_set(&err, LG_ENOTFOUND, "%s: no such folder", a.dir);
  if (rc == 0)
    rc = a.locks ? show_locks(&lab, &a, &err)
                 : run_checks(&lab, &a, &status, &err);
  free(inside);
  public_release(&lab);
  if (rc)
    status = command_failed(&err);
  child_raise_signal();
  return status;
}

const struct command cmd_pregrade = {
    .name = "pregrade",
    .summary = "Hold your own tree to the visible checks.",
    .usage = "[OPTION]... [DIR]",
    .help =
        "Compiles DIR's files of the lab into the course's kernel, explores\n"
        "and boots it, and says for each check what was seen. DIR is the\n"
        "current folder.\n"
        "\n"
        "  --quick      without the test programs\n"
        "  --full       with usertests, and kalloctest after it\n"
        "  --locks      instead, how often each hart took each list's lock in\n"
        "               kchurn, beside the kernel that the lab started from\n"
        "  --ci         also DIR/" CI_FOLDER
        "/junit.xml and code-quality.json\n"
        "               (GitLab), and annotations on GitHub Actions\n"
        "  -c LABFILE   another lab, for staff\n"
        "\n"
        "Exit status: 0 all passed; 1 a check failed; 2 usage; 3 something\n"
        "could not be judged here: see 'labgen doctor', and run it again.\n",
    .run = run,
};
