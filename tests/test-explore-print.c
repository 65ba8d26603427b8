// graders/explore/story, table, print: results in JSON and in words.
#include <criterion/criterion.h>
#include <string.h>

#include "graders/explore/print.h"
#include "labgen/base/alloc.h"

static const struct table_words words = {"kalloc", "kfree"};

static struct story_place at(const char *function, int line)
{
  return (struct story_place){xstrdup(function), xstrdup("kalloc.c"), line};
}

static void event(struct story *s, int hart, enum ex_event_kind kind,
                  const char *name, int64_t value, const char *function,
                  int line)
{
  s->event = xreallocarray(s->event, s->events + 1, sizeof *s->event);
  s->event[s->events++] = (struct story_event){.kind = kind,
                                               .thread = hart,
                                               .hart = hart,
                                               .place = at(function, line),
                                               .name = xstrdup(name),
                                               .value = value};
}

// Of the deadlock below, all but what happens.
static struct story no_events(void)
{
  return (struct story){
      .kind = EX_DEADLOCK,
      .key = 5,
      .text = xstrdup("2 harts wait for each other"),
      .name = xstrdup("kmem1"),
      .place = at("steal", 74),
      .program = {.name = xstrdup("p"),
                  .about = xstrdup("about"),
                  .pages = 12,
                  .thread = {{.op = {{OP_ALLOC, 1}}, .count = 1},
                             {.op = {{OP_ALLOC, 2}, {OP_TAKE, 0}},
                              .count = 2}}},
      .harts = {0, 1, 2},
      .preemptions = 1,
      .steps = 8,
      .hash = 0xfedcba9876543210,
      .repeats = true,
      .choice = {{.point = 4, .option = 1}},
      .choices = 1,
      .point = {0x1234},
      .points = 1};
}

// The deadlock of two harts that steal while they hold their own lock.
static struct story deadlock(void)
{
  struct story s = no_events();
  event(&s, 0, EV_TAKES, "kmem0", 0, "kalloc", 101);
  event(&s, 1, EV_TAKES, "kmem1", 0, "kalloc", 101);
  event(&s, 1, EV_TAKES, "kmem2", 0, "steal", 74);
  event(&s, 1, EV_GIVES_BACK, "kmem2", 0, "steal", 76);
  event(&s, 1, EV_TAKES, "kmem3", 0, "steal", 74);
  event(&s, 1, EV_GIVES_BACK, "kmem3", 0, "steal", 76);
  event(&s, 1, EV_WAITS, "kmem0", 0, "steal", 74);
  event(&s, 0, EV_WAITS, "kmem1", 1, "steal", 74);
  event(&s, 0, EV_BREAKS, "", EX_DEADLOCK, "steal", 74);
  return s;
}

Test(explore_table, the_deadlock_reads_as_a_lab_text_tells_it)
{
  struct story s = deadlock();
  struct table t;
  table_make(&s, &words, &t);
  cr_assert_eq(t.columns, 2);
  cr_assert_eq(t.rows, 4);
  cr_assert_str_eq(buf_str(&t.row[0].cell[0]),
                   "takes kmem0 (kalloc:101), its list is empty");
  cr_assert_str_eq(buf_str(&t.row[1].cell[1]),
                   "takes kmem1 (kalloc:101), its list is empty; tries kmem2 "
                   "and kmem3 (steal:74): all empty; waits for kmem0 "
                   "(steal:74), which hart 0 has, holding kmem1");
  cr_assert_str_eq(buf_str(&t.row[1].cell[0]), "");
  cr_assert_str_eq(buf_str(&t.row[2].cell[0]),
                   "waits for kmem1 (steal:74), which hart 1 has, holding "
                   "kmem0");
  cr_assert_str_eq(buf_str(&t.row[3].cell[0]),
                   "waits for kmem1 for ever, interrupts off");
  cr_assert_str_eq(buf_str(&t.row[3].cell[1]),
                   "waits for kmem0 for ever, interrupts off");
  table_release(&t);
  story_release(&s);
}

Test(explore_table, columns_are_harts_and_a_thread_that_moves_changes_them)
{
  struct story s = no_events();
  s.kind = EX_DOUBLE;
  event(&s, 0, EV_CALL_ALLOC, "", 0, "", 0);
  event(&s, 0, EV_READS_HART, "", 0, "kalloc", 9);
  event(&s, 1, EV_MOVES, "", 0, "", 0);
  event(&s, 1, EV_READS, "list", EX_PAGE_VALUE + 3, "kalloc", 10);
  event(&s, 1, EV_BREAKS, "", EX_DOUBLE, "", 0);
  event(&s, 1, EV_GOT, "", 3, "", 0);
  struct table t;
  table_make(&s, &words, &t);
  cr_assert_eq(t.rows, 2);
  cr_assert_str_eq(buf_str(&t.row[0].cell[0]),
                   "calls kalloc; reads its hart's number, 0, with interrupts "
                   "on (kalloc:9)");
  // What comes after the finding is not told.
  cr_assert_str_eq(buf_str(&t.row[1].cell[1]),
                   "a timer interrupt: the thread of hart 0 goes on here; "
                   "reads list (kalloc:10): page 3; 2 harts wait for each "
                   "other (steal:74)");
  table_release(&t);
  story_release(&s);
}

Test(explore_story, json_gives_back_what_was_written)
{
  struct story s = deadlock(), back;
  struct error err = {0};
  json_t *j = story_write(&s);
  cr_assert_eq(story_read(j, &back, &err), 0, "%s", err.message);
  json_t *again = story_write(&back);
  cr_assert(json_equal(j, again));
  cr_assert_eq(back.hash, s.hash);
  cr_assert_eq(back.choice[0].point, 4);
  cr_assert_eq(back.program.thread[1].op[0].number, 2);
  cr_assert_eq(back.program.thread[1].op[1].kind, OP_TAKE);
  json_decref(j);
  json_decref(again);
  story_release(&s);
  story_release(&back);
}

