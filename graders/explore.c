// Runs the explorer: finds the files, compiles, starts children, and puts
// their results together.
//
// Deliberately no exploring here: the code under test runs in children only
// (graders/explore/child.c).
#include "graders/explore.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graders/explore/compile.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"
#include "labgen/run/sandbox.h"

enum { JOBS_MOST = 16, GUARD_MS = 120000, LATE_MS = 5000 };
enum { REPLAY_BYTES = 16 << 20 };

#define CHILD_NAME "labgen-explorer"

// One exploration.
struct run {
  const struct explore_options *o;
  struct ex_lab lab;
  char *lab_path, *source, *headers, *runtime, *program;  // owned
  char *dir, *object;                                     // owned
};

static void run_release(struct run *r)
{
  if (r->dir)
    file_remove_tree(r->dir, NULL);
  free(r->lab_path);
  free(r->source);
  free(r->headers);
  free(r->runtime);
  free(r->program);
  free(r->dir);
  free(r->object);
  ex_lab_release(&r->lab);
}

static bool is_folder(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static char *folder_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
}

static char *absolute(const char *path)
{
  char *real = realpath(path, NULL);
  return real ? real : xstrdup(path);
}

// The file to explore: what was named, or the lab's file in that folder.
static int find_source(struct run *r, struct error *err)
{
  const char *path = r->o->path, *file = r->lab.file;
  const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
  const char *try[] = {file, base};
  if (!file_exists(path))
    return error_set(err, LG_ENOTFOUND, "%s: no such file or folder", path);
  if (!is_folder(path)) {
    r->source = absolute(path);
    return 0;
  }
  for (int i = 0; i < 2; i++) {
    char *there = path_join(path, try[i]);
    if (file_exists(there)) {
      r->source = absolute(there);
      free(there);
      return 0;
    }
    free(there);
  }
  return error_set(err, LG_ENOTFOUND, "%s: neither %s nor %s is there", path,
                   file, base);
}

static int find_headers(struct run *r, const char *data, struct error *err)
{
  if (r->o->headers) {
    r->headers = absolute(r->o->headers);
    return 0;
  }
  r->headers = folder_of(r->source);
  char *sign = path_join(r->headers, "param.h");
  bool there = file_exists(sign);
  free(sign);
  if (there)
    return 0;
  free(r->headers);
  r->headers = path_join(data, "templates/base/kernel");
  if (!file_exists(r->headers))
    return error_set(err, LG_ENOTFOUND, "%s has no headers beside it",
                     r->source);
  return 0;
}

static int find_program(struct run *r, struct error *err)
{
  char self[4096];
  if (r->o->child) {
    r->program = xstrdup(r->o->child);
    return 0;
  }
  ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
  if (len < 0)
    return error_errno(err, LG_EHARNESS, "cannot find this program");
  self[len] = '\0';
  char *dir = folder_of(self);
  r->program = path_join(dir, CHILD_NAME);
  free(dir);
  if (!file_exists(r->program))
    return error_set(err, LG_EHARNESS, "%s is missing; run 'make'", r->program);
  return 0;
}

static int check_program(const struct run *r, struct error *err)
{
  struct buf names = BUF_INIT;
  for (size_t i = 0; r->o->program && i < r->lab.programs; i++) {
    if (strcmp(r->lab.program[i].name, r->o->program) == 0) {
      buf_release(&names);
      return 0;
    }
    buf_addf(&names, "%s%s", i ? ", " : "", r->lab.program[i].name);
  }
  if (!r->o->program)
    return 0;
  int rc = error_set(err, LG_EUSAGE, "there is no program '%s' but %s",
                     r->o->program, buf_str(&names));
  buf_release(&names);
  return rc;
}

// The lab and the runtime.
static int find_own(struct run *r, struct error *err)
{
  const char *data;
  int rc = data_dir(&data, err);
  if (rc < 0)
    return rc;
  r->lab_path = r->o->lab
                    ? absolute(r->o->lab)
                    : path_join(data, "graders/percpu-kalloc-explore.yaml");
  r->runtime = path_join(data, "graders/explore/rt");
  return 0;
}

static int prepare(struct run *r, struct error *err)
{
  const char *data;
  int rc = data_dir(&data, err);
  if (rc == 0)
    rc = find_own(r, err);
  if (rc == 0)
    rc = ex_lab_read(r->lab_path, &r->lab, err);
  if (rc == 0)
    rc = check_program(r, err);
  if (rc == 0)
    rc = find_source(r, err);
  if (rc == 0)
    rc = find_headers(r, data, err);
  if (rc == 0)
    rc = find_program(r, err);
  if (rc == 0)
    rc = file_make_temp_dir(NULL, "labgen-explore-", &r->dir, err);
  if (rc < 0)
    return rc;
  struct compile_request request = {.source = r->source,
                                    .headers = r->headers,
                                    .runtime = r->runtime,
                                    .dir = r->dir,
                                    .sandbox = r->o->sandbox};
  return explore_compile(&request, &r->object, err);
}

