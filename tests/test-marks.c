// Marks: verdicts, staff's decisions and lateness.
#include <criterion/criterion.h>
#include <string.h>

#include "graders/marks.h"
#include "graders/record.h"

#define DAY 86400
#define DEADLINE 1000000

static struct check checks[] = {{.id = "one", .marks = 60},
                                {.id = "two", .marks = 45}};
static const struct rubric rubric = {.checks = {checks, 2}};

// What the marks of a record come to that has 60 + `two` by its checks, and was
// handed in so many seconds after the deadline. `decisions` end with no check.
static struct marks finish(const struct lab_dates *dates, long two,
                           int64_t after_s, const struct override *decisions)
{
  struct list overrides = {(void *)decisions, 0};
  while (decisions && decisions[overrides.count].check)
    overrides.count++;
  struct marks_spec spec = {&rubric, dates, &overrides, DEADLINE, 105};
  struct marks m;
  json_t *record = json_pack(
      "{s:s, s:{s:I}, s:[{s:s,s:i},{s:s,s:I}]}", "student", "ada", "submission",
      "handed_in_s", (json_int_t)(DEADLINE + after_s), "checks", "id", "one",
      "marks", 60, "id", "two", "marks", (json_int_t)two);
  cr_assert(record);
  marks_finish(&spec, record, &m);
  const json_t *final = json_object_get(record, "final");
  cr_expect_eq(record_number(final, "marks"), m.total);
  cr_expect_eq(record_number(final, "late_marks_off"), m.off);
  cr_expect_eq(record_number(final, "days_late"), m.days_late);
  json_decref(record);
  return m;
}

static struct lab_dates dates(long days, long penalty, enum too_late too_late)
{
  return (struct lab_dates){.deadline = {true, DEADLINE, 0},
                            .late_days = days,
                            .late_penalty = penalty,
                            .too_late = (int)too_late};
}

static const struct {
  long days, penalty;
  int too_late;
  int64_t after_s;
  long days_late, total;
} rows[] = {
    {3, 10, TOO_LATE_ZERO, 0, 0, 100},
    {3, 10, TOO_LATE_ZERO, -5 * DAY, 0, 100},
    {3, 10, TOO_LATE_ZERO, 1, 1, 90},
    {3, 10, TOO_LATE_ZERO, DAY, 1, 90},
    {3, 10, TOO_LATE_ZERO, 3 * DAY, 3, 70},
    {3, 10, TOO_LATE_ZERO, 3 * DAY + 1, 4, 0},
    {3, 10, TOO_LATE_MARKS, 30 * DAY, 30, 70},
    {3, 0, TOO_LATE_ZERO, 2 * DAY, 2, 100},
    {0, 0, TOO_LATE_ZERO, 1, 1, 0},
    {0, 0, TOO_LATE_MARKS, 1, 1, 100},
};

Test(marks, late_days_take_off_what_the_lab_file_says)
{
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct lab_dates d =
        dates(rows[i].days, rows[i].penalty, (enum too_late)rows[i].too_late);
    struct marks m = finish(&d, 40, rows[i].after_s, NULL);
    cr_expect_eq(m.total, rows[i].total, "row %zu: %ld", i, m.total);
    cr_expect_eq(m.days_late, rows[i].days_late, "row %zu", i);
    cr_expect_eq(m.off, 100 - m.total, "row %zu", i);
    cr_expect_eq(m.too_late, rows[i].days_late > rows[i].days, "row %zu", i);
  }
}

Test(marks, a_part_of_a_mark_is_not_taken_off)
{
  struct lab_dates d = dates(3, 7, TOO_LATE_ZERO);
  cr_assert_eq(finish(&d, 9, 1, NULL).total, 69 - 4);  // 7 % of 69 are 4.83
}

Test(marks, decisions_on_checks_come_before_lateness_and_on_the_total_behind)
{
  static const struct override check[] = {
      {.student = "ada", .check = "two", .marks = 20, .reason = "x"},
      {.check = NULL}};
  static const struct override total[] = {
      {.student = "ada", .check = "total", .marks = 77, .reason = "x"},
      {.check = NULL}};
  static const struct override other[] = {
      {.student = "ben", .check = "total", .marks = 77, .reason = "x"},
      {.check = NULL}};
  struct lab_dates d = dates(3, 10, TOO_LATE_ZERO);
  cr_expect_eq(finish(&d, 40, 1, check).total, 72);
  cr_expect_eq(finish(&d, 40, 10 * DAY, check).total, 0);
  struct marks m = finish(&d, 40, 10 * DAY, total);
  cr_expect_eq(m.total, 77);
  cr_expect_eq(m.off, 0);
  cr_expect(m.too_late && m.overridden);
  cr_expect_eq(finish(&d, 40, 1, other).total, 90);
}

Test(marks, the_rule_for_late_work_is_told_in_a_sentence)
{
  static const struct {
    long days, penalty;
    int too_late;
    char words[100];
  } told[] = {
      {0, 0, TOO_LATE_ZERO, "What is handed in later gets no marks."},
      {0, 0, TOO_LATE_MARKS, "What is handed in later is marked all the same."},
      {1, 0, TOO_LATE_ZERO,
       "Up to 1 day late costs nothing; what comes after that gets no marks."},
      {3, 10, TOO_LATE_MARKS,
       "Up to 3 days late costs 10 percent of the marks a day; what comes "
       "after"},
  };
  for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
    struct buf rule = BUF_INIT;
    struct lab_dates d =
        dates(told[i].days, told[i].penalty, (enum too_late)told[i].too_late);
    lab_late_rule(&d, &rule);
    cr_expect_eq(strncmp(buf_str(&rule), told[i].words, strlen(told[i].words)),
                 0, "%s", buf_str(&rule));
    buf_release(&rule);
  }
}

// The deadline is the lab's.
Test(marks, late_days_take_nothing_off_the_clinic)
{
  static struct check all[] = {{.id = "one", .marks = 60},
                               {.id = "clinic-1-gone",
                                .marks = 5,
                                .kind = CHECK_CLINIC,
                                .clinic_number = 1}};
  static const struct rubric both = {.checks = {all, 2}};
  static const struct list none = {0};
  struct lab_dates d = dates(0, 0, TOO_LATE_ZERO);
  struct marks_spec spec = {&both, &d, &none, DEADLINE, 60};
  struct marks m;
  json_t *record = json_pack(
      "{s:s, s:{s:I,s:b}, s:[{s:s,s:i,s:i},{s:s,s:i,s:i}]}", "student", "ada",
      "submission", "handed_in_s", (json_int_t)(DEADLINE + DAY), "clinic_alone",
      0, "checks", "id", "one", "marks", 60, "max", 60, "id", "clinic-1-gone",
      "marks", 4, "max", 5);
  cr_assert(record);
  marks_finish(&spec, record, &m);
  cr_expect_eq(m.total, 4);
  cr_expect_eq(m.max, 65);
  json_object_set_new(json_object_get(record, "submission"), "clinic_alone",
                      json_true());
  marks_finish(&spec, record, &m);
  cr_expect_eq(m.days_late, -1);
  cr_expect_eq(m.total, 64);
  json_decref(record);
}
