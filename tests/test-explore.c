// The explorer from end to end: files of students' in, findings out.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graders/explore.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/lab/bug.h"
#include "labgen/run/child.h"
#include "labgen/run/sandbox.h"

#define BASE "templates/base/kernel"
#define SAMPLES "tests/data/explore/"
#define MATERIAL "solutions/percpu-kalloc/"
#define REFERENCE MATERIAL "reference/05-counts/files/kernel/kalloc.c"

static struct explore_result r;
static struct error err;

static void teardown(void)
{
  explore_release(&r);
  error_release(&err);
}

TestSuite(explore, .fini = teardown, .timeout = 120);

static int run(const char *path, const char *program)
{
  struct explore_options o = {
      .path = path, .headers = BASE, .bound = 2, .program = program, .jobs = 2};
  return explore(&o, &r, &err);
}

static const struct story *finding(enum ex_kind kind)
{
  for (size_t i = 0; i < r.stories.findings; i++) {
    if (r.stories.finding[i].kind == kind)
      return &r.stories.finding[i];
  }
  return NULL;
}

static bool noted(enum ex_kind kind)
{
  for (size_t i = 0; i < r.stories.notes; i++) {
    if (r.stories.note[i].kind == kind)
      return true;
  }
  return false;
}

// Explores and expects one finding that repeats.
static const struct story *expect(const char *file, const char *program,
                                  enum ex_kind kind)
{
  char *path = xasprintf("%s%s.c", SAMPLES, file);
  cr_assert_eq(run(path, program), 0, "%s", err.message);
  free(path);
  const struct story *s = finding(kind);
  cr_assert_not_null(s, "%zu findings", r.stories.findings);
  cr_assert_eq(r.stories.findings, 1);
  cr_assert(s->repeats);
  return s;
}

static void expect_clean(const char *path)
{
  cr_assert_eq(run(path, NULL), 0, "%s", err.message);
  cr_assert_eq(r.stories.findings, 0, "%s: %s", path,
               r.stories.findings ? r.stories.finding[0].text : "");
  cr_assert(!r.cut);
  cr_assert_gt(r.stories.schedules, 1000);
}

// ---- correct allocators -----------------------------------------------------

Test(explore, the_reference_has_no_finding_and_no_note)
{
  expect_clean(REFERENCE);
  cr_assert_eq(r.stories.notes, 0);
  // On both sets of harts: 100 allocations, and a steal for every 64.
  cr_assert_eq(r.stories.allocs.calls, 200);
  cr_assert_eq(r.stories.allocs.remote_calls, 4);
}

Test(explore, the_original_allocator_has_no_finding)
{
  expect_clean("templates/base");
  cr_assert(noted(EX_REMOTE));
}

// Both guard one list for all: that harts wait for each other is all there is.
static void expect_waits_alone(const char *path)
{
  cr_assert_eq(run(path, NULL), 0, "%s", err.message);
  cr_assert_not_null(finding(EX_WAITS), "%s", path);
  for (size_t i = 0; i < r.stories.findings; i++)
    cr_assert_eq(r.stories.finding[i].kind, EX_WAITS, "%s: %s", path,
                 r.stories.finding[i].text);
  cr_assert(!r.cut);
  cr_assert_gt(r.stories.schedules, 1000);
}

Test(explore, locks_of_the_students_own_are_waited_for_and_no_endless_loops)
{
  expect_waits_alone(SAMPLES "ticket-lock.c");
  teardown();
  expect_waits_alone(SAMPLES "test-and-set-lock.c");
  cr_assert(noted(EX_RACE));
}

Test(explore, a_lock_behind_each_harts_own_is_waited_for)
{
  expect_waits_alone(SAMPLES "decoy-locks.c");
}

Test(explore, a_lock_that_is_waited_for_by_flags_has_no_finding)
{
  expect_clean(MATERIAL "designs/biased-lock.c");
}

