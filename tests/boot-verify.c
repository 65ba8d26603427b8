// labgen verify from the outside: the exit status, what it prints, and going on
// where it stopped.
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"

// Compiling the course's tree, and two subjects' boots, on a busy host.
TestSuite(verify, .timeout = 1200);

static struct child_result run(const char *const *argv)
{
  struct child_spec spec = {.argv = argv, .merge_stderr = true};
  struct child_result result = {0};
  cr_assert_eq(child_run(&spec, &result, NULL), 0);
  return result;
}

static void expect(const struct child_result *r, int status, const char *words)
{
  cr_expect_eq(r->status, status, "%s", buf_str(&r->out));
  cr_expect(strstr(buf_str(&r->out), words) != NULL, "'%s' is not in:\n%s",
            words, buf_str(&r->out));
}

struct newest {
  const char *folder;
  struct timespec time;
};

static int look_at(void *arg, const char *name, struct error *err)
{
  struct newest *n = arg;
  char *path = path_join(n->folder, name);
  struct stat st;

  (void)err;
  if (stat(path, &st) == 0 && (st.st_mtim.tv_sec > n->time.tv_sec ||
                               (st.st_mtim.tv_sec == n->time.tv_sec &&
                                st.st_mtim.tv_nsec > n->time.tv_nsec)))
    n->time = st.st_mtim;
  free(path);
  return 0;
}

// When the newest trial was made.
static struct timespec newest_trial(const char *out)
{
  char *folder = path_join(out, "trials");
  struct newest n = {.folder = folder};
  cr_assert_eq(file_walk(folder, look_at, &n, NULL), 0);
  free(folder);
  return n.time;
}

static json_t *read_json(const char *out)
{
  char *path = path_join(out, "verify.json");
  json_t *json = json_load_file(path, 0, NULL);
  cr_assert(json != NULL, "no %s", path);
  free(path);
  return json;
}

// A lab whose start is declared to pass everything, which it does not.
static char *write_wrong_lab(const char *folder)
{
  struct buf lab = BUF_INIT, rubric = BUF_INIT;
  char *lab_path = path_join(folder, "config.yaml");
  char *rubric_path = path_join(folder, "rubric.yaml");

  cr_assert_eq(file_read("config.yaml", 1 << 20, &lab, NULL), 0);
  cr_assert_eq(file_read("graders/percpu-kalloc.yaml", 1 << 20, &rubric, NULL),
               0);
  const char *start = strstr(buf_str(&rubric), "start_fails: ");
  cr_assert(start != NULL);
  buf_splice(&rubric, (size_t)(start - rubric.data), strcspn(start, "\n"),
             "start_fails: []", 15);
  const char *folder_key = strstr(buf_str(&rubric), "designs: ../");
  cr_assert(folder_key != NULL);
  buf_splice(&rubric, (size_t)(folder_key - rubric.data) + 9, 3, "", 0);
  const char *key = strstr(buf_str(&lab), "\nrubric: ");
  if (key != NULL)
    buf_splice(&lab, (size_t)(key - lab.data), strcspn(key + 1, "\n") + 1, "",
               0);
  buf_adds(&lab, "\nrubric: rubric.yaml\n");
  cr_assert_eq(file_write(lab_path, lab.data, lab.len, 0644, NULL), 0);
  cr_assert_eq(file_write(rubric_path, rubric.data, rubric.len, 0644, NULL), 0);
  buf_release(&lab);
  buf_release(&rubric);
  free(rubric_path);
  return lab_path;
}

struct copying {
  const char *from, *to;
};

static int copy_file(void *arg, const char *name, struct error *err)
{
  const struct copying *c = arg;
  struct buf text = BUF_INIT;
  char *from = path_join(c->from, name), *to = path_join(c->to, name);
  int rc = file_read(from, 1 << 20, &text, err);
  const char *key = strcmp(name, "page-lost-per-steal.yaml") == 0
                        ? strstr(buf_str(&text), "[page-lost]")
                        : NULL;

  if (key != NULL)
    buf_splice(&text, (size_t)(key - text.data), 11, "[deadlock]", 10);
  if (rc == 0)
    rc = file_write(to, text.data, text.len, 0644, err);
  buf_release(&text);
  free(from);
  free(to);
  return rc;
}

