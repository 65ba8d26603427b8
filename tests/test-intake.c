// Whose is what: names of platforms and people, matched to a roster.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graders/intake-name.h"
#include "graders/intake.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

static const char roster_text[] =
    "id,name,email,section,canvas_id,year\n"
    "ada,Ada Demo,ada.l@example.org,A,90001,2\n"
    "bo-2,\"Demo, Bo\",bo@example.org,A,90002,2\n"
    "dagny,Dagny Mari Dem\xc3\xb8,dagny@example.org,B,90004,3\n"
    "twin1,Kim Lee,k1@example.org,B,90005,3\n"
    "twin2,Kim Lee,k2@example.org,B,90006,3\n";

static struct roster roster;
static struct people *people;
static char *dir, *work, *scratch;

static void set_up(void)
{
  cr_assert_eq(roster_parse("roster.csv", roster_text, strlen(roster_text),
                            &roster, NULL),
               0);
  people = people_index(&roster);
  cr_assert_eq(file_make_temp_dir(NULL, "test-intake-", &dir, NULL), 0);
  work = path_join(dir, "work");
  scratch = path_join(dir, "scratch");
  cr_assert_eq(file_mkdirs(work, NULL), 0);
}

static void tear_down(void)
{
  people_free(people);
  roster_release(&roster);
  file_remove_tree(dir, NULL);
  free(dir);
  free(work);
  free(scratch);
}

TestSuite(intake, .init = set_up, .fini = tear_down);

static const char *owner(const char *who, const char *account)
{
  struct buf problem = BUF_INIT;
  const struct student *s = people_find(people, who, account, &problem);
  cr_assert_eq(s == NULL, problem.len > 0, "%s: %s", who, buf_str(&problem));
  buf_release(&problem);
  return s ? s->id : "";
}

Test(intake, people_are_found_by_id_column_email_and_name)
{
  cr_assert_str_eq(owner("ada", NULL), "ada");
  cr_assert_str_eq(owner("ADA", NULL), "ada");
  cr_assert_str_eq(owner("90002", NULL), "bo-2");
  cr_assert_str_eq(owner("ada.l@example.org", NULL), "ada");
  cr_assert_str_eq(owner("ada.l", NULL), "ada");
  cr_assert_str_eq(owner("Bo Demo", NULL), "bo-2");
  cr_assert_str_eq(owner("demobo", NULL), "bo-2");
  cr_assert_str_eq(owner("dem\xc3\xb8"
                         "dagnymari",
                         NULL),
                   "dagny");
  cr_assert_str_eq(owner("demdagnymari", NULL), "dagny");
  cr_assert_str_eq(owner("nobody", NULL), "");
}

Test(intake, one_name_of_two_students_is_nobodys_without_a_number)
{
  cr_assert_str_eq(owner("leekim", NULL), "");
}

Test(intake, a_number_that_contradicts_the_name_is_nobodys)
{
  cr_assert_str_eq(owner("demoada", "90001"), "ada");
  cr_assert_str_eq(owner("demoada", "90002"), "");
  // The column `year` holds 2 for several: it is no account.
  cr_assert_str_eq(owner("demoada", "2"), "ada");
  cr_assert_str_eq(owner("demoada", "12345"), "ada");
}

Test(intake, a_misspelt_id_gets_a_suggestion)
{
  struct buf problem = BUF_INIT;
  cr_assert_null(people_find(people, "dagmy", NULL, &problem));
  cr_assert(strstr(buf_str(&problem), "did you mean 'dagny'"), "%s",
            buf_str(&problem));
  buf_release(&problem);
}

static void check_name(const char *name, const char *who, const char *account,
                       const char *given, unsigned attempt, bool late)
{
  struct intake_name n;
  intake_name_parse(name, &n);
  cr_expect_str_eq(n.who, who, "%s: %s", name, n.who);
  cr_expect_str_eq(n.account ? n.account : "", account, "%s", name);
  cr_expect_str_eq(n.given, given, "%s: %s", name, n.given);
  cr_expect_eq(n.attempt, attempt, "%s: %lu", name, n.attempt);
  cr_expect_eq(n.late, late, "%s", name);
  intake_name_release(&n);
}