Test(explore, headers_of_older_trees_do)
{
  struct explore_options o = {
      .path = "tests/data/explore/older", .bound = 1, .program = "churn"};
  cr_assert_eq(explore(&o, &r, &err), 0, "%s", err.message);
  cr_assert_eq(r.stories.findings, 0);
  teardown();
  o.program = "interrupts-off";
  cr_assert_eq(explore(&o, &r, &err), 0, "%s", err.message);
  cr_assert_eq(r.stories.findings, 2);
  cr_assert_not_null(finding(EX_INTERRUPTS));
}

Test(explore, a_lab_with_another_interface_is_other_data)
{
  struct explore_options o = {.path = SAMPLES "other-lab.c",
                              .headers = BASE,
                              .lab = SAMPLES "other-lab.yaml",
                              .bound = 2};
  cr_assert_eq(explore(&o, &r, &err), 0, "%s", err.message);
  cr_assert_str_eq(r.alloc, "heap_get");
  cr_assert_not_null(finding(EX_DOUBLE));
  cr_assert(noted(EX_LOOK));
  // The lab's data says that a null pointer does not count.
  cr_assert_null(finding(EX_WILD));
  cr_assert(noted(EX_WILD));
}

// ---- bugs of the lab --------------------------------------------------------

// Writes the reference with the bug, and explores it.
static void run_bug(const char *id, const char *program)
{
  struct catalogue c = {0};
  struct tree tree = {0};
  struct buf text = BUF_INIT;
  char *dir;
  cr_assert_eq(
      catalogue_read(MATERIAL "bugs", MATERIAL "classes.yaml", &c, &err), 0,
      "%s", err.message);
  cr_assert_eq(file_read(REFERENCE, 1 << 20, &text, &err), 0);
  tree_put(&tree, "kernel/kalloc.c", text.data, text.len, false, NULL);
  const struct bug *bug = catalogue_find(&c, id);
  cr_assert_not_null(bug);
  cr_assert_eq(bug_apply(bug, NULL, &tree, &err), 0, "%s", err.message);
  const struct tree_file *f = tree_find(&tree, "kernel/kalloc.c");
  file_make_temp_dir(NULL, "explore-bug-", &dir, NULL);
  char *path = path_join(dir, "kalloc.c");
  file_write(path, f->content->bytes, f->content->len, 0644, NULL);
  cr_assert_eq(run(path, program), 0, "%s", err.message);
  file_remove_tree(dir, NULL);
  free(path);
  free(dir);
  buf_release(&text);
  tree_release(&tree);
  catalogue_release(&c);
}

Test(explore, the_labs_deadlock_comes_out_as_the_lab_text_tells_it)
{
  run_bug("steal-holding-lock", NULL);
  const struct story *s = finding(EX_DEADLOCK);
  cr_assert_not_null(s);
  cr_assert_eq(r.stories.findings, 1);
  cr_assert_eq(s->preemptions, 1);
  cr_assert(s->repeats);
  struct table t;
  struct table_words words = explore_words(&r);
  table_make(s, &words, &t);
  cr_assert_eq(t.columns, 2);
  cr_assert_eq(t.rows, 4);
  const char *first = buf_str(&t.row[0].cell[0]);
  const char *second = buf_str(&t.row[1].cell[1]);
  cr_assert_not_null(strstr(first, "takes kmem0 (kalloc:"));
  cr_assert_not_null(strstr(first, "its list is empty"));
  cr_assert_not_null(strstr(second, "tries kmem2 to kmem7 (steal:"));
  cr_assert_not_null(strstr(second, "which hart 0 has, holding kmem1"));
  cr_assert_str_eq(buf_str(&t.row[3].cell[1]),
                   "waits for kmem0 for ever, interrupts off");
  table_release(&t);
}

Test(explore, a_page_that_a_steal_drops_is_lost)
{
  run_bug("page-lost-per-steal", "free-and-steal");
  cr_assert_eq(r.stories.findings, 1);
  cr_assert_not_null(finding(EX_LOST));
}

