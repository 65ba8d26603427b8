// The kill matrix: what labgen verify says of trials, made up here.
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "graders/verify.h"
#include "labgen/base/alloc.h"

enum { BOOTS = 4, CHECKS = 2, LIMITS = 2 };

static struct traffic_limit limits[LIMITS] = {
    {.step = TRAFFIC_OWN, .count = TRAFFIC_SHARED, .most = 20},
    {.step = TRAFFIC_STEAL, .count = TRAFFIC_AWAY, .most = 40}};
static struct check checks[CHECKS] = {
    {.id = "pages", .title = "Pages"},
    {.id = "traffic", .title = "Traffic", .limits = {limits, LIMITS}}};
static const struct rubric rubric = {.checks = {checks, CHECKS}};

static const char *const fails_traffic[] = {"traffic"};
static const char *const fails_pages[] = {"pages"};
static const char *const finds_lost[] = {"page-lost"};
static struct subject all[] = {
    {.id = "reference", .title = "It", .kind = SUBJECT_REFERENCE},
    {.id = "greedy",
     .title = "Takes <all>",
     .kind = SUBJECT_WASTEFUL,
     .fails = {(const char **)fails_traffic, 1}},
    {.id = "careless",
     .title = "Loses",
     .kind = SUBJECT_BUG,
     .fails = {(const char **)fails_pages, 1},
     .explore = {.at = {"careless.yaml", 7, 3},
                 .findings = {(const char **)finds_lost, 1}}},
};
enum { SUBJECTS = 3 };
static const struct subjects subjects = {.items = all, .count = SUBJECTS};

static struct trial trials[SUBJECTS][BOOTS];
static struct trial *rows[SUBJECTS] = {trials[0], trials[1], trials[2]};
static const struct verify_result result = {
    .rubric = &rubric, .subjects = &subjects, .trials = rows, .boots = BOOTS};

static void set(size_t subject, int boot, enum verdict pages,
                enum verdict traffic, long marks, double shared, double away)
{
  struct trial *t = &trials[subject][boot];
  t->verdicts[0] = pages;
  t->verdicts[1] = traffic;
  t->marks = marks;
  t->measured[0] = shared;
  t->measured[1] = away;
}

static char lost_words[] = "a page <is> lost";
static struct said says_lost = {.kind = EX_LOST, .text = lost_words};

// Everything is as declared, to be spoilt.
static void make_trials(void)
{
  static enum verdict verdicts[SUBJECTS][BOOTS][CHECKS];
  static char *texts[SUBJECTS][BOOTS][CHECKS];
  static double measured[SUBJECTS][BOOTS][LIMITS];
  static char nothing[] = "", lost[] = "2 pages <are> lost\nand more";

  for (size_t s = 0; s < SUBJECTS; s++)
    for (int b = 0; b < BOOTS; b++) {
      trials[s][b] = (struct trial){.verdicts = verdicts[s][b],
                                    .texts = texts[s][b],
                                    .measured = measured[s][b]};
      texts[s][b][0] = s == 2 ? lost : nothing;
      texts[s][b][1] = nothing;
    }
  for (int b = 0; b < BOOTS; b++) {
    set(0, b, VERDICT_PASS, VERDICT_PASS, 15, b, 12.5);
    set(1, b, VERDICT_PASS, VERDICT_FAIL, 5, 0, 90 + b);
    set(2, b, VERDICT_FAIL, VERDICT_NOT_REACHED, 0, -1, -1);
    trials[0][b].said = trials[1][b].said =
        (struct explore_said){.explored = true};
    trials[2][b].said =
        (struct explore_said){.explored = true, .all = &says_lost, .count = 1};
    trials[1][b].named_ms = 2000;
    trials[2][b].named_ms = 1200 + 100 * b;
  }
}

TestSuite(matrix, .init = make_trials);

static void expect(char *text, const char *words)
{
  cr_expect(strstr(text, words) != NULL, "'%s' is not in:\n%s", words, text);
}

static char *text_of(void (*form)(const struct verify_result *, struct buf *))
{
  struct buf b = BUF_INIT;
  form(&result, &b);
  return buf_detach(&b);
}

Test(matrix, says_how_often_each_was_caught_and_how_far_counts_are_off)
{
  char *text = text_of(verify_text);

  expect(text, "marks 15\n");
  expect(text, "marks 5  traffic 4/4  (after 2.0 s)\n");
  expect(text,
         "marks 0  pages 4/4  explorer: page-lost 4  (after 1.2 to 1.5 s)\n");
  // A limit that a wasteful design does not exceed is not what fails it.
  expect(text, "at most  20; passing 0.0 to 3.0, margin 17.0\n");
  expect(text,
         "at most  40; passing 12.5 to 12.5, margin 27.5; "
         "failing 90.0 to 93.0, margin 50.0\n");
  expect(text, "Everything is as declared.");
  free(text);
}

Test(matrix, says_what_is_not_as_declared)
{
  struct buf lines = BUF_INIT;

  set(0, 1, VERDICT_FAIL, VERDICT_PASS, 10, 0, 12.5);
  set(2, 3, VERDICT_PASS, VERDICT_NOT_REACHED, 0, -1, -1);
  cr_expect_eq(verify_differences(&result, &lines), 3);
  expect(lines.data, "reference: marks from 10 to 15 for the same submission");
  expect(lines.data, "reference: pages must not fail and did so in 1 of 4");
  expect(lines.data, "careless: pages must fail and did so in 3 of 4");
  buf_release(&lines);
}

