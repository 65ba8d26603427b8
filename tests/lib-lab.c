// The small lab of the build's tests, and what they run.
#include "tests/lib-lab.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"

static const struct {
  const char *name, *text;
} files[] = {
    {"lab.yaml",
     "id: toy\n"
     "title: A toy lab\n"
     "machine: {}\n"
     "base: {folder: base}\n"
     "secret: {file: secret}\n"
     "roster: roster.csv\n"
     "start: {branch: mine, commit: start, corrections: [], handout: "
     "handout.md}\n"
     "reference: [reference]\n"
     "clinic:\n"
     "  bugs: bugs\n"
     "  classes: classes.yaml\n"
     "  rendering: render.yaml\n"
     "  handout: clinic.md\n"
     "  picks: [{}, {}]\n"
     "submission: {files: [kernel/kalloc.c]}\n"
     "dates: {deadline: 2020-01-31 23:59 Z}\n"
     "commits: {author: Staff, email: s@example.org, date: 2020-01-01 00:00 "
     "Z}\n"},
    {"secret", "a secret for the tests\n"},
    {"handout.md", "# ${title}\n\n${student}, branch ${branch}\n"},
    {"clinic.md", "# Clinic of ${student}\n"},
    {"base/Makefile",
     "CC = cc\n"
     "LD = ld\n"
     "kernel/kernel: kernel/kalloc.o kernel/main.o\n"
     "\t$(LD) -r -o $@ $^\n"
     "%.o: %.c\n"
     "\t$(CC) -Wall -Werror -c -o $@ $<\n"},
    {"base/kernel/main.c", "int main_start(void)\n{\n  return 1;\n}\n"},
    {"base/kernel/kalloc.c", "int kalloc(void)\n{\n  return 0;\n}\n"},
    {"start/commit.yaml",
     "message: Test program\n"
     "edits:\n"
     "  - {file: Makefile, before: 'CC = cc', insert: \"# toy\\n\"}\n"},
    {"start/files/user/test.c", "// a test program\n"},
    {"reference/commit.yaml", "message: The solution\n"},
    {"reference/files/kernel/kalloc.c",
     "// the reference's own words\n"
     "static int choose(int seed)\n"
     "{\n"
     "  int pick = seed + 1;\n"
     "  pick = pick * 3;\n"
     "  return pick;\n"
     "}\n"
     "\n"
     "int kalloc(void)\n"
     "{\n"
     "  int total = choose(7);\n"
     "  return total;\n"
     "}\n"},
    {"classes.yaml",
     "- {id: sums, meaning: a sum is wrong}\n"
     "- {id: signs, meaning: a sign is wrong}\n"
     "- {id: factors, meaning: a factor is wrong}\n"},
    {"bugs/minus-one.yaml",
     "id: minus-one\nclass: sums\ntitle: Subtracts\ndifficulty: 1\n"
     "params: {by: [1, 2, 3, 4]}\n"
     "edits: [{file: kernel/kalloc.c, replace: seed + 1, with: 'seed - "
     "${by}'}]\n"
     "function: choose\nsymptom: wrong sum\nexplanation: it subtracts\n"},
    {"bugs/negated.yaml",
     "id: negated\nclass: signs\ntitle: Negates\ndifficulty: 2\n"
     "edits: [{file: kernel/kalloc.c, replace: return pick;, with: return "
     "-pick; // giveaway}]\n"
     "function: choose\nsymptom: wrong sign\nexplanation: it negates\n"},
    {"bugs/times-four.yaml",
     "id: times-four\nclass: factors\ntitle: Takes four\ndifficulty: 3\n"
     "edits: [{file: kernel/kalloc.c, replace: pick * 3, with: pick * 4}]\n"
     "function: choose\nsymptom: too much\nexplanation: it takes four\n"},
    {"render.yaml",
     "file: kernel/kalloc.c\n"
     "opening: [\"// numbers\\n\", \"// sums\\n\"]\n"
     "names: {choose: [select, decide], pick: [value, result], total: [sum, "
     "all], seed: [from, origin]}\n"
     "forms:\n"
     "  - same:\n"
     "      - \"  int total = choose(7);\\n  return total;\\n\"\n"
     "      - \"  return choose(7);\\n\"\n"
     "  - same: [pick = pick * 3;, pick *= 3;]\n"
     "comments: {kalloc: [\"// A number.\\n\", \"\"]}\n"},
};

void toy_lab_write(const struct toy_lab *lab, const char *name,
                   const char *text)
{
  char *path = path_join(lab->dir, name);
  char *parent = xstrndup(path, (size_t)(strrchr(path, '/') - path));
  cr_assert_eq(file_mkdirs(parent, NULL), 0);
  cr_assert_eq(file_write(path, text, strlen(text), 0644, NULL), 0);
  free(parent);
  free(path);
}

void toy_lab_change(const struct toy_lab *lab, const char *name,
                    const char *old, const char *new)
{
  struct buf text = BUF_INIT;
  char *path = path_join(lab->dir, name);
  cr_assert_eq(file_read(path, 1 << 20, &text, NULL), 0);
  const char *at = strstr(buf_str(&text), old);
  cr_assert(at && !strstr(at + 1, old), "'%s' is not in %s once", old, name);
  buf_splice(&text, (size_t)(at - text.data), strlen(old), new, strlen(new));
  toy_lab_write(lab, name, buf_str(&text));
  buf_release(&text);
  free(path);
}