Test(explore, a_wrong_modulus_is_seen_with_harts_0_3_7)
{
  run_bug("modulo-harts", NULL);
  const struct story *s = finding(EX_FALSE_EMPTY);
  cr_assert_not_null(s);
  cr_assert_eq(s->harts[2], 7);
}

Test(explore, a_look_without_the_lock_follows_a_null_pointer)
{
  run_bug("peek-then-trust", "last-pages");
  cr_assert_not_null(finding(EX_WILD));
  cr_assert(noted(EX_LOOK));
}

Test(explore, interrupts_that_stay_off_are_seen)
{
  run_bug("pop-off-missing-when-empty", "last-pages");
  cr_assert_not_null(finding(EX_INTERRUPTS));
}

Test(explore, a_count_that_is_not_its_lists_length_in_the_end_is_seen)
{
  run_bug("victim-count-kept", "churn");
  const struct story *s = finding(EX_DRIFT);
  cr_assert_not_null(s);
  cr_assert_eq(s->preemptions, 0);
  cr_assert_not_null(strstr(s->text, "kmem[0].nfree is "));
  teardown();
  run_bug("batch-unlocked", "last-pages");
  s = finding(EX_DRIFT);
  cr_assert_not_null(s, "a race changes it");
  cr_assert_eq(s->preemptions, 1);
}

Test(explore, what_does_no_damage_is_a_note)
{
  run_bug("only-first-lock-initialised", "exhaust");
  cr_assert_eq(r.stories.findings, 0);
  cr_assert(noted(EX_UNINIT));
  teardown();
  run_bug("cpuid-unpinned", "churn");
  cr_assert_eq(r.stories.findings, 0);
  cr_assert(noted(EX_STALE));
  teardown();
  run_bug("name-on-stack", "churn");
  cr_assert(noted(EX_NAME));
}

// ---- what goes wrong in other ways ------------------------------------------

Test(explore, a_page_is_handed_out_twice_by_a_stack_without_a_lock)
{
  const struct story *s =
      expect("lock-free-stack", "steal-from-each-other", EX_DOUBLE);
  cr_assert_eq(s->preemptions, 2);
}

Test(explore, a_stale_number_does_damage_where_there_is_no_lock)
{
  cr_assert_eq(run(SAMPLES "stale-number-without-lock.c", NULL), 0);
  cr_assert_not_null(finding(EX_DOUBLE));
  cr_assert(noted(EX_STALE));
}

Test(explore, a_number_that_is_read_in_assembly_is_seen)
{
  cr_assert_eq(run(SAMPLES "number-in-assembly.c", NULL), 0);
  cr_assert(noted(EX_STALE));
}

Test(explore, loops_crashes_and_wild_pointers_are_findings)
{
  expect("loop-on-memory", "exhaust", EX_ENDLESS);
  teardown();
  expect("loop-on-volatile", "exhaust", EX_DEADLOCK);
  cr_expect_not(r.cut);
  teardown();
  expect("loop-without-memory", "exhaust", EX_ENDLESS);
  teardown();
  expect("loop-at-once", "exhaust", EX_ENDLESS);
  teardown();
  expect("recursion", "exhaust", EX_CRASH);
  teardown();
  expect("trap", "exhaust", EX_CRASH);
  teardown();
  const struct story *s = expect("null-pointer", "exhaust", EX_WILD);
  cr_assert_eq(s->place.line, 7);
  teardown();
  s = expect("index", "exhaust", EX_INDEX);
  cr_assert_not_null(strstr(s->text, "index 8 of 'int [8]'"));
}