static void refuse(const char *text, const char *words_in_error)
{
  struct story s = {.steps = 77};
  struct error err = {0};
  json_t *j = json_loads(text, 0, NULL);
  cr_assert_not_null(j);
  cr_assert_eq(story_read(j, &s, &err), LG_EINPUT);
  cr_assert_not_null(strstr(err.message, words_in_error), "%s", err.message);
  cr_assert_eq(s.steps, 77);
  error_release(&err);
  json_decref(j);
}

Test(explore_story, a_file_that_is_no_finding_is_refused)
{
  refuse("{}", "there is no finding ''");
  refuse("{\"kind\": \"deadlock\"}", "no number of pages");
  refuse(
      "{\"kind\": \"deadlock\", \"program\": {\"pages\": 5, \"harts\": "
      "[[\"give 7\"]]}}",
      "number too large");
  refuse(
      "{\"kind\": \"deadlock\", \"program\": {\"pages\": 5}, \"events\": "
      "[{\"kind\": \"x\"}]}",
      "event 0");
}

Test(explore_story, equal_findings_are_one_and_the_shorter_is_kept)
{
  struct stories all = {0};
  struct story a = deadlock(), b = deadlock(), c = deadlock();
  a.steps = 9;
  b.steps = 7;
  c.preemptions = 2;
  c.steps = 1;
  stories_add(&a, &all);
  stories_add(&b, &all);
  stories_add(&c, &all);
  cr_assert_eq(all.findings, 1);
  cr_assert_eq(all.finding[0].steps, 7);
  stories_release(&all);
}

static struct stories everything(void)
{
  struct stories all = {.schedules = 40};
  struct story s = deadlock();
  free(s.event[0].name);
  s.event[0].name = xstrdup("<b>|\x1b[31m");
  stories_add(&s, &all);
  all.note = xcalloc(1, sizeof *all.note);
  all.notes = 1;
  all.note[0] = (struct story){.kind = EX_RACE,
                               .text = xstrdup("changes it"),
                               .name = xstrdup("a[0]"),
                               .place = at("f", 3)};
  return all;
}

Test(explore_print, what_students_wrote_is_escaped_in_every_format)
{
  static const char *const safe[] = {"<b>|\\x1b[31m", "\\<b\\>\\|",
                                     "&lt;b&gt;|"};
  struct stories all = everything();
  for (int f = PRINT_TEXT; f <= PRINT_HTML; f++) {
    struct buf b = BUF_INIT;
    print_all(&all, &words, 2, (enum print_format)f, 100, &b);
    cr_assert_null(strchr(buf_str(&b), '\x1b'));
    cr_assert_not_null(strstr(buf_str(&b), safe[f]), "%s", buf_str(&b));
    cr_assert_not_null(strstr(buf_str(&b), "changes it"), "%s", buf_str(&b));
    buf_release(&b);
  }
  stories_release(&all);
}

Test(explore_print, lines_of_a_text_table_are_equally_long)
{
  struct stories all = everything();
  for (int width = 50; width < 130; width += 7) {
    struct buf b = BUF_INIT;
    print_finding(&all.finding[0], &words, PRINT_TEXT, width, &b);
    size_t wide = 0, rows = 0;
    for (const char *s = buf_str(&b); *s;) {
      size_t len = strcspn(s, "\n");
      if (len > 5 && (s[5] == '|' || s[5] == '+')) {
        cr_assert(wide == 0 || len == wide, "%zu and %zu", wide, len);
        wide = len;
        rows++;
      }
      s += len + 1;
    }
    cr_assert_geq(rows, 6);
    buf_release(&b);
  }
  stories_release(&all);
}

Test(explore_print, what_was_explored_is_said_with_what_was_left_out)
{
  struct story_coverage done = {.program = "p", .complete = {1, 1, 1}};
  struct story_coverage open = {.program = "q", .complete = {1, 1, 0}};
  struct story_coverage both[] = {done, open};
  struct stories s = {.coverage = both, .coverages = 1, .schedules = 7};
  struct buf b = BUF_INIT;
  print_coverage(&s, 2, PRINT_TEXT, &b);
  cr_assert_str_eq(buf_str(&b),
                   "Nothing found within bound 2 of these programs. 7 "
                   "schedules of 1 programs were run, with at most 2 "
                   "preemptions each.\n");
  buf_truncate(&b, 0);
  s.coverages = 2;
  print_coverage(&s, 2, PRINT_TEXT, &b);
  cr_assert_not_null(strstr(buf_str(&b), "1 program had more schedules"));
  buf_truncate(&b, 0);
  both[1].cut = true;
  print_coverage(&s, 2, PRINT_TEXT, &b);
  cr_assert_not_null(strstr(buf_str(&b), "Not finished, nothing found yet"));
  cr_assert_not_null(strstr(buf_str(&b), "not judged"));
  buf_truncate(&b, 0);
  struct story found[] = {{.kind = EX_DEADLOCK}, {.kind = EX_LOST}};
  s.finding = found;
  s.findings = 2;
  print_coverage(&s, 2, PRINT_TEXT, &b);
  cr_assert_not_null(strstr(buf_str(&b), "2 findings: deadlock, page-lost. "));
  cr_assert_null(strstr(buf_str(&b), "nothing found"));
  buf_release(&b);
}