Test(matrix, says_what_the_explorer_says_and_nobody_declares)
{
  struct buf lines = BUF_INIT;

  trials[0][1].said = trials[2][0].said;
  cr_expect_eq(verify_differences(&result, &lines), 1, "%s", buf_str(&lines));
  expect(lines.data,
         "reference: the explorer's finding 'page-lost', which nothing "
         "declares, came in 1 of 4: a page <is> lost\n");
  buf_release(&lines);
  // Where a page is to be lost, a note of it is another thing.
  trials[0][1].said.all = NULL;
  trials[0][1].said.count = 0;
  struct said note = {.kind = EX_RACE, .note = true, .text = lost_words};
  trials[2][2].said.all = &note;
  cr_expect_eq(verify_differences(&result, &lines), 2, "%s", buf_str(&lines));
  expect(lines.data,
         "careless: the explorer's finding 'page-lost', which careless.yaml:7 "
         "declares, came in 3 of 4\n");
  expect(lines.data,
         "careless: the explorer's note 'data-race', which careless.yaml:7 "
         "does not declare, came in 1 of 4: a page <is> lost\n");
  buf_release(&lines);
}

Test(matrix, an_exploration_that_was_cut_off_proves_nothing)
{
  struct buf lines = BUF_INIT;

  for (int b = 0; b < BOOTS; b++)
    trials[2][b].said = (struct explore_said){
        .explored = b > 1, .all = &says_lost, .count = b > 1};
  cr_expect_eq(verify_differences(&result, &lines), 0, "%s", buf_str(&lines));
  static char words[] = "undefined reference to `sleep'\nand more";
  trials[2][3].said.refused = words;
  cr_expect_eq(verify_differences(&result, &lines), 1);
  expect(lines.data,
         "careless: the explorer cannot take it: undefined reference to "
         "`sleep'\n");
  buf_release(&lines);
}

Test(matrix, a_name_that_the_explorer_does_not_have_is_a_difference)
{
  static const char *const wrong[] = {"page-lots"};
  struct buf lines = BUF_INIT;

  all[2].explore.notes = (struct texts){(const char **)wrong, 1};
  cr_expect_eq(verify_differences(&result, &lines), 1, "%s", buf_str(&lines));
  expect(lines.data,
         "careless: 'page-lots', which careless.yaml:7 declares, is no note of "
         "the explorer\n");
  buf_release(&lines);
}

Test(matrix, a_trial_that_was_not_judged_is_counted_apart)
{
  struct buf lines = BUF_INIT;

  set(0, 2, VERDICT_PASS, VERDICT_NOT_JUDGED, 5, -1, -1);
  set(2, 0, VERDICT_NOT_JUDGED, VERDICT_NOT_JUDGED, 0, -1, -1);
  cr_expect_eq(verify_differences(&result, &lines), 0, "%s", buf_str(&lines));
  cr_expect_eq(verify_unjudged(&result, 0), 1);
  cr_expect_eq(verify_unjudged(&result, 1), 0);
  cr_expect_eq(verify_unjudged(&result, 2), 1);
  char *text = text_of(verify_text);
  expect(text, "marks 15  traffic ?1\n");
  expect(text,
         "marks 0  pages 3/4  traffic ?1  explorer: page-lost 4  (after 1.2 to "
         "1.5 s)\n");
  expect(text, "careless: not judged in 1 of 4 trials\n");
  free(text);
  buf_release(&lines);
}

Test(matrix, the_page_shows_every_cell_and_escapes_what_it_was_told)
{
  char *page = text_of(verify_html);

  expect(page, "<td title=\"Takes &lt;all&gt;\">greedy<td class=n>5");
  expect(page, "<td class=\"killed\" title=\"2 pages &lt;are&gt; lost\">4/4");
  expect(page, "<td class=\"ok\" title=\"\">-");
  expect(page, "<td class=\"killed\" title=\"notes:\"> page-lost 4");
  cr_expect(strstr(page, "\"missed\"") == NULL);
  free(page);
  set(2, 3, VERDICT_PASS, VERDICT_NOT_REACHED, 0, -1, -1);
  page = text_of(verify_html);
  expect(page, "<td class=\"missed\" title=\"2 pages &lt;are&gt; lost\">3/4");
  free(page);
}

Test(matrix, the_json_has_the_same_in_numbers)
{
  char *text = text_of(verify_json);
  json_t *all_of = json_loads(text, 0, NULL), *first, *fails;
  json_t *subject = json_array_get(json_object_get(all_of, "subjects"), 2);
  const char *id = "";
  double low = 0, high = 0;
  int failed = 0, must = 0;

  cr_assert_eq(
      json_unpack(subject, "{s:s, s:{s:{s:i, s:b}}}", "id", &id, "checks",
                  "pages", "fail", &failed, "must fail", &must),
      0);
  cr_expect_str_eq(id, "careless");
  cr_expect_eq(failed, 4);
  cr_expect(must);
  int explored = 0, times = 0;
  cr_assert_eq(
      json_unpack(subject, "{s:{s:i, s:{s:i}}}", "explorer", "explored",
                  &explored, "findings", "page-lost", &times),
      0);
  cr_expect_eq(explored, 4);
  cr_expect_eq(times, 4);
  first = json_array_get(json_object_get(all_of, "limits"), 0);
  cr_expect(json_object_get(first, "failing") == NULL);
  fails = json_array_get(json_object_get(all_of, "limits"), 1);
  cr_assert_eq(json_unpack(fails, "{s:[FF]}", "failing", &low, &high), 0);
  cr_expect_float_eq(low, 90, 0.001);
  cr_expect_float_eq(high, 93, 0.001);
  cr_expect_eq(json_array_size(json_object_get(all_of, "differences")), 0);
  json_decref(all_of);
  free(text);
}
