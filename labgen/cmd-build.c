// `labgen build`: the output folder from a lab file. What is in it, and how it
// is made, is in labgen/repo/build.h; here are the options, the progress and
// the words at the end.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/base/file.h"
#include "labgen/cmd.h"
#include "labgen/repo/build.h"
#include "labgen/run/progress.h"

enum stage { STAGE_LAB, STAGE_CLINIC, STAGE_ALL };
static const char *const stage_names[] = {"lab", "clinic", "all"};

struct arguments {
  const char *lab_file;  // owned
  const char **students;
  size_t student_count;
  enum stage stage;
  bool release_now;
  struct build_options build;
};

// --- progress --------------------------------------------------------------

static void show_progress(void *arg, const struct build_counts *c)
{
  struct buf b = BUF_INIT;
  buf_addf(&b, "trees %zu/%zu", c->trees, c->trees_total);
  if (c->kernels_total)
    buf_addf(&b, ", kernels %zu/%zu", c->kernels, c->kernels_total);
  // A kernel takes far longer than a tree, so it sets the pace if there is one.
  progress_count(arg, buf_str(&b), c->kernels_total ? c->kernels : c->trees,
                 c->kernels_total ? c->kernels_total : c->trees_total);
  buf_release(&b);
}

static void print_indented(const char *words)
{
  while (*words) {
    size_t len = strcspn(words, "\n");
    struct buf line = BUF_INIT;
    buf_add_terminal(&line, words, len);
    fprintf(stderr, "  %s\n", buf_str(&line));
    buf_release(&line);
    words += len + (words[len] == '\n');
  }
}

static void show_failed(void *arg, const char *label, const char *words)
{
  progress_hide(arg);
  fprintf(stderr, "labgen: %s: the kernel does not compile:\n", label);
  print_indented(words);
}

static void show_kept(void *arg, const char *path)
{
  progress_hide(arg);
  fprintf(stderr,
          "labgen: %s: left alone, since somebody worked in it; to have it "
          "made anew, move it away\n",
          path);
}

// --- arguments -------------------------------------------------------------

extern const struct command cmd_build;

static int parse_stage(const char *text, enum stage *ret)
{
  for (int i = 0; i < 3; i++) {
    if (strcmp(text, stage_names[i]) == 0) {
      *ret = (enum stage)i;
      return 0;
    }
  }
  return command_misused(&cmd_build, "--stage takes lab, clinic or all, not %s",
                         text);
}

static int parse_jobs(const char *text, int *ret)
{
  char *end;
  long value = strtol(text, &end, 10);
  if (end == text || *end || value < 1 || value > 64)
    return command_misused(&cmd_build, "-j takes a number from 1 to 64");
  *ret = (int)value;
  return 0;
}

static int parse(int argc, char **argv, struct arguments *a)
{
  enum { STAGE = 256, NO_KERNELS, ARCHIVES, RELEASE_NOW };
  static const struct option options[] = {
      {"stage", required_argument, NULL, STAGE},
      {"no-kernels", no_argument, NULL, NO_KERNELS},
      {"archives", no_argument, NULL, ARCHIVES},
      {"release-now", no_argument, NULL, RELEASE_NOW},
      {0},
  };
  int option, status = 0;
  opterr = 0;
  optind = 1;
  while (status == 0 &&
         (option = getopt_long(argc, argv, ":c:o:s:j:", options, NULL)) != -1) {
    switch (option) {
    case 'c':
      a->lab_file = optarg;
      break;
    case 'o':
      a->build.out = optarg;
      break;
    case 's':
      a->students[a->student_count++] = optarg;
      break;
    case 'j':
      status = parse_jobs(optarg, &a->build.jobs);
      break;
    case STAGE:
      status = parse_stage(optarg, &a->stage);
      break;
    case NO_KERNELS:
      a->build.kernels = false;
      break;
    case ARCHIVES:
      a->build.archives = true;
      break;
    case RELEASE_NOW:
      a->release_now = true;
      break;
    case ':':
      return command_misused(&cmd_build, "%s needs a value", argv[optind - 1]);
    default:
      return command_misused(&cmd_build, "unknown option %s", argv[optind - 1]);
    }
  }
  if (status == 0 && optind < argc)
    return command_misused(&cmd_build, "unexpected argument '%s'",
                           argv[optind]);
  return status;
}

static int check_students(const struct course *c, const struct arguments *a,
                          struct error *err)
{
  int rc = 0;
  for (size_t i = 0; i < a->student_count; i++) {
    int one = command_check_student(&c->roster, a->students[i], err);
    rc = rc ? rc : one;
  }
  return rc;
}