// What one child does: explore a part, or take findings up from a file.
struct job {
  int part, parts;
  const char *findings;  // file; NULL: explore
  bool finish;           // make findings small and record them
};

static void add_command(const struct run *r, const struct job *job,
                        struct argv *a)
{
  const struct explore_options *o = r->o;
  argv_add(a, r->program);
  argv_addf(a, "--object=%s", r->object);
  argv_addf(a, "--lab=%s", r->lab_path);
  argv_addf(a, "--part=%d", job->part);
  argv_addf(a, "--parts=%d", job->parts);
  argv_addf(a, "--bound=%d", o->bound);
  argv_addf(a, "--most=%u",
            o->schedules_most          ? o->schedules_most
            : o->bound > EXPLORE_BOUND ? EXPLORE_FURTHER
                                       : EXPLORE_SCHEDULES);
  argv_addf(a, "--random=%u", o->random);
  argv_addf(a, "--seed=%llu", (unsigned long long)o->seed);
  argv_addf(a, "--milliseconds=%lld",
            (long long)(o->time_ms ? o->time_ms : GUARD_MS));
  if (o->program)
    argv_addf(a, "--program=%s", o->program);
  if (job->findings)
    argv_addf(a, "--replay=%s", job->findings);
  if (job->finish && !o->replay)
    argv_add(a, "--shrink");
  if (job->finish)
    argv_add(a, "--record");
}

static int start(const struct run *r, const struct job *job, struct child **ret,
                 struct error *err)
{
  const char *shown[] = {r->program, r->lab_path, r->object, job->findings,
                         NULL};
  struct sandbox box = {.off = !r->o->sandbox, .read_only = shown};
  struct argv command = {0}, a = {0};
  add_command(r, job, &command);
  sandbox_argv(&box, argv_list(&command), &a);
  int64_t time_ms = r->o->time_ms ? r->o->time_ms : GUARD_MS;
  struct child_spec spec = {
      .argv = argv_list(&a),
      .deadline_ms = clock_ms() + time_ms + LATE_MS,
      .max_output_bytes = 32 << 20,
      .limits = {.cpu_s = (uint64_t)(time_ms + LATE_MS) / 1000 + 1,
                 .address_space_bytes = UINT64_C(1) << 30,
                 .file_bytes = 1 << 20},
  };
  int rc = child_start(&spec, ret, err);
  argv_release(&command);
  argv_release(&a);
  return rc;
}

// The code under test ended the child: that is its finding, without a trace.
static void add_crash(const struct child_result *res, struct stories *to)
{
  struct buf how = BUF_INIT;
  child_result_describe(res, &how);
  struct story s = {
      .kind = res->end == CHILD_TIMED_OUT ? EX_ENDLESS : EX_CRASH,
      .key = STORY_OF_THE_END,
      .text = xasprintf("the code ended the explorer, which %s", buf_str(&how)),
      .name = xstrdup(""),
      .place = {.function = xstrdup(""), .file = xstrdup("")},
      .program = {.name = xstrdup(""), .about = xstrdup("")},
      .preemptions = -1,
  };
  stories_add(&s, to);
  buf_release(&how);
}

static int collect(const struct child *child, struct explore_result *ret,
                   struct error *err)
{
  const struct child_result *res = child_result_of(child);
  if (res->end == CHILD_EXITED && res->status != 0) {
    int code = res->status == error_exit_status(LG_EINPUT)   ? LG_EINPUT
               : res->status == error_exit_status(LG_EBUILD) ? LG_EBUILD
                                                             : LG_EHARNESS;
    return error_set(err, code, "%s", buf_str(&res->err));
  }
  if (res->end != CHILD_EXITED) {
    add_crash(res, &ret->stories);
    ret->cut = true;
    return 0;
  }
  json_t *j = json_loadb(res->out.data, res->out.len, 0, NULL);
  if (!j) {
    // What ends without its result did not end by itself.
    add_crash(res, &ret->stories);
    ret->cut = true;
    return 0;
  }
  int rc = stories_read(j, &ret->stories, err);
  json_decref(j);
  return rc;
}

static int run_jobs(const struct run *r, const struct job *jobs, int count,
                    struct explore_result *ret, struct error *err)
{
  struct child *child[JOBS_MOST] = {0};
  int running = 0, rc = 0;
  for (; running < count && rc == 0; running += rc == 0)
    rc = start(r, &jobs[running], &child[running], err);
  for (bool all = false; rc == 0 && !all;) {
    rc = children_poll(child, (size_t)running, 0, err);
    all = true;
    for (int i = 0; i < running; i++)
      all = all && child_ended(child[i]);
  }
  for (int i = 0; i < running && rc == 0; i++)
    rc = collect(child[i], ret, err);
  for (int i = 0; i < running; i++)
    child_release(child[i]);
  return rc;
}

// Writes findings as a list for a child to take up.
static int write_list(json_t *list, const char *path, struct error *err)
{
  char *text = json_dumps(list, JSON_COMPACT);
  int rc = text ? file_write(path, text, strlen(text), 0644, err)
                : error_set(err, LG_EHARNESS, "findings are no text");
  free(text);
  json_decref(list);
  return rc;
}