Test(explore, a_file_that_does_not_compile_gives_the_compilers_words)
{
  cr_assert_eq(run(SAMPLES "no-compile.c", NULL), LG_EBUILD);
  cr_assert_not_null(strstr(err.message, "no-compile.c:6:3: error"), "%s",
                     err.message);
  teardown();
  cr_assert_eq(run(SAMPLES "no-link.c", NULL), LG_EBUILD);
  cr_assert_not_null(strstr(err.message, "undefined reference to `lost'"));
  teardown();
  cr_assert_eq(run(SAMPLES "no-such-file.c", NULL), LG_ENOTFOUND);
  teardown();
  // Not text at all.
  cr_assert_eq(run(LABGEN_BUILD "/labgen", NULL), LG_EBUILD);
}

Test(explore, the_division_of_the_work_does_not_change_the_result)
{
  json_t *one[2] = {json_array(), json_array()};
  for (int i = 0; i < 2; i++) {
    struct explore_options o = {.path = SAMPLES "lock-free-stack.c",
                                .headers = BASE,
                                .bound = 2,
                                .jobs = i == 0 ? 1 : 3};
    cr_assert_eq(explore(&o, &r, &err), 0);
    for (size_t k = 0; k < r.stories.findings; k++)
      json_array_append_new(one[i], story_write(&r.stories.finding[k]));
    teardown();
  }
  for (int i = 0; i < 2; i++) {
    json_object_del(json_array_get(one[i], 0), "schedule");
    json_object_del(json_array_get(one[i], 0), "found_ms");
  }
  cr_assert(json_equal(one[0], one[1]));
  json_decref(one[0]);
  json_decref(one[1]);
}

// ---- in the sandbox -----------------------------------------------------------

// A system call by code that knows the explorer's host, and what it looks like
// from the allocator: a panic that says how it went.
#define CALL(number, one, two)                                      \
  "  long r;\n  static char a[16] = {2, 0, 0, 80, 127, 0, 0, 1};\n" \
  "  __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(" number      \
  "L), \"D\"(" one "), \"S\"(" two                                  \
  "), \"d\"(16L) : \"rcx\", \"r11\", \"memory\");\n"
#define SAY "  panic(r < 0 && r > -4096 ? \"refused\" : \"done\");\n"

// What kalloc() does, and what is said of it.
static const struct {
  const char *body;
  enum ex_kind kind;
  const char *text;
} hostile[] = {
    // fork, socket, open, connect, exit_group, mmap
    {CALL("57", "0L", "0L") SAY, EX_PANIC, "refused"},
    {CALL("41", "2L", "1L") SAY, EX_PANIC, "refused"},
    {CALL("2", "\"" REFERENCE "\"", "0L") SAY, EX_PANIC, "refused"},
    {CALL("2", "\"/etc/passwd\"", "0L") SAY, EX_PANIC, "refused"},
    {CALL("42", "0L", "a") SAY, EX_PANIC, "refused"},
    {CALL("231", "0L", "0L"), EX_CRASH, "ended the explorer"},
    {CALL("9", "0L", "1L << 34") SAY, EX_PANIC, "refused"},
    {"  for (;;);\n", EX_ENDLESS, "does not end"},
};

static void expect_hostile(const char *path, size_t i)
{
  char *text = xasprintf(
      "#include \"types.h\"\nvoid panic(char *);\nvoid kinit(void) {}\n"
      "void kfree(void *p) { (void)p; }\nvoid *kalloc(void)\n{\n%s"
      "  return 0;\n}\n",
      hostile[i].body);
  struct explore_options o = {.path = path,
                              .headers = BASE,
                              .bound = 0,
                              .program = "exhaust",
                              .sandbox = true};
  cr_assert_eq(file_write(path, text, strlen(text), 0644, NULL), 0);
  cr_assert_eq(explore(&o, &r, &err), 0, "%s: %s", hostile[i].body,
               err.message);
  const struct story *s = finding(hostile[i].kind);
  cr_assert_not_null(s, "%s", hostile[i].body);
  cr_assert_not_null(strstr(s->text, hostile[i].text), "%s: %s",
                     hostile[i].body, s->text);
  free(text);
}

