// The lab file: what is wrong in it is said with line and column, all at once.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/lab/bug.h"
#include "labgen/lab/labfile.h"
#include "labgen/lab/render.h"

static char *dir;

static void set_up(void)
{
  static const char *const files[] = {"secret", "roster.csv", "handout.md",
                                      "classes.yaml", "render.yaml"};
  cr_assert_eq(file_make_temp_dir(NULL, "test-lab-", &dir, NULL), 0);
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
    char *path = path_join(dir, files[i]);
    cr_assert_eq(file_write(path, "x\n", 2, 0644, NULL), 0);
    free(path);
  }
  char *folder = path_join(dir, "folder");
  cr_assert_eq(file_mkdirs(folder, NULL), 0);
  free(folder);
}

static void tear_down(void)
{
  cr_assert_eq(file_remove_tree(dir, NULL), 0);
  free(dir);
}

TestSuite(labfile, .init = set_up, .fini = tear_down);

// A lab file that is right, a key a line, so that a test can exchange one.
static const char *const good[] = {
    "id: lab-1",
    "title: A lab",
    "machine: {harts: 3}",
    "base: {folder: folder}",
    "secret: {file: secret}",
    "roster: roster.csv",
    "start: {branch: mine, commit: folder, handout: handout.md}",
    "reference: [folder]",
    ("clinic: {bugs: folder, classes: classes.yaml, rendering: render.yaml, "
     "handout: handout.md, picks: [{}]}"),
    "submission: {files: [a.c]}",
    "dates: {deadline: 2026-01-31 23:59 +01:00, late_days: 2}",
    "commits: {author: Staff, email: s@example.org, date: 2026-01-01 00:00 Z}",
};
#define LINES (sizeof(good) / sizeof(good[0]))

// Reads the good file with line `line` (from 1; 0: none) replaced. The message
// has the folder's name taken out.
static int read_with(size_t line, const char *text, struct lab *ret,
                     struct arena *arena, char **ret_message)
{
  struct buf b = BUF_INIT;
  struct error err = {0};
  for (size_t i = 0; i < LINES; i++)
    buf_addf(&b, "%s\n", i + 1 == line ? text : good[i]);
  char *path = path_join(dir, "lab.yaml");
  cr_assert_eq(file_write(path, b.data, b.len, 0644, NULL), 0);
  int rc = lab_read(path, arena, ret, &err);
  buf_release(&b);
  struct buf out = BUF_INIT;
  const char *at = err.message ? err.message : "";
  for (const char *next; (next = strstr(at, dir)); at = next + strlen(dir) + 1)
    buf_add(&out, at, (size_t)(next - at));
  buf_adds(&out, at);
  *ret_message = buf_detach(&out);
  free(path);
  error_release(&err);
  return rc;
}

Test(labfile, a_good_one_is_read_with_its_defaults)
{
  struct arena arena = {0};
  struct lab lab;
  char *message;
  cr_assert_eq(read_with(0, NULL, &lab, &arena, &message), 0, "%s", message);
  cr_expect_str_eq(lab.id, "lab-1");
  cr_expect_eq(lab.machine.harts, 3);
  cr_expect_eq(lab.machine.memory_mib, 128);
  cr_expect_eq(lab.limits.compile_seconds, 120);
  cr_expect_str_eq(lab.start.handout_file, "LAB.md");
  cr_expect_eq(lab.dates.deadline.offset_minutes, 60);
  // 31 January, 22:59 UTC, and two days.
  cr_expect_eq(lab.dates.clinic_release.seconds, 1769900340 + 2 * 86400);
  free(message);
  arena_release(&arena);
}

struct bad_line {
  int line;
  char text[160];
  char message[700];
};