// The lab with a copy of its bugs, one of which is declared to deadlock where it
// loses pages. The trials that are there do.
static void expect_wrong_claim(const char *out)
{
  struct copying bugs = {"solutions/percpu-kalloc/bugs",
                         path_join(out, "solutions/percpu-kalloc/bugs")};
  struct buf lab = BUF_INIT;
  char *path = path_join(out, "copy.yaml");

  cr_assert_eq(file_mkdirs(bugs.to, NULL), 0);
  cr_assert_eq(file_walk(bugs.from, copy_file, &bugs, NULL), 0);
  cr_assert_eq(file_read("config.yaml", 1 << 20, &lab, NULL), 0);
  cr_assert_eq(file_write(path, lab.data, lab.len, 0644, NULL), 0);
  const char *const argv[] = {
      LABGEN_BUILD "/labgen", "verify", "--quick", "-c", path, "-o", out,
      "page-lost-per-steal",  NULL};
  struct timespec before = newest_trial(out);
  struct child_result r = run(argv);
  struct timespec after = newest_trial(out);
  cr_expect(before.tv_sec == after.tv_sec && before.tv_nsec == after.tv_nsec);
  expect(&r, 1, "Not as declared (2)");
  expect(&r, 1,
         "page-lost-per-steal: the explorer's finding 'deadlock', which");
  expect(&r, 1, "declares, came in 0 of 1\n");
  expect(&r, 1,
         "page-lost-per-steal: the explorer's finding 'page-lost', which");
  expect(&r, 1, "does not declare, came in 1 of 1: ");
  char *place = xasprintf("%s/page-lost-per-steal.yaml:", bugs.to);
  expect(&r, 1, place);
  json_t *json = read_json(out);
  cr_expect_eq(json_array_size(json_object_get(json, "differences")), 2);
  json_decref(json);
  child_result_release(&r);
  buf_release(&lab);
  free(place);
  free(path);
  free((char *)bugs.to);
}

Test(verify, subjects_are_judged_as_declared_once_and_differences_are_named)
{
  char *out;
  cr_assert_eq(file_make_temp_dir(NULL, "verify-", &out, NULL), 0);
  const char *const argv[] = {
      LABGEN_BUILD "/labgen", "verify",    "--quick", "-o", out, "start",
      "page-lost-per-steal",  "reference", NULL};
  struct child_result first = run(argv);
  expect(&first, 0, "Everything is as declared.");
  expect(&first, 0, "invariant-lost-pages 1/1");
  json_t *json = read_json(out);
  cr_expect_eq(json_array_size(json_object_get(json, "subjects")), 3);
  cr_expect_eq(json_array_size(json_object_get(json, "differences")), 0);
  json_decref(json);

  // Nothing is booted a second time.
  struct timespec before = newest_trial(out);
  struct child_result second = run(argv);
  struct timespec after = newest_trial(out);
  expect(&second, 0, "Everything is as declared.");
  cr_expect(before.tv_sec == after.tv_sec && before.tv_nsec == after.tv_nsec);

  // The same kernels under a declaration that is wrong.
  char *lab = write_wrong_lab(out);
  const char *const wrong[] = {LABGEN_BUILD "/labgen",
                               "verify",
                               "--quick",
                               "-c",
                               lab,
                               "-o",
                               out,
                               "start",
                               NULL};
  struct child_result third = run(wrong);
  expect(&third, 1, "start: ctrlp-form must not fail and did so in 1 of 1");
  expect(&third, 1, "start: traffic-shared must not fail");

  expect_wrong_claim(out);

  child_result_release(&first);
  child_result_release(&second);
  child_result_release(&third);
  file_remove_tree(out, NULL);
  free(out);
  free(lab);
}

Test(verify, a_name_that_is_no_subject_is_refused_with_what_is_near)
{
  const char *const argv[] = {LABGEN_BUILD "/labgen", "verify", "referense",
                              NULL};
  struct child_result r = run(argv);
  expect(&r, 2, "nothing to verify is called 'referense'");
  expect(&r, 2, "did you mean 'reference'?");
  child_result_release(&r);
}

Test(verify, a_count_that_is_none_is_refused)
{
  const char *const argv[] = {LABGEN_BUILD "/labgen", "verify", "-k", "0",
                              NULL};
  struct child_result r = run(argv);
  expect(&r, 2, "-k takes a number from 1 to 1000");
  child_result_release(&r);
}