Test(explore, code_that_attacks_its_host_gets_nowhere_and_is_a_finding)
{
  char *dir;
  struct error none = {0};
  if (sandbox_check(&none) < 0)
    cr_skip_test("%s", none.message);
  cr_assert_eq(file_make_temp_dir(NULL, "explore-hostile-", &dir, NULL), 0);
  char *path = path_join(dir, "kalloc.c");
  for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
    expect_hostile(path, i);
    teardown();
  }
  file_remove_tree(dir, NULL);
  free(path);
  free(dir);
}

// ---- the command ------------------------------------------------------------

static int command(const char *const *argv, struct child_result *ret)
{
  struct child_spec spec = {.argv = argv, .deadline_ms = clock_ms() + 60000};
  *ret = (struct child_result){0};
  cr_assert_eq(child_run(&spec, ret, &err), 0);
  cr_assert_eq(ret->end, CHILD_EXITED);
  return ret->status;
}

#define LABGEN LABGEN_BUILD "/labgen"

Test(explore, a_saved_finding_repeats_with_the_same_events)
{
  char *dir;
  file_make_temp_dir(NULL, "explore-save-", &dir, NULL);
  char *saved = path_join(dir, "1-page-handed-out-twice.json");
  const char *const save[] = {LABGEN,
                              "explore",
                              "--headers",
                              BASE,
                              "--save",
                              dir,
                              SAMPLES "lock-free-stack.c",
                              NULL};
  const char *const replay[] = {LABGEN,
                                "explore",
                                "--headers",
                                BASE,
                                "--replay",
                                saved,
                                SAMPLES "lock-free-stack.c",
                                NULL};
  const char *const other[] = {LABGEN,     "explore", "--headers", BASE,
                               "--replay", saved,     REFERENCE,   NULL};
  struct child_result c;
  cr_assert_eq(command(save, &c), 1);
  child_result_release(&c);
  cr_assert_eq(command(replay, &c), 1);
  cr_assert_not_null(strstr(buf_str(&c.err), "The same events"), "%s",
                     buf_str(&c.err));
  child_result_release(&c);
  cr_assert_eq(command(other, &c), 1);
  cr_assert_not_null(strstr(buf_str(&c.err), "the events differ"), "%s",
                     buf_str(&c.err));
  child_result_release(&c);
  file_remove_tree(dir, NULL);
  free(saved);
  free(dir);
}

// A replay of what is in the file must be refused with these words.
static void expect_refused(const char *path, const char *text,
                           const char *words)
{
  struct explore_options o = {
      .path = REFERENCE, .headers = BASE, .replay = path};
  if (text)
    cr_assert_eq(file_write(path, text, strlen(text), 0644, &err), 0);
  cr_expect_lt(explore(&o, &r, &err), 0, "%s", words);
  cr_expect(
      err.message && strstr(err.message, path) && strstr(err.message, words),
      "'%s' is not in: %s", words, err.message);
  teardown();
}

Test(explore, a_file_that_holds_no_finding_is_refused_with_its_name)
{
  char *dir;
  file_make_temp_dir(NULL, "explore-replay-", &dir, NULL);
  char *path = path_join(dir, "finding.json");
  expect_refused(path, NULL, "No such file");
  expect_refused(path, "{\"kind\": \"dead", "finding.json:1:");
  expect_refused(path, "[]", "there is no finding ''");
  expect_refused(path, "{\"kind\": \"deadlock\"}",
                 "the program has no number of pages");
  expect_refused(path,
                 "{\"kind\": \"deadlock\", \"program\": {\"pages\": 99999}}",
                 "the program has no number of pages");
  file_remove_tree(dir, NULL);
  free(path);
  free(dir);
}

// What the command prints as JSON; the caller owns it.
static json_t *json_of(const char *const *argv, int status)
{
  struct child_result c;
  cr_assert_eq(command(argv, &c), status, "%s", buf_str(&c.err));
  json_t *j = json_loadb(buf_str(&c.out), c.out.len, 0, NULL);
  cr_assert_not_null(j, "%s", buf_str(&c.out));
  child_result_release(&c);
  return j;
}