// Of findings from several children, the best ones are known only now.
static int finish(const struct run *r, struct explore_result *ret,
                  struct error *err)
{
  struct stories *s = &ret->stories;
  json_t *list = json_array();
  size_t kept = 0;
  for (size_t i = 0; i < s->findings; i++) {
    // A crash of a child has no schedule that could be repeated.
    if (s->finding[i].key == STORY_OF_THE_END) {
      s->finding[kept++] = s->finding[i];
      continue;
    }
    json_array_append_new(list, story_write(&s->finding[i]));
    story_release(&s->finding[i]);
  }
  bool any = kept < s->findings;
  s->findings = kept;
  char *path = path_join(r->dir, "findings.json");
  struct job job = {.parts = 1, .findings = path, .finish = true};
  int rc = write_list(list, path, err);
  if (rc == 0 && any)
    rc = run_jobs(r, &job, 1, ret, err);
  free(path);
  return rc;
}

static int run_all(const struct run *r, struct explore_result *ret,
                   struct error *err)
{
  struct job jobs[JOBS_MOST];
  int count = r->o->jobs < 1           ? 1
              : r->o->jobs > JOBS_MOST ? JOBS_MOST
                                       : r->o->jobs;
  for (int i = 0; i < count; i++)
    jobs[i] = (struct job){.part = i, .parts = count, .finish = count == 1};
  int rc = run_jobs(r, jobs, count, ret, err);
  return rc < 0 || count == 1 ? rc : finish(r, ret, err);
}

static int read_finding(const char *path, struct story *ret, struct error *err)
{
  struct buf text = BUF_INIT;
  struct error why = {0};
  json_error_t where;
  json_t *j = NULL;
  int rc = file_read(path, REPLAY_BYTES, &text, err);
  if (rc < 0)
    return rc;
  j = json_loadb(buf_str(&text), text.len, 0, &where);
  if (!j)
    rc = error_at(err, LG_EINPUT, path, (size_t)where.line,
                  (size_t)where.column, "%s", where.text);
  else if (story_read(j, ret, &why) < 0)
    rc = error_set(err, LG_EINPUT, "%s is no finding that was saved: %s", path,
                   why.message);
  error_release(&why);
  json_decref(j);
  buf_release(&text);
  return rc;
}

// Repeats the finding of a file.
static int run_replay(const struct run *r, struct explore_result *ret,
                      struct error *err)
{
  struct story then;
  int rc = read_finding(r->o->replay, &then, err);
  if (rc < 0)
    return rc;
  json_t *list = json_array();
  json_array_append_new(list, story_write(&then));
  char *path = path_join(r->dir, "findings.json");
  struct job job = {.parts = 1, .findings = path, .finish = true};
  rc = write_list(list, path, err);
  if (rc == 0)
    rc = run_jobs(r, &job, 1, ret, err);
  const struct stories *now = &ret->stories;
  ret->same_events = rc == 0 && now->findings > 0 && now->finding[0].repeats &&
                     now->finding[0].hash == then.hash;
  free(path);
  story_release(&then);
  return rc;
}

int explore(const struct explore_options *options, struct explore_result *ret,
            struct error *err)
{
  struct run r = {.o = options};
  struct explore_result result = {0};
  int64_t start_ms = clock_ms();
  int rc = prepare(&r, err);
  result.compile_ms = clock_ms() - start_ms;
  if (rc == 0)
    rc = options->replay ? run_replay(&r, &result, err)
                         : run_all(&r, &result, err);
  result.explore_ms = clock_ms() - start_ms - result.compile_ms;
  for (size_t i = 0; i < result.stories.coverages; i++)
    result.cut |= result.stories.coverage[i].cut;
  if (rc == 0) {
    stories_finish(&result.stories, r.lab.judged);
    result.alloc = xstrdup(r.lab.alloc.name);
    result.free = xstrdup(r.lab.free.name);
    *ret = result;
  } else {
    explore_release(&result);
  }
  run_release(&r);
  return rc;
}

struct adding {
  struct argv *files;
  const char *folder;
};

static int add_path(void *arg, const char *name, struct error *err)
{
  struct adding *a = arg;
  char *path = path_join(a->folder, name);
  (void)err;
  argv_add(a->files, path);
  free(path);
  return 0;
}

int explore_files(struct argv *ret, struct error *err)
{
  const struct explore_options defaults = {0};
  struct run r = {.o = &defaults};
  int rc = find_own(&r, err);
  rc = rc ? rc : find_program(&r, err);
  if (rc == 0) {
    struct adding a = {ret, r.runtime};
    argv_add(ret, r.lab_path);
    argv_add(ret, r.program);
    rc = file_walk(r.runtime, add_path, &a, err);
  }
  run_release(&r);
  return rc;
}

void explore_release(struct explore_result *r)
{
  stories_release(&r->stories);
  free(r->alloc);
  free(r->free);
  *r = (struct explore_result){0};
}

struct table_words explore_words(const struct explore_result *r)
{
  return (struct table_words){.alloc = r->alloc, .free = r->free};
}