Test(intake, names_of_platforms_are_taken_apart)
{
  check_name("demoada_90001_771_kalloc.c", "demoada", "90001", "kalloc.c", 771,
             false);
  check_name("demoada_LATE_90001_771_my_lab_2.zip", "demoada", "90001",
             "my_lab_2.zip", 771, true);
  check_name("anon_x3Qd2_771_a.tgz", "anon_x3Qd2", "x3Qd2", "a.tgz", 771,
             false);
  check_name("anon_x3Qd2_LATE_771_a.tgz", "anon_x3Qd2", "x3Qd2", "a.tgz", 771,
             true);
  check_name("Ada Demo_4711_assignsubmission_file_", "Ada Demo", "", "", 4711,
             false);
  check_name("Ada Demo_4711_assignsubmission_file_lab.tar.xz", "Ada Demo", "",
             "lab.tar.xz", 4711, false);
  check_name("Participant_88_4711_assignsubmission_file_lab.zip",
             "Participant_88", "88", "lab.zip", 4711, false);
  check_name("ada.tar.gz", "ada", "", "ada.tar.gz", 0, false);
  check_name("ada-3.tar.zst", "ada", "", "ada-3.tar.zst", 3, false);
  check_name("ada_attempt_3.zip", "ada", "", "ada_attempt_3.zip", 3, false);
  check_name("ada_LATE.zip", "ada", "", "ada_LATE.zip", 0, true);
}

// --- scanning ---------------------------------------------------------------

static void put(const char *name, const char *text)
{
  char *path = path_join(work, name), *slash = strrchr(path, '/');
  *slash = '\0';
  cr_assert_eq(file_mkdirs(path, NULL), 0);
  *slash = '/';
  cr_assert_eq(file_write(path, text, strlen(text), 0644, NULL), 0);
  free(path);
}

static struct intake scan_paths(const char *const *paths, size_t count)
{
  static const char *files[] = {"kernel/kalloc.c"};
  struct intake in = {0};
  struct error err = {0};
  struct intake_spec spec = {.paths = paths,
                             .path_count = count,
                             .roster = &roster,
                             .files = {files, 1},
                             .scratch = scratch};
  cr_assert_eq(intake_scan(&spec, &in, &err), 0, "%s", err.message);
  return in;
}

static struct intake scan(void)
{
  return scan_paths((const char *const[]){work}, 1);
}

static const struct intake_entry *entry(const struct intake *in,
                                        const char *end)
{
  for (size_t i = 0; i < in->count; i++) {
    size_t len = strlen(in->entries[i].name), n = strlen(end);
    if (len >= n && strcmp(in->entries[i].name + len - n, end) == 0)
      return &in->entries[i];
  }
  cr_assert_fail("no entry %s", end);
  abort();
}

static const char *graded(const struct intake *in, const char *id, size_t at)
{
  for (size_t i = 0; i < in->claim_count; i++)
    if (strcmp(in->claims[i].student->id, id) == 0 && at < in->claims[i].count)
      return strrchr(in->entries[in->order[in->claims[i].first + at]].name,
                     '/') +
             1;
  return "";
}

Test(intake, a_folder_of_plain_names)
{
  put("ada/kernel/kalloc.c", "x");
  put("bo-2.tar.gz", "x");
  put("dagny-1.zip", "x");
  put("dagny-10.zip", "x");
  put("dagny-9.zip", "x");
  put("stranger.zip", "x");
  put(".DS_Store", "x");
  struct intake in = scan();
  cr_assert_eq(in.count, 6);
  cr_assert_eq(in.claim_count, 3);
  cr_assert_str_eq(in.claims[0].student->id, "ada");
  cr_assert_str_eq(graded(&in, "ada", 0), "ada");
  cr_assert_str_eq(graded(&in, "bo-2", 0), "bo-2.tar.gz");
  cr_assert_str_eq(graded(&in, "dagny", 0), "dagny-10.zip");
  cr_assert(entry(&in, "dagny-9.zip")->superseded);
  cr_assert(strstr(entry(&in, "stranger.zip")->problem, "nobody"));
  intake_release(&in);
}

Test(intake, two_entries_without_order_are_an_error_for_them_alone)
{
  put("ada/kernel/kalloc.c", "x");
  put("ada.zip", "x");
  put("bo-2.zip", "x");
  struct intake in = scan();
  cr_assert_eq(in.claim_count, 1);
  cr_assert_str_eq(graded(&in, "bo-2", 0), "bo-2.zip");
  cr_assert(strstr(entry(&in, "/ada")->problem, "ada.zip"));
  cr_assert(strstr(entry(&in, "/ada.zip")->problem, "neither says"));
  intake_release(&in);
}

Test(intake, a_later_path_has_later_attempts)
{
  put("one/ada/kernel/kalloc.c", "x");
  put("two/ada.zip", "x");
  char *one = path_join(work, "one"), *two = path_join(work, "two");
  struct intake in = scan_paths((const char *const[]){one, two}, 2);
  cr_assert_str_eq(graded(&in, "ada", 0), "ada.zip");
  cr_assert(in.entries[0].superseded);
  intake_release(&in);
  free(one);
  free(two);
}