void toy_lab_make(struct toy_lab *lab, int students)
{
  struct buf roster = BUF_INIT;
  cr_assert_eq(file_make_temp_dir(NULL, "toy-lab-", &lab->dir, NULL), 0);
  lab->file = path_join(lab->dir, "lab.yaml");
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
    toy_lab_write(lab, files[i].name, files[i].text);
  buf_adds(&roster, "id,name\n");
  for (int i = 1; i <= students; i++)
    buf_addf(&roster, "s%d,Student %d\n", i, i);
  toy_lab_write(lab, "roster.csv", buf_str(&roster));
  buf_release(&roster);
}

void toy_lab_remove(struct toy_lab *lab)
{
  cr_assert_eq(file_remove_tree(lab->dir, NULL), 0);
  free(lab->dir);
  free(lab->file);
}

static int run(const char *const *argv, const char *dir, struct buf *output)
{
  const char *env[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                       "HOME=/nonexistent",
                       "LC_ALL=C",
                       "GIT_CONFIG_NOSYSTEM=1",
                       "GIT_AUTHOR_NAME=A",
                       "GIT_AUTHOR_EMAIL=a@example.org",
                       "GIT_COMMITTER_NAME=A",
                       "GIT_COMMITTER_EMAIL=a@example.org",
                       "GIT_CONFIG_COUNT=1",
                       "GIT_CONFIG_KEY_0=safe.directory",
                       "GIT_CONFIG_VALUE_0=*",
                       NULL};
  struct child_spec spec = {.argv = argv,
                            .env = env,
                            .dir = dir,
                            .merge_stderr = true,
                            .deadline_ms = clock_ms() + 120000,
                            .max_output_bytes = 64u << 20};
  struct child_result result = {0};
  struct error err = {0};
  cr_assert_eq(child_run(&spec, &result, &err), 0, "%s", err.message);
  if (output)
    buf_add(output, buf_str(&result.out), result.out.len);
  int status = result.status;
  if (status)
    cr_log_info("%s: %s", argv[0], buf_str(&result.out));
  child_result_release(&result);
  return status;
}

int toy_lab_run(const struct toy_lab *lab, struct buf *output,
                const char *const *args)
{
  char *program = realpath(LABGEN_BUILD "/labgen", NULL);
  cr_assert_not_null(program);
  const char *argv[24] = {program};
  for (size_t n = 1; *args && n < 23; args++)
    argv[n++] = *args;
  int status = run(argv, lab->dir, output);
  free(program);
  return status;
}

char *toy_lab_path(const struct toy_lab *lab, const char *name)
{
  return path_join(lab->dir, name);
}

void toy_lab_build(const struct toy_lab *lab, int status, struct buf *output,
                   const char *const *args)
{
  struct buf said = BUF_INIT;
  const char *argv[20] = {"build", "-c", "lab.yaml"};
  for (size_t n = 3; *args && n < 19; args++)
    argv[n++] = *args;
  cr_assert_eq(toy_lab_run(lab, &said, argv), status, "%s", buf_str(&said));
  if (output)
    buf_add(output, buf_str(&said), said.len);
  buf_release(&said);
}

void expect_said(const struct buf *output, const char *text)
{
  cr_expect(strstr(buf_str(output), text), "'%s' is not in: %s", text,
            buf_str(output));
}

int run_git(const char *folder, struct buf *output, const char *const *args)
{
  const char *argv[24] = {"git", "-C", folder};
  for (size_t n = 3; *args && n < 23; args++)
    argv[n++] = *args;
  return run(argv, NULL, output);
}

struct reading {
  char *folder;
  struct tree *tree;
};

// Names are changed a little, since a tree holds no ".git".
static int read_one(void *arg, const char *path, struct error *err)
{
  struct reading *r = arg;
  struct buf bytes = BUF_INIT;
  char *from = path_join(r->folder, path);
  char *name = xasprintf("x%s", path);
  for (char *dot; (dot = strstr(name, "/.git"));)
    dot[1] = '_';
  int rc = file_read(from, 64u << 20, &bytes, err);
  rc =
      rc ? rc : tree_put(r->tree, name, buf_str(&bytes), bytes.len, false, err);
  buf_release(&bytes);
  free(from);
  free(name);
  return rc;
}

void read_all(const struct toy_lab *lab, const char *name, struct tree *ret)
{
  struct reading r = {path_join(lab->dir, name), ret};
  struct error err = {0};
  cr_assert_eq(file_walk(r.folder, read_one, &r, &err), 0, "%s", err.message);
  free(r.folder);
}

void toy_lab_expect_same(const struct toy_lab *lab, const char *a,
                         const char *b, const char *const *names)
{
  struct tree one = {0}, other = {0};
  for (; *names; names++) {
    char *in_a = path_join(a, *names), *in_b = path_join(b, *names);
    read_all(lab, in_a, &one);
    read_all(lab, in_b, &other);
    cr_expect_gt(one.count, 0, "%s", in_a);
    cr_expect(tree_equal(&one, &other), "%s and %s", in_a, in_b);
    tree_release(&one);
    tree_release(&other);
    free(in_a);
    free(in_b);
  }
}
