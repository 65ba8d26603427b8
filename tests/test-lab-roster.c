// Rosters: what is read, and what is refused with its line.
#include <criterion/criterion.h>
#include <string.h>

#include "labgen/lab/roster.h"

static int parse(const char *path, const char *text, struct roster *ret,
                 struct error *err)
{
  return roster_parse(path, text, strlen(text), ret, err);
}

Test(roster, quotes_crlf_byte_order_mark_and_further_columns)
{
  struct roster r;
  struct error err = {0};
  const char *text =
      "\xef\xbb\xbfid,section,name,canvas_id,email\r\n"
      "ada,A,\"Lovelace, Ada\",7,ada@example.org\r\n"
      "\r\n"
      "bo,B,\"Bo \"\"the\"\" B\xc3\xb8\",8,\r\n";
  cr_assert_eq(parse("r.csv", text, &r, &err), 0, "%s", err.message);
  cr_assert_eq(r.count, 2);
  cr_expect_str_eq(r.students[0].name, "Lovelace, Ada");
  cr_expect_str_eq(r.students[0].section, "A");
  cr_expect_str_eq(r.students[1].name, "Bo \"the\" B\xc3\xb8");
  cr_expect_str_eq(r.students[1].email, "");
  cr_expect_eq(r.students[1].line, 4);
  cr_assert_eq(r.column_count, 1);
  cr_expect_str_eq(r.columns[0], "canvas_id");
  cr_expect_str_eq(r.students[1].more[0], "8");
  cr_expect_eq(roster_find(&r, "bo"), &r.students[1]);
  cr_expect_null(roster_find(&r, "BO"));
  roster_release(&r);
}

Test(roster, yaml_gives_the_same_rows)
{
  struct roster r;
  struct error err = {0};
  cr_assert_eq(parse("r.yaml",
                     "- {id: ada, name: \"Lovelace, Ada\"}\n"
                     "- id: bo\n  moodle: '12'\n  section: B\n",
                     &r, &err),
               0, "%s", err.message);
  cr_assert_eq(r.count, 2);
  cr_expect_str_eq(r.students[0].name, "Lovelace, Ada");
  cr_expect_str_eq(r.students[0].more[0], "");
  cr_expect_str_eq(r.students[1].more[0], "12");
  cr_expect_str_eq(r.students[1].section, "B");
  roster_release(&r);
}

static const char *const rejected[][2] = {
    {"",
     "r.csv:1:1: the roster is empty; its first line names the columns: "
     "id,name,email,section"},
    {"id\n", "r.csv:1: the roster has no student"},
    {"name\nx\n", "r.csv:1:1: no column is called 'id'"},
    {"Id\nx\n", "r.csv:1:1: no column is called 'id'; is it meant by 'Id'"},
    {"id,id\nx,y\n", "r.csv:1: two columns have the name 'id'"},
    {"id,name\nx\n", "r.csv:2:1: this line has 1 fields, the first has 2"},
    {"id\n\"x\n", "r.csv:2:1: this quote has no end"},
    {"id\n\"x\"y\n",
     "r.csv:2:4: a comma or the end of the line is needed "
     "here"},
    {"id\n../x\n",
     "r.csv:2:1: an id starts with a letter or a digit, not as "
     "'../x'"},
    {"id\na/b\n",
     "r.csv:2:1: an id has only letters, digits and -_.@+, unlike "
     "'a/b'"},
    {"id\na..b\n",
     "r.csv:2:1: an id has no '..' and no '.' at its end, unlike "
     "'a..b'"},
    {"id\na.\n",
     "r.csv:2:1: an id has no '..' and no '.' at its end, unlike "
     "'a.'"},
    {"id\nx.lock\n",
     "r.csv:2:1: an id does not end in '.lock', unlike "
     "'x.lock'"},
    {"id\n\"\"\n", "r.csv:1: the roster has no student"},
    {"id,name\n,x\n", "r.csv:2:1: the id is empty"},
    {"id\n-rf\n",
     "r.csv:2:1: an id starts with a letter or a digit, not as "
     "'-rf'"},
    {"id\na\033[2Jb\n",
     "r.csv:2:1: an id has only letters, digits and -_.@+, "
     "unlike 'a\\x1b[2Jb'"},
    {"id\n\"a\nb\"\n",
     "r.csv:2:1: an id has only letters, digits and -_.@+, "
     "unlike 'a\\x0ab'"},
    {"id\nada\nbo\nADA\n",
     "r.csv:4:1: line 2 has this id already (upper and "
     "lower case count as the same): 'ADA'"},
    {"id,name\nx,\"a\tb\"\n",
     "r.csv:2:3: this is no UTF-8 text, or has control characters: 'a\\x09b'"},
};

Test(roster, what_is_wrong_is_named_with_its_line)
{
  for (size_t i = 0; i < sizeof(rejected) / sizeof(rejected[0]); i++) {
    struct roster r = {.count = 77};
    struct error err = {0};
    cr_expect_eq(parse("r.csv", rejected[i][0], &r, &err), LG_EINPUT, "%s",
                 rejected[i][0]);
    cr_expect_str_eq(err.message ? err.message : "", rejected[i][1]);
    cr_expect_eq(r.count, 77);
    error_release(&err);
  }
}

Test(roster, text_must_be_utf8_without_overlong_forms_and_surrogates)
{
  static const char *const bad[] = {"\xff",         "\xc3",
                                    "\xc0\xaf",     "\xe0\x80\xaf",
                                    "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                    "\xc2\x80"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    struct roster r;
    struct error err = {0};
    char text[64];
    snprintf(text, sizeof(text), "id,name\nx,%s\n", bad[i]);
    cr_expect_eq(parse("r.csv", text, &r, &err), LG_EINPUT, "row %zu", i);
    error_release(&err);
  }
}

Test(roster, all_mistakes_are_said_at_once)
{
  struct roster r;
  struct error err = {0};
  cr_assert_eq(parse("r.csv", "id\n/\nok\n..\n", &r, &err), LG_EINPUT);
  cr_expect_str_eq(
      err.message,
      "r.csv:2:1: an id starts with a letter or a digit, not as '/'\n"
      "r.csv:4:1: an id starts with a letter or a digit, not as '..'");
  error_release(&err);
}