Test(intake, canvas_files_belong_together_and_a_late_one_says_so)
{
  put("demoada_LATE_90001_12_kalloc.c", "x");
  put("demoada_LATE_90001_13_proc.c", "x");
  put("demobo_90002_14_lab.zip", "x");
  put("demobo_90002_15_lab-1.zip", "x");
  put("demoada_90002_16_kalloc.c", "x");
  struct intake in = scan();
  cr_assert_eq(in.claim_count, 2);
  cr_assert_str_eq(graded(&in, "ada", 0), "demoada_LATE_90001_12_kalloc.c");
  cr_assert_str_eq(graded(&in, "ada", 1), "demoada_LATE_90001_13_proc.c");
  cr_assert_str_eq(graded(&in, "bo-2", 0), "demobo_90002_15_lab-1.zip");
  cr_assert(entry(&in, "_12_kalloc.c")->late);
  cr_assert_not(entry(&in, "_15_lab-1.zip")->late);
  cr_assert(strstr(entry(&in, "_16_kalloc.c")->problem, "more than one"));
  cr_assert_eq(entry(&in, "_12_kalloc.c")->form, INTAKE_FILE);
  cr_assert_eq(entry(&in, "_15_lab-1.zip")->form, INTAKE_ARCHIVE);
  intake_release(&in);
}

Test(intake, moodle_folders_and_flat_files)
{
  put("Ada Demo_4711_assignsubmission_file_/lab/kernel/kalloc.c", "x");
  put("Bo Demo_4712_assignsubmission_file_lab.tar.xz", "x");
  put("Participant_90004_4713_assignsubmission_file_lab.zip", "x");
  struct intake in = scan();
  cr_assert_eq(in.claim_count, 3);
  cr_assert_str_eq(graded(&in, "ada", 0),
                   "Ada Demo_4711_assignsubmission_file_");
  cr_assert_eq(entry(&in, "lab.tar.xz")->form, INTAKE_ARCHIVE);
  cr_assert_str_eq(entry(&in, "lab.zip")->student->id, "dagny");
  intake_release(&in);
}

static const char gradescope_text[] =
    "---\n"
    "submission_101:\n"
    "  :submitters:\n"
    "  - :name: Ada Demo\n"
    "    :sid: ada\n"
    "    :email: ada.l@example.org\n"
    "  :created_at: 2026-03-01 10:11:12.345678000 Z\n"
    "submission_102:\n"
    "  :submitters:\n"
    "  - :name: Somebody\n"
    "    :sid: ''\n"
    "    :email: bo@example.org\n"
    "submission_103:\n"
    "  :submitters:\n"
    "  - :sid: twin1\n"
    "  - :sid: twin2\n";

Test(intake, gradescope_exports_are_read_by_their_list)
{
  put("assignment_5_export/submission_metadata.yml", gradescope_text);
  put("assignment_5_export/submission_101/kernel/kalloc.c", "x");
  put("assignment_5_export/submission_102/kernel/kalloc.c", "x");
  put("assignment_5_export/submission_103/kernel/kalloc.c", "x");
  put("assignment_5_export/submission_104/kernel/kalloc.c", "x");
  struct intake in = scan();
  cr_assert_eq(in.claim_count, 2);
  cr_assert_str_eq(graded(&in, "ada", 0), "submission_101");
  cr_assert_str_eq(graded(&in, "bo-2", 0), "submission_102");
  cr_assert(entry(&in, "submission_101")->handed_in.set);
  cr_assert_eq(entry(&in, "submission_101")->handed_in.seconds, 1772359872);
  cr_assert(strstr(entry(&in, "submission_103")->problem, "'twin1' and"));
  cr_assert(strstr(entry(&in, "submission_104")->problem, "says nothing"));
  intake_release(&in);
}

Test(intake, a_single_submission_as_the_path)
{
  put("ada/kernel/kalloc.c", "x");
  char *path = path_join(work, "ada/");
  struct intake in = scan_paths((const char *const[]){path}, 1);
  cr_assert_eq(in.claim_count, 1);
  cr_assert_eq(in.count, 1);
  cr_assert_str_eq(in.entries[0].student->id, "ada");
  intake_release(&in);
  free(path);
}

Test(intake, a_link_in_the_place_of_a_submission_is_not_followed)
{
  put("bo-2/kernel/kalloc.c", "x");
  char *link = path_join(work, "ada");
  cr_assert_eq(symlink("bo-2", link), 0);
  struct intake in = scan();
  cr_assert_eq(in.claim_count, 1);
  cr_assert(strstr(entry(&in, "/ada")->problem, "symbolic link"));
  intake_release(&in);
  free(link);
}

Test(intake, a_path_that_is_not_there_is_named)
{
  struct intake in = {0};
  struct error err = {0};
  const char *paths[] = {"/nonexistent/submissions"};
  struct intake_spec spec = {
      .paths = paths, .path_count = 1, .roster = &roster, .scratch = scratch};
  cr_assert_eq(intake_scan(&spec, &in, &err), LG_ENOTFOUND);
  cr_assert(strstr(err.message, "/nonexistent/submissions"));
  cr_assert_eq(in.count, 0);
  error_release(&err);
}