Test(explore, the_json_holds_findings_and_what_was_run)
{
  const char *const clean[] = {LABGEN, "explore",   "--json",     "--headers",
                               BASE,   "--program", "last-pages", "-j",
                               "2",    REFERENCE,   NULL};
  const char *const wrong[] = {
      LABGEN, "explore",   "--json",  "--headers",
      BASE,   "--program", "exhaust", SAMPLES "null-pointer.c",
      NULL};
  json_t *j = json_of(clean, 0);
  cr_expect_eq(json_array_size(json_object_get(j, "findings")), 0);
  cr_expect_gt(json_integer_value(json_object_get(j, "schedules")), 0);
  cr_expect(json_is_false(json_object_get(j, "cut")));
  json_decref(j);
  j = json_of(wrong, 1);
  json_t *found = json_array_get(json_object_get(j, "findings"), 0);
  cr_assert_not_null(found);
  cr_expect_str_eq(json_string_value(json_object_get(found, "kind")),
                   "wild-access");
  cr_expect_eq(json_integer_value(
                   json_object_get(json_object_get(found, "place"), "line")),
               7);
  json_decref(j);
}

Test(explore, a_tree_is_explored_from_inside_and_a_folder_without_one_refused)
{
  char *dir, *tool = realpath(LABGEN, NULL);
  const char *const argv[] = {tool, "explore", "--program", "exhaust", NULL};
  struct child_spec spec = {.argv = argv, .dir = "templates/base"};
  struct child_result c = {0};
  cr_assert_eq(child_run(&spec, &c, &err), 0);
  cr_expect_eq(c.status, 0, "%s", buf_str(&c.err));
  cr_expect_not_null(strstr(buf_str(&c.out), "Nothing found within bound 2"));
  child_result_release(&c);
  file_make_temp_dir(NULL, "explore-nothing-", &dir, NULL);
  spec.dir = dir;
  cr_assert_eq(child_run(&spec, &c, &err), 0);
  cr_expect_eq(c.status, 2);
  cr_expect_not_null(
      strstr(buf_str(&c.err), "neither kernel/kalloc.c nor kalloc.c is there"),
      "%s", buf_str(&c.err));
  child_result_release(&c);
  file_remove_tree(dir, NULL);
  free(dir);
  free(tool);
}

// The time is up at once: nothing is found, and nothing is judged.
Test(explore, what_time_cuts_off_is_not_called_clean)
{
  const char *const argv[] = {LABGEN,      "explore", "--seconds", "0.01",
                              "--headers", BASE,      REFERENCE,   NULL};
  struct child_result c;
  cr_expect_eq(command(argv, &c), 3);
  cr_expect_not_null(strstr(buf_str(&c.out), "Not finished"), "%s",
                     buf_str(&c.out));
  cr_expect_null(strstr(buf_str(&c.out), "Nothing found"));
  child_result_release(&c);
}

Test(explore, exit_statuses_tell_clean_found_and_misused_apart)
{
  const char *const clean[] = {LABGEN,  "explore",        "--program",
                               "churn", "templates/base", NULL};
  const char *const misused[] = {LABGEN, "explore", "--bound", "x", NULL};
  const char *const broken[] = {
      LABGEN, "explore", "--headers", BASE, SAMPLES "no-compile.c", NULL};
  const char *const unknown[] = {LABGEN,    "explore",        "--program",
                                 "no-such", "templates/base", NULL};
  struct child_result c;
  cr_assert_eq(command(clean, &c), 0);
  child_result_release(&c);
  cr_assert_eq(command(misused, &c), 2);
  child_result_release(&c);
  cr_assert_eq(command(broken, &c), 2);
  child_result_release(&c);
  cr_assert_eq(command(unknown, &c), 2);
  cr_assert_not_null(strstr(buf_str(&c.err), "exhaust"), "%s", buf_str(&c.err));
  child_result_release(&c);
}
