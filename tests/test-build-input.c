// What labgen build and show say when something in the lab is wrong: where, what,
// and what to do; and that nothing is written then.
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/file.h"
#include "tests/lib-lab.h"

// One change of a file of the toy lab, and what must be said of it.
struct mistake {
  const char *file, *old, *new, *said;
};

static const struct mistake mistakes[] = {
    {"lab.yaml", "kernel/kalloc.c]", "kernel/kaloc.c]",
     "lab.yaml:15:13: submission: the reference has no file 'kernel/kaloc.c' "
     "(did you mean 'kernel/kalloc.c'?)"},
    {"lab.yaml", "kernel/kalloc.c]",
     "kernel/kalloc.c], functions: [{file: kernel/main.c, function: main}]",
     "lab.yaml:15:52: submission: the reference's kernel/main.c defines no "
     "function 'main'"},
    {"lab.yaml", "[{}, {}]", "[{classes: [sum]}, {}]",
     "lab.yaml:14:11: the catalogue has no class 'sum' (did you mean 'sums'?)"},
    {"lab.yaml", "roster.csv", "none.csv", "lab.yaml:6:9: no file 'none.csv'"},
    {"roster.csv", "s2,", "S1,",
     "roster.csv:3:1: line 2 has this id already (upper and lower case count "
     "as the same): 'S1'"},
    {"roster.csv", "s2,", "../s2,", "roster.csv:3:1: an id starts with"},
    {"roster.csv", "s2,", "s/2,", "roster.csv:3:1: an id has only letters"},
    {"roster.csv", "s2,", "s\0012,", "roster.csv:3:1: an id has only letters"},
    {"secret", "a secret for the tests", "short",
     "lab.yaml:5:9: secret: at least 16 bytes are needed; make one with"},
    {"secret", "a secret for the tests", "demo 0123456789abcdef",
     "lab.yaml:5:9: secret: the demo's secret is public"},
    {"classes.yaml", "id: sums", "id: summs",
     "minus-one.yaml:1:1: unknown class 'sums' (did you mean 'summs'?)"},
    {"reference/commit.yaml", "message", "mesage",
     "commit.yaml:1:1: unknown key 'mesage' (did you mean 'message'?)"},
};

Test(build_input, each_mistake_is_said_with_its_place_and_nothing_is_written)
{
  for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
    const struct mistake *m = &mistakes[i];
    struct toy_lab lab;
    struct buf out = BUF_INIT;
    toy_lab_make(&lab, 2);
    toy_lab_change(&lab, m->file, m->old, m->new);
    TOY_BUILD(&lab, 2, &out, NULL);
    expect_said(&out, m->said);
    char *path = toy_lab_path(&lab, "out");
    cr_expect_not(file_exists(path), "%s", m->said);
    free(path);
    buf_release(&out);
    toy_lab_remove(&lab);
  }
}

// Runs labgen show with further arguments, and expects its status and words.
static void expect_show(const struct toy_lab *lab, int status, const char *said,
                        const char *const *args)
{
  struct buf out = BUF_INIT;
  const char *argv[12] = {"show", "-c", "lab.yaml"};
  for (size_t n = 3; *args && n < 11; args++)
    argv[n++] = *args;
  cr_expect_eq(toy_lab_run(lab, &out, argv), status, "%s", buf_str(&out));
  expect_said(&out, said);
  buf_release(&out);
}
#define SHOW(lab, status, said, ...) \
  expect_show(lab, status, said, (const char *const[]){__VA_ARGS__, NULL})

Test(show, a_student_and_a_key_are_what_build_made)
{
  struct toy_lab lab;
  struct buf out = BUF_INIT, key = BUF_INIT;
  toy_lab_make(&lab, 1);
  toy_lab_write(&lab, "roster.csv", "id,name,room\ns1,\"One, S\",B 12\n");
  SHOW(&lab, 2, "out/keys/s1.json is not there; 'labgen build -c lab.yaml",
       "key", "s1");
  TOY_BUILD(&lab, 0, NULL, "--no-kernels");
  SHOW(&lab, 0, "name: One, S\n", "student", "s1");
  SHOW(&lab, 0, "room: B 12\n", "student", "s1");
  SHOW(&lab, 0, "\"clinic\":\"out/clinic/s1\"", "student", "s1");
  SHOW(&lab, 0, "kernel/kalloc.c, in ", "key", "s1");
  cr_assert_eq(
      TOY_RUN(&lab, &out, "show", "-c", "lab.yaml", "--json", "key", "s1"), 0);
  char *path = toy_lab_path(&lab, "out/keys/s1.json");
  cr_assert_eq(file_read(path, 1 << 20, &key, NULL), 0);
  json_t *shown = json_loads(buf_str(&out), 0, NULL);
  json_t *kept = json_loads(buf_str(&key), 0, NULL);
  cr_assert(shown && kept);
  cr_expect(json_equal(shown, kept), "%s", buf_str(&out));
  json_decref(shown);
  json_decref(kept);
  free(path);
  buf_release(&out);
  buf_release(&key);
  toy_lab_remove(&lab);
}

Test(show, an_unknown_student_is_a_usage_error_with_a_suggestion)
{
  struct toy_lab lab;
  toy_lab_make(&lab, 1);
  toy_lab_write(&lab, "roster.csv", "id,name\nannabel,A\n");
  SHOW(&lab, 2, "no student 'anabel' in roster.csv (did you mean 'annabel'?)",
       "key", "anabel");
  SHOW(&lab, 2, "(did you mean 'annabel'?)", "--json", "student", "ANNABEL");
  SHOW(&lab, 2, "no student '../annabel'", "student", "../annabel");
  SHOW(&lab, 2, "takes one student's id", "student");
  toy_lab_remove(&lab);
}
