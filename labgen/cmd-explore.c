// `labgen explore`: the steps of three harts that break an allocator.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "graders/explore.h"
#include "graders/explore/print.h"
#include "labgen/base/file.h"
#include "labgen/cmd.h"

enum { FORMAT_JSON = PRINT_HTML + 1, WIDTH = 100 };

struct settings {
  struct explore_options o;
  int format;
  const char *save;  // folder for replay files
};

static const struct option options[] = {
    {"bound", required_argument, NULL, 'b'},
    {"seconds", required_argument, NULL, 's'},
    {"program", required_argument, NULL, 'p'},
    {"replay", required_argument, NULL, 'r'},
    {"save", required_argument, NULL, 'w'},
    {"seed", required_argument, NULL, 'e'},
    {"jobs", required_argument, NULL, 'j'},
    {"lab", required_argument, NULL, 'l'},
    {"headers", required_argument, NULL, 'H'},
    {"json", no_argument, NULL, 'J'},
    {"format", required_argument, NULL, 'f'},
    {"sandbox", no_argument, NULL, 'x'},
    {0},
};

static bool number(const char *text, double low, double high, double *ret)
{
  char *end;
  *ret = strtod(text, &end);
  return *text && !*end && *ret >= low && *ret <= high;
}

static int read_format(const char *name)
{
  static const char *const names[] = {"text", "markdown", "html", "json"};
  for (int i = 0; i < 4; i++) {
    if (strcmp(names[i], name) == 0)
      return i;
  }
  return -1;
}

// Reads one option; returns 0, or the exit status after saying what is wrong.
static int read_option(int c, struct settings *s)
{
  double v;
  switch (c) {
  case 'b':
    if (!number(optarg, 0, SEARCH_BOUNDS - 1, &v))
      return command_misused(&cmd_explore, "--bound must be 0 to %d",
                             SEARCH_BOUNDS - 1);
    s->o.bound = (int)v;
    break;
  case 's':
    if (!number(optarg, 0.01, 86400, &v))
      return command_misused(&cmd_explore, "--seconds must be 0.01 to 86400");
    s->o.time_ms = (int64_t)(v * 1000);
    s->o.bound = 3;
    s->o.random = EXPLORE_FURTHER;
    break;
  case 'e':
    if (!number(optarg, 0, 9e15, &v))
      return command_misused(&cmd_explore, "--seed must be a number");
    s->o.seed = (uint64_t)v;
    break;
  case 'j':
    if (!number(optarg, 1, 64, &v))
      return command_misused(&cmd_explore, "--jobs must be 1 to 64");
    s->o.jobs = (int)v;
    break;
  case 'p':
    s->o.program = optarg;
    break;
  case 'r':
    s->o.replay = optarg;
    break;
  case 'w':
    s->save = optarg;
    break;
  case 'l':
    s->o.lab = optarg;
    break;
  case 'H':
    s->o.headers = optarg;
    break;
  case 'J':
    s->format = FORMAT_JSON;
    break;
  case 'f':
    s->format = read_format(optarg);
    if (s->format < 0)
      return command_misused(&cmd_explore,
                             "--format must be text, markdown, html or json");
    break;
  case 'x':
    s->o.sandbox = true;
    break;
  default:
    return command_misused(&cmd_explore, "see --help for the options");
  }
  return 0;
}

static int width(void)
{
  struct winsize w;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col >= 60)
    return w.ws_col;
  return WIDTH;
}

static json_t *result_json(const struct explore_result *r)
{
  json_t *findings = json_array(), *notes = json_array();
  for (size_t i = 0; i < r->stories.findings; i++)
    json_array_append_new(findings, story_write(&r->stories.finding[i]));
  for (size_t i = 0; i < r->stories.notes; i++)
    json_array_append_new(notes, note_write(&r->stories.note[i]));
  return json_pack("{s:o,s:o,s:I,s:b,s:I,s:I}", "findings", findings, "notes",
                   notes, "schedules", (json_int_t)r->stories.schedules, "cut",
                   r->cut, "compile_ms", (json_int_t)r->compile_ms,
                   "explore_ms", (json_int_t)r->explore_ms);
}