// Each row: one line of the good file replaced, and all that is said of it.
static const struct bad_line bad_lines[] = {
    {1, "id: -x",
     "lab.yaml:1:5: 'id' needs a name of letters, digits, '-', "
     "'_', '.' (at most 64), not '-x'"},
    {1, "titel: x",
     "lab.yaml:1:1: unknown key 'titel' (did you mean 'title'?)"
     "\nlab.yaml:1:1: lab file: key 'id' is missing (the lab's "
     "name, part of every seed)"},
    {2, "title: [a]", "lab.yaml:2:8: 'title' needs text, not a list"},
    {2, "title:", "lab.yaml:2:7: 'title' has no value"},
    {2, "id: again",
     "lab.yaml:2:1: key 'id' is there twice (first on line 1)\n"
     "lab.yaml:1:1: lab file: key 'title' is missing (the lab's name for "
     "people)"},
    {3, "machine: {harts: three}",
     "lab.yaml:3:18: 'harts' needs a whole number, not 'three'"},
    {3, "machine: {harts: '3'}",
     "lab.yaml:3:18: 'harts' needs a whole number, not '3'"},
    {3, "machine: {harts: 9}",
     "lab.yaml:3:18: 'harts' must lie between 1 and 8, not be 9"},
    {3, "machine: {harts: 99999999999999999999}",
     "lab.yaml:3:18: 'harts' needs a whole number, not '99999999999999999999'"},
    {3, "machine: 3",
     "lab.yaml:3:10: machine: a map is needed here (key: "
     "value)"},
    {3, "machine: {hart: 3}",
     "lab.yaml:3:11: unknown key 'hart' (did you mean 'harts'?)"},
    {4, "base: {}", "lab.yaml:4:7: base: give either 'folder' or 'git'"},
    {4, "base: {git: folder}",
     "lab.yaml:4:7: base: 'git' and 'commit' go together"},
    {4, "base: {folder: secret}",
     "lab.yaml:4:16: 'secret' is no folder: "
     "folder"},
    {5, "secret: {}", "lab.yaml:5:9: secret: give either 'file' or 'env'"},
    {5, "secret: {file: folder}",
     "lab.yaml:5:16: 'folder' is no regular file: file"},
    {6, "roster: *x",
     "lab.yaml:6:9: anchors and aliases are not supported: "
     "write the value out"},
    {6, "roster: &x roster.csv",
     "lab.yaml:6:9: anchors and aliases are not "
     "supported: write the value out"},
    {7, "start: {branch: a/b, commit: folder, handout: handout.md}",
     "lab.yaml:7:17: 'branch' needs a name of letters, digits, '-', '_', '.' "
     "(at most 64), not 'a/b'"},
    {7,
     "start: {branch: b, commit: folder, handout: handout.md, "
     "handout_file: ../x}",
     "lab.yaml:7:71: 'handout_file' must be a relative path without '..' or "
     "'.git', not '../x'"},
    {7, "start: {branch: HEAD, commit: folder, handout: handout.md}",
     "lab.yaml:7:8: git takes no branch 'HEAD'; give it another name"},
    {7, "start: {branch: a..b, commit: folder, handout: handout.md}",
     "lab.yaml:7:8: git takes no branch 'a..b'; give it another name"},
    {8,
     "reference: [folder]\nbranches: [{name: start, commit: folder}, {name: a, "
     "commit: folder}, {name: a, commit: folder}]",
     "lab.yaml:9:12: branch 'start' is in the instructor's repository already; "
     "give this one another name\n"
     "lab.yaml:9:70: branch 'a' is in the instructor's repository already; "
     "give "
     "this one another name"},
    {10, "submission: {files: [/etc/x], prototypes: [a/../b]}",
     "lab.yaml:10:13: submission: '/etc/x' must be a relative path without "
     "'..' or '.git'\n"
     "lab.yaml:10:13: submission: 'a/../b' must be a relative path without "
     "'..' or '.git'"},
    {8, "reference: folder",
     "lab.yaml:8:12: 'reference' needs a list of "
     "folders"},
    {11, "dates: {deadline: 2026-02-31 00:00 Z}",
     "lab.yaml:11:19: 'deadline' needs a time such as '2026-12-01 23:59 "
     "+01:00', with its offset from UTC; not '2026-02-31 00:00 Z'"},
    {11, "dates: {deadline: 2026-02-01 00:00}",
     "lab.yaml:11:19: 'deadline' needs a time such as '2026-12-01 23:59 "
     "+01:00', with its offset from UTC; not '2026-02-01 00:00'"},
    {11,
     "dates: {deadline: 2026-02-01 00:00 Z, late_days: 3, clinic_release: "
     "2026-02-03 00:00 Z}",
     "lab.yaml:11:8: dates: 'clinic_release' lies before the last late day, "
     "when solutions can still be handed in"},
    {11, "dates: {deadline: 2026-02-01 00:00 Z, late_penalty: 101}",
     "lab.yaml:11:53: 'late_penalty' must lie between 0 and 100, not be 101"},
    {11, "dates: {deadline: 2026-02-01 00:00 Z, late_penalty: 10}",
     "lab.yaml:11:8: dates: 'late_penalty' is for late days, and 'late_days' "
     "gives none"},
    {11,
     "dates: {deadline: 2026-02-01 00:00 Z, late_days: 3, late_penalty: 40}",
     "lab.yaml:11:8: dates: 40 percent a day would be more than all marks "
     "before the last of 3 late days"},
    {11, "dates: {deadline: 2026-02-01 00:00 Z, too_late: never}",
     "lab.yaml:11:49: unknown value of 'too_late': 'never' (known: "
     "zero, marks)"},
    {12, "commits: {author: \"A<b\", email: a@b, date: 2026-01-01 00:00 Z}",
     "lab.yaml:12:10: commits: '<', '>' and line ends cannot stand in an "
     "author, nor blanks in an e-mail address"},
};

