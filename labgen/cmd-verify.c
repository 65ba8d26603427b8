// `labgen verify`: proves the grader on this machine. How is in
// graders/verify.h; here are the options, the progress, and where the results
// go.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graders/verify.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/cmd.h"
#include "labgen/run/child.h"

extern const struct command cmd_verify;

struct arguments {
  const char *lab_file;
  const char *out;
  int boots, jobs;
  int unjudged;  // trials of a subject that may be so; -1: make them again
  enum effort effort;
  const char **only;  // owned; ends with NULL
  size_t only_count;
};

static int parse_count(const char *option, const char *text, int least,
                       int *ret)
{
  char *end;
  long value = strtol(text, &end, 10);
  if (end == text || *end || value < least || value > 1000)
    return command_misused(&cmd_verify, "%s takes a number from %d to 1000",
                           option, least);
  *ret = (int)value;
  return 0;
}

static int parse(int argc, char **argv, struct arguments *a)
{
  enum { QUICK = 256, FULL, UNJUDGED };
  static const struct option options[] = {
      {"quick", no_argument, NULL, QUICK},
      {"full", no_argument, NULL, FULL},
      {"not-judged", required_argument, NULL, UNJUDGED},
      {0},
  };
  int option, status = 0;
  opterr = 0;
  optind = 1;
  while (status == 0 &&
         (option = getopt_long(argc, argv, ":c:o:k:j:", options, NULL)) != -1) {
    switch (option) {
    case 'c':
      a->lab_file = optarg;
      break;
    case 'o':
      a->out = optarg;
      break;
    case 'k':
      status = parse_count("-k", optarg, 1, &a->boots);
      break;
    case 'j':
      status = parse_count("-j", optarg, 1, &a->jobs);
      break;
    case QUICK:
      a->boots = 1;
      break;
    case FULL:
      a->effort = EFFORT_FULL;
      break;
    case UNJUDGED:
      status = parse_count("--not-judged", optarg, 0, &a->unjudged);
      break;
    case ':':
      return command_misused(&cmd_verify, "%s needs a value", argv[optind - 1]);
    default:
      return command_misused(&cmd_verify, "unknown option %s",
                             argv[optind - 1]);
    }
  }
  while (optind < argc)
    a->only[a->only_count++] = argv[optind++];
  return status;
}

static int check_subjects(const struct subjects *s, const struct arguments *a,
                          struct error *err)
{
  const char **ids = xcalloc(s->count + 1, sizeof *ids);
  int rc = 0;
  for (size_t i = 0; i < s->count; i++)
    ids[i] = s->items[i].id;
  for (size_t i = 0; i < a->only_count; i++) {
    size_t known = 0;
    while (known < s->count && strcmp(ids[known], a->only[i]) != 0)
      known++;
    const char *near = nearest_name(a->only[i], ids, s->count);
    if (known == s->count)
      rc = error_set(err, LG_EUSAGE, "nothing to verify is called '%s'%s%s%s",
                     a->only[i], near ? " (did you mean '" : "",
                     near ? near : "", near ? "'?)" : "");
  }
  free(ids);
  return rc;
}

static void show_trial(void *arg, const char *subject, size_t done,
                       size_t total)
{
  int64_t start_ms = *(int64_t *)arg;
  fprintf(stderr, "%s%zu/%zu %s, %lld s%s",
          isatty(STDERR_FILENO) ? "\r\033[K" : "", done, total, subject,
          (long long)(clock_ms() - start_ms) / 1000,
          isatty(STDERR_FILENO) && done < total ? "" : "\n");
}

static int write_result(
    const struct verify_result *v, const char *folder, const char *name,
    void (*form)(const struct verify_result *, struct buf *), struct error *err)
{
  struct buf text = BUF_INIT;
  char *path = path_join(folder, name);
  form(v, &text);
  int rc = file_write_atomic(path, buf_str(&text), text.len, 0644, err);
  buf_release(&text);
  free(path);
  return rc;
}

// Writes and prints the results; returns the exit status.
static int show(const struct verify_result *v, const struct arguments *a,
                struct error *err)
{
  struct buf text = BUF_INIT, differences = BUF_INIT;
  size_t count = verify_differences(v, &differences);
  bool unjudged = false;
  int rc = write_result(v, a->out, "verify.txt", verify_text, err);