// Decides whether clinic repositories may be written now.
static int decide_clinic(const struct course *c, struct arguments *a,
                         struct error *err)
{
  char date[40];
  const struct when *release = &c->lab.dates.clinic_release;
  bool released = time(NULL) >= (time_t)release->seconds;
  when_format(release, date, sizeof(date));
  a->build.lab = a->stage != STAGE_CLINIC;
  a->build.clinic = a->stage != STAGE_LAB;
  if (!a->build.clinic || released)
    return 0;
  if (a->release_now) {
    fprintf(stderr,
            "labgen: writing clinic repositories before %s: each holds a "
            "working solution but for one mistake, and whoever gets one can "
            "hand it in as the lab\n",
            date);
    return 0;
  }
  if (a->stage == STAGE_CLINIC)
    return error_set(err, LG_EREFUSED,
                     "clinic repositories hold the solution and are for "
                     "release after %s; --release-now writes them all the same",
                     date);
  fprintf(stderr, "labgen: no clinic repositories before %s (%s)\n", date,
          "--stage clinic makes them then");
  a->build.clinic = false;
  return 0;
}

// --- the end ---------------------------------------------------------------

static void print_summary(const struct course *c, const struct arguments *a,
                          const struct build_counts *n)
{
  const char *out = a->build.out;
  size_t alike = build_coincidences(c);
  printf(
      "%s: %zu repositories made, %zu replaced, %zu as they were, %zu left "
      "alone\n",
      out, n->made, n->replaced, n->current, n->kept);
  if (a->build.kernels)
    printf("%s/kernels: %zu kernels, %zu compiled now, %zu do not compile\n",
           out, n->kernels, n->compiled, n->failed);
  printf(
      "%zu of %zu students have the same bugs as a neighbour in the "
      "roster\n",
      alike, c->roster.count);
  if (n->failed)
    printf("Next: put right what does not compile, and run this again\n");
  else
    printf(
        "Next: hand out %s/%s/ID, and when work comes back:\n"
        "  labgen grade -c %s SUBMISSIONS\n",
        out, a->build.lab ? "students" : "clinic", a->lab_file);
}

static int run_build(struct arguments *a)
{
  struct course course = {0};
  struct error err = {0};
  struct build_counts counts = {0};
  struct progress *progress = progress_start(stderr, 0);
  a->build.students = a->students;
  a->build.student_count = a->student_count;
  a->build.on_progress = show_progress;
  a->build.on_failed = show_failed;
  a->build.on_kept = show_kept;
  a->build.arg = progress;
  int rc = course_load(a->lab_file, true, &course, &err);
  rc = rc ? rc : check_students(&course, a, &err);
  rc = rc ? rc : decide_clinic(&course, a, &err);
  rc = rc ? rc : build_run(&course, &a->build, &counts, &err);
  progress_finish(progress);
  int status = rc ? command_failed(&err) : counts.failed ? 1 : 0;
  if (rc == 0)
    print_summary(&course, a, &counts);
  course_release(&course);
  return status;
}

static int build(int argc, char **argv)
{
  struct arguments a = {.stage = STAGE_ALL};
  char *lab_file = NULL;
  a.build.out = "out";
  a.build.kernels = true;
  a.build.jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
  a.students = xcalloc((size_t)argc, sizeof(*a.students));
  int status = parse(argc, argv, &a);
  if (status == 0) {
    a.lab_file = lab_file = command_lab_file(a.lab_file);
    status = run_build(&a);
  }
  free(a.students);
  free(lab_file);
  return status;
}

const struct command cmd_build = {
    .name = "build",
    .summary = "Make every student's kernel trees from a lab file.",
    .usage = "[-c LABFILE] [-o OUT] [-s STUDENT]... [-j N] [OPTION]...",
    .help =
        "  -c LABFILE      the lab file (config.yaml)\n"
        "  -o OUT          the folder to make everything in (out)\n"
        "  -s STUDENT      for this student alone; may be given again\n"
        "  -j N            compile N kernels at once (as many as cores)\n"
        "  --stage STAGE   lab, clinic, or all (the clinic only once its date\n"
        "                  of release has come)\n"
        "  --release-now   write clinic repositories before that date\n"
        "  --no-kernels    repositories and keys, no kernels\n"
        "  --archives      a tar file of each repository too\n"
        "\n"
        "OUT then holds instructor/ (all branches), students/ID/, clinic/ID/,\n"
        "keys/ID.json, kernels/KEY/, and manifest.json. Running again makes\n"
        "what is missing. A folder that somebody worked in is never touched.\n",
    .run = build,
};