static void expect_message(const struct bad_line *row)
{
  struct arena arena = {0};
  struct lab lab = {.id = "untouched"};
  char *message;
  int rc = read_with((size_t)row->line, row->text, &lab, &arena, &message);
  cr_expect_eq(rc, LG_EINPUT, "%s", row->text);
  cr_expect_str_eq(message, row->message);
  cr_expect_str_eq(lab.id, "untouched");
  free(message);
  arena_release(&arena);
}

Test(labfile, each_mistake_is_named_with_its_place)
{
  for (size_t i = 0; i < sizeof(bad_lines) / sizeof(bad_lines[0]); i++)
    expect_message(&bad_lines[i]);
}

Test(labfile, a_mistake_of_form_does_not_hide_the_others)
{
  static const struct bad_line rows[] = {
      {3,
       "id: again\nmachine: {harts: 9, harts: 2, *a : 1}\nrostr: x\n"
       "title: [*a, *a]",
       "lab.yaml:3:1: key 'id' is there twice (first on line 1)\n"
       "lab.yaml:4:21: key 'harts' is there twice (first on line 4)\n"
       "lab.yaml:4:31: anchors and aliases are not supported: write the value "
       "out\n"
       "lab.yaml:6:9: anchors and aliases are not supported: write the value "
       "out\n"
       "lab.yaml:6:13: anchors and aliases are not supported: write the value "
       "out\n"
       "lab.yaml:6:1: key 'title' is there twice (first on line 2)\n"
       "lab.yaml:5:1: unknown key 'rostr' (did you mean 'roster'?)\n"
       "lab.yaml:4:18: 'harts' must lie between 1 and 8, not be 9"},
      // What is wrong is not called missing too, nor looked at.
      {12, "commits: {author: *x, email: \"a\\0b\", date: &d never}",
       "lab.yaml:12:19: anchors and aliases are not supported: write the value "
       "out\n"
       "lab.yaml:12:30: text must not hold a NUL character\n"
       "lab.yaml:12:44: anchors and aliases are not supported: write the value "
       "out\n"
       "lab.yaml:12:44: 'date' needs a time such as '2026-12-01 23:59 +01:00', "
       "with its offset from UTC; not 'never'"},
      {12, "commits: *x\nclinc: 1",
       "lab.yaml:12:10: anchors and aliases are not supported: write the value "
       "out\n"
       "lab.yaml:13:1: unknown key 'clinc' (did you mean 'clinic'?)"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    expect_message(&rows[i]);
}

Test(labfile, a_missing_file_is_named_with_the_places_looked_at)
{
  struct arena arena = {0};
  struct lab lab;
  char *message;
  cr_expect_eq(read_with(6, "roster: none.csv", &lab, &arena, &message),
               LG_EINPUT);
  const char *want = "lab.yaml:6:9: no file 'none.csv' (looked in ";
  cr_expect_eq(strncmp(message, want, strlen(want)), 0, "%s", message);
  free(message);
  arena_release(&arena);
}

Test(labfile, control_characters_of_the_file_do_not_reach_the_terminal)
{
  struct arena arena = {0};
  struct lab lab;
  char *message;
  cr_expect_eq(read_with(2, "\"a\\e[2J\\nb\": x", &lab, &arena, &message),
               LG_EINPUT);
  cr_expect(strchr(message, '\033') == NULL && strstr(message, "\\x1b[2J"),
            "%s", message);
  free(message);
  arena_release(&arena);
}

static int parse(const char *bytes, size_t len, struct error *err)
{
  struct arena arena = {0};
  const struct node *root = NULL;
  int rc = yaml_parse("f.yaml", bytes, len, &arena, &root, err);
  arena_release(&arena);
  return rc;
}

Test(yaml, what_is_no_single_document_is_refused)
{
  static const char *const rows[][2] = {
      {"", "f.yaml:1:1: the file is empty"},
      {"a: 1\n---\nb: 2\n", "f.yaml:2:1: more than one document"},
      {"a: [1\n", "f.yaml:2:1: did not find expected ',' or ']'"},
      {"? [a]\n: b\n", "f.yaml:1:3: a key must be text"},
      {"a: \"x\\0y\"\n", "f.yaml:1:4: text must not hold a NUL character"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct error err = {0};
    cr_expect_eq(parse(rows[i][0], strlen(rows[i][0]), &err), LG_EINPUT);
    cr_expect_str_eq(err.message, rows[i][1]);
    error_release(&err);
  }
  struct buf aliases = BUF_INIT;
  for (int i = 0; i < 1000; i++)
    buf_adds(&aliases, "- *a\n");
  struct error many = {0};
  cr_expect_eq(parse(aliases.data, aliases.len, &many), LG_EINPUT);
  cr_expect(strstr(many.message,
                   "\nf.yaml:50:3: so many mistakes; the rest of "
                   "the file was not read"),
            "%s", many.message);
  error_release(&many);
  buf_release(&aliases);
  struct error err = {0};
  cr_expect_eq(parse("a: \xff\n", 5, &err), LG_EINPUT);
  cr_expect_eq(strncmp(err.message, "f.yaml: byte 3:", 15), 0, "%s",
               err.message);
  error_release(&err);
}

Test(yaml, depth_and_size_are_bounded)
{
  struct buf deep = BUF_INIT, wide = BUF_INIT;
  struct error err = {0};
  for (int i = 0; i < 100; i++)
    buf_adds(&deep, "[");
  cr_expect_eq(parse(deep.data, deep.len, &err), LG_EINPUT);
  cr_expect_str_eq(err.message, "f.yaml:1:34: too deep or too large");
  error_release(&err);
  buf_adds(&wide, "[");
  for (int i = 0; i < 200001; i++)
    buf_adds(&wide, "a,");
  buf_adds(&wide, "]");
  cr_expect_eq(parse(wide.data, wide.len, &err), LG_EINPUT);
  cr_expect(strstr(err.message, "too deep or too large"), "%s", err.message);
  error_release(&err);
  buf_release(&deep);
  buf_release(&wide);
}

Test(secret, the_demo_secret_is_good_for_its_roster_alone)
{
  struct lab lab = {.secret = {.at = {"lab.yaml", 5, 3}, .env = "LG_SECRET"}};
  struct roster roster = {0};
  struct buf secret = BUF_INIT;
  struct error err = {0};
  memset(roster.hash, 0xab, sizeof(roster.hash));
  struct buf demo = BUF_INIT;
  buf_adds(&demo, "demo ");
  for (int i = 0; i < 32; i++)
    buf_adds(&demo, "ab");
  setenv("LG_SECRET", buf_str(&demo), 1);
  cr_expect_eq(lab_read_secret(&lab, &roster, &secret, &err), 0);
  cr_expect_str_eq(buf_str(&secret), buf_str(&demo));
  roster.hash[31] = 0;
  cr_expect_eq(lab_read_secret(&lab, &roster, &secret, &err), LG_EINPUT);
  cr_expect(strstr(err.message,
                   "lab.yaml:5:3: secret: the demo's secret is "
                   "public"),
            "%s", err.message);
  error_release(&err);
  setenv("LG_SECRET", "short", 1);
  cr_expect_eq(lab_read_secret(&lab, &roster, &secret, &err), LG_EINPUT);
  cr_expect(strstr(err.message, "at least 16 bytes"), "%s", err.message);
  error_release(&err);
  unsetenv("LG_SECRET");
  cr_expect_eq(lab_read_secret(&lab, &roster, &secret, &err), LG_EINPUT);
  cr_expect(strstr(err.message, "LG_SECRET is not set"), "%s", err.message);
  error_release(&err);
  lab.secret.file = "no/secret";
  cr_expect_eq(lab_read_secret(&lab, &roster, &secret, &err), LG_EINPUT);
  cr_expect(strstr(err.message, "5:3: secret: no file 'no/secret'"), "%s",
            err.message);
  error_release(&err);
  buf_release(&secret);
  buf_release(&demo);
}

Test(when, formats_what_it_parses)
{
  struct when w;
  char text[40];
  cr_assert_eq(when_parse("2024-02-29T12:30:05-03:30", &w), 0);
  cr_expect_eq(w.seconds, 1709222405);
  cr_expect_eq(w.offset_minutes, -210);
  when_format(&w, text, sizeof(text));
  cr_expect_str_eq(text, "2024-02-29 12:30:05 -03:30");
  static const char *const bad[] = {"",
                                    "2024-1-01 00:00 Z",
                                    "24-01-01 00:00 Z",
                                    "2024-01-01 24:00 Z",
                                    "2024-01-01 00:60 Z",
                                    "2024-01-01 00:00 Zx",
                                    "2023-02-29 00:00 Z",
                                    "2024-01-01 00:00 +15:00"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    cr_expect_eq(when_parse(bad[i], &w), LG_EINPUT, "%s", bad[i]);
  cr_expect_eq(w.seconds, 1709222405);
}

// Looks for each key of a schema, and of those within it, in a manual page.
static void expect_documented(const struct schema *s, const char *page)
{
  for (const struct field *f = s->fields; f->key; f++) {
    cr_expect(strstr(page, f->key), "docs/labgen-lab.5 does not name '%s' (%s)",
              f->key, s->name);
    if (f->sub)
      expect_documented(f->sub, page);
  }
}

Test(manual, every_key_is_in_it)
{
  const char *data;
  struct buf page = BUF_INIT;
  cr_assert_eq(data_dir(&data, NULL), 0);
  char *path = path_join(data, "docs/labgen-lab.5");
  cr_assert_eq(file_read(path, 1 << 20, &page, NULL), 0);
  expect_documented(&lab_schema, buf_str(&page));
  expect_documented(&bug_schema, buf_str(&page));
  expect_documented(&commit_schema, buf_str(&page));
  expect_documented(&rendering_schema, buf_str(&page));
  buf_release(&page);
  free(path);
}