  rc = rc ? rc : write_result(v, a->out, "verify.html", verify_html, err);
  rc = rc ? rc : write_result(v, a->out, "verify.json", verify_json, err);
  verify_text(v, &text);
  fputs(buf_str(&text), stdout);
  if (rc == 0)
    printf("\nAlso in %s/verify.html and verify.json\n", a->out);
  buf_release(&text);
  buf_release(&differences);
  for (size_t s = 0; s < v->subjects->count; s++)
    unjudged =
        unjudged || verify_unjudged(v, s) > (a->unjudged > 0 ? a->unjudged : 0);
  if (rc != 0)
    return command_failed(err);
  return count > 0 ? 1 : unjudged ? error_exit_status(LG_EHARNESS) : 0;
}

static int run_verify(const struct arguments *a)
{
  struct course course = {0};
  struct subjects subjects = {0};
  struct rubric rubric = {0};
  struct verify_result result = {0};
  struct arena arena = {0};
  struct error err = {0};
  int64_t start_ms = clock_ms();
  const char *data;
  char *path = NULL, *cache = path_join(a->out, "cache");
  char *results = path_join(a->out, "trials");
  int rc = course_load(a->lab_file, false, &course, &err);

  rc = rc ? rc : data_dir(&data, &err);
  if (rc == 0) {
    path = course.lab.rubric ? xstrdup(course.lab.rubric)
                             : path_join(data, "graders/percpu-kalloc.yaml");
    rc = rubric_read(path, &arena, &rubric, &err);
  }
  if (rc == 0 && rubric.designs == NULL)
    rc = error_at(&err, LG_EINPUT, path, 1, 1, "no 'designs' to verify with");
  rc = rc ? rc : subjects_make(&course, &rubric, &subjects, &err);
  rc = rc ? rc : check_subjects(&subjects, a, &err);
  struct verify_spec spec = {
      .course = &course,
      .rubric = &rubric,
      .subjects = &subjects,
      .cache = cache,
      .results = results,
      .boots = a->boots,
      .jobs = a->jobs,
      .effort = a->effort,
      .keep_unjudged = a->unjudged >= 0,
      .only = a->only_count ? a->only : NULL,
      .on_trial = show_trial,
      .arg = &start_ms,
  };
  rc = rc ? rc : verify_run(&spec, &result, &err);
  int status = rc ? command_failed(&err) : show(&result, a, &err);
  verify_release(&result);
  subjects_release(&subjects);
  course_release(&course);
  arena_release(&arena);
  free(path);
  free(cache);
  free(results);
  child_raise_signal();
  return status;
}

static int verify(int argc, char **argv)
{
  struct arguments a = {.boots = 5, .jobs = 1, .unjudged = -1};
  char *lab_file = NULL;
  a.out = "build/verify";
  a.only = xcalloc((size_t)argc + 1, sizeof(*a.only));
  int status = parse(argc, argv, &a);
  if (status == 0) {
    a.lab_file = lab_file = command_lab_file(a.lab_file);
    status = run_verify(&a);
  }
  free(a.only);
  free(lab_file);
  return status;
}

const struct command cmd_verify = {
    .name = "verify",
    .summary = "Prove the checks on the reference, designs and every bug.",
    .usage = "[-c LABFILE] [-o OUT] [-k BOOTS] [-j N] [OPTION]... [SUBJECT]...",
    .help =
        "  -c LABFILE   the lab file (config.yaml)\n"
        "  -o OUT       folder for results and built kernels (build/verify)\n"
        "  -k BOOTS     grade each subject so often (5)\n"
        "  -j N         grade N at once (1)\n"
        "  --quick      once\n"
        "  --full       run the lab's test programs too (minutes a subject)\n"
        "  --not-judged N  so many trials of a subject may be not judged; "
        "else\n"
        "               they are made again, and exit status 3 says so\n"
        "  SUBJECT      only these: start, reference, ids of designs and bugs\n"
        "\n"
        "Prints which checks failed for what, what the explorer finds, how\n"
        "far counts are from their limits, and what is not as declared: a\n"
        "check, or a finding or note of the explorer. Exit status 1 if\n"
        "anything is not. Killed at any point, it goes on where it stopped.\n",
    .run = verify,
};