static int save(const struct settings *s, const struct explore_result *r,
                struct error *err)
{
  int rc = file_mkdirs(s->save, err);
  for (size_t i = 0; rc == 0 && i < r->stories.findings; i++) {
    const struct story *f = &r->stories.finding[i];
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s/%zu-%s.json", s->save, i + 1, ex_kind_name(f->kind));
    json_t *j = story_write(f);
    char *text = json_dumps(j, JSON_INDENT(1));
    rc = file_write(buf_str(&path), text, strlen(text), 0644, err);
    free(text);
    json_decref(j);
    buf_release(&path);
  }
  return rc;
}

static void show(const struct settings *s, const struct explore_result *r)
{
  struct table_words words = explore_words(r);
  struct buf b = BUF_INIT;
  if (s->format == FORMAT_JSON) {
    json_t *j = result_json(r);
    json_dumpf(j, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(j);
    return;
  }
  print_all(&r->stories, &words, s->o.bound, (enum print_format)s->format,
            width(), &b);
  fwrite(b.data, 1, b.len, stdout);
  buf_release(&b);
}

// Says whether a replay did what its file says.
static int compare(const struct settings *s, const struct explore_result *r,
                   struct error *err)
{
  if (!r->same_events)
    return error_set(err, LG_EREFUSED,
                     "%s: the events differ from the file's; the source or the "
                     "compiler is another one",
                     s->o.replay);
  fprintf(stderr, "The same events as in %s.\n", s->o.replay);
  return 0;
}

static int run(int argc, char **argv)
{
  struct settings s = {.o = {.bound = EXPLORE_BOUND, .path = "."}};
  struct explore_result r = {0};
  struct error err = {0};
  int c;
  while ((c = getopt_long(argc, argv, "j:", options, NULL)) != -1) {
    int status = read_option(c, &s);
    if (status)
      return status;
  }
  if (argc - optind > 1)
    return command_misused(&cmd_explore, "one file or folder at a time");
  if (optind < argc)
    s.o.path = argv[optind];

  int rc = explore(&s.o, &r, &err);
  if (rc == LG_EBUILD) {
    command_failed(&err);
    return error_exit_status(LG_EINPUT);
  }
  if (rc < 0)
    return command_failed(&err);
  show(&s, &r);
  if (s.save)
    rc = save(&s, &r, &err);
  if (rc == 0 && s.o.replay)
    rc = compare(&s, &r, &err);
  int status = r.stories.findings > 0 ? error_exit_status(LG_EREFUSED)
               : r.cut                ? error_exit_status(LG_ELIMIT)
                                      : 0;
  explore_release(&r);
  return rc < 0 ? command_failed(&err) : status;
}

const struct command cmd_explore = {
    .name = "explore",
    .summary = "Show the steps of three harts that break an allocator.",
    .usage = "[OPTION]... [DIR|FILE]",
    .help =
        "Compiles the lab's file (or FILE) for this machine and runs small\n"
        "programs on three virtual harts under every interleaving, first with\n"
        "no preemption, then with one, then with two. Nothing is booted.\n"
        "\n"
        "  --bound N        at most N preemptions (default 2)\n"
        "  --seconds S      three preemptions, then random schedules, for S\n"
        "                   seconds\n"
        "  --program NAME   only this program\n"
        "  --save FOLDER    write each finding into a file there\n"
        "  --replay FILE    repeat a finding that was saved\n"
        "  --seed N         of the random schedules\n"
        "  -j, --jobs N     explore in N processes\n"
        "  --json           the same as --format=json\n"
        "  --format F       text, markdown, html or json\n"
        "  --headers DIR    the kernel's headers, if not beside the file\n"
        "  --lab FILE       what to run and what must hold\n"
        "  --sandbox        compile and run in a sandbox\n"
        "\n"
        "Exit status: 0 nothing found within this bound; 1 something was\n"
        "found; 2 usage, or the file does not compile; 3 the tool failed, or\n"
        "the time was up before anything was found.\n",
    .run = run,
};
