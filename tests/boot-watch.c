// The watchers in the guest: correct allocators raise nothing, and each mistake
// raises what it should, in the boot to the shell and `ls`.
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>

#include "graders/evidence.h"
#include "graders/splice.h"
#include "graders/subject.h"
#include "labgen/base/alloc.h"
#include "labgen/lab/edit.h"

#define CACHE "build/test-cache"
#define DESIGNS "solutions/percpu-kalloc/designs"

TestSuite(watch, .timeout = 600);

static struct course course;
static struct subjects subjects;
static struct stock stock;

static void open_all(void)
{
  struct error err = {0};
  struct rubric rubric = {.designs = DESIGNS};
  int rc = course_load("config.yaml", false, &course, &err);
  rc = rc ? rc : subjects_make(&course, &rubric, &subjects, &err);
  rc = rc ? rc : stock_open(CACHE, course_start(&course), false, &stock, &err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
}

static void close_all(void)
{
  stock_close(&stock);
  subjects_release(&subjects);
  course_release(&course);
}

static const struct tree *tree_of(const char *id)
{
  for (size_t i = 0; i < subjects.count; i++)
    if (strcmp(subjects.items[i].id, id) == 0)
      return &subjects.items[i].tree;
  cr_assert_fail("nothing is called %s", id);
  return NULL;
}

// Boots the watched kernel of a submission, or the plain one.
static struct evidence boot(const struct tree *submission, bool watched)
{
  static const struct object_rules no_rules;
  static struct program ls = {.id = "ls", .type = "ls", .effort = EFFORT_QUICK};
  static const struct list programs = {&ls, 1};
  struct tree tree = {0};
  struct buf notes = {0};
  struct evidence e;
  struct error err = {0};
  int rc = splice(course_start(&course), submission, &course.lab.submission,
                  &tree, &notes, &err);
  struct gather_spec spec = {
      .stock = &stock,
      .tree = &tree,
      .rules = &no_rules,
      .programs = &programs,
      .harts = 3,
      .memory_mib = 128,
      .watched = watched,
      .plain = !watched,
  };
  rc = rc ? rc : evidence_gather(&spec, &e, &err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
  cr_assert(e.built, "%s", buf_str(&e.build_words));
  cr_assert_eq(e.reported, watched);
  tree_release(&tree);
  buf_release(&notes);
  return e;
}

static struct evidence watch(const struct tree *submission)
{
  return boot(submission, true);
}

static const struct found *find(const struct evidence *e, const char *kind)
{
  for (size_t i = 0; i < e->finding_count; i++)
    if (strcmp(e->findings[i].kind, kind) == 0)
      return &e->findings[i];
  return NULL;
}

// ---- nothing is raised ---------------------------------------------------------

struct name {
  char id[40];
};

ParameterizedTestParameters(watch, what_is_correct_raises_nothing)
{
  static struct name names[] = {
      {"start"},          {"reference"},         {"global-order"},
      {"gate-lock"},      {"biased-lock"},       {"shared-pool"},
      {"spread-at-boot"}, {"rebalance-on-free"},
  };
  return cr_make_param_array(struct name, names,
                             sizeof names / sizeof names[0]);
}

ParameterizedTest(struct name *n, watch, what_is_correct_raises_nothing)
{
  open_all();
  struct evidence e = watch(tree_of(n->id));
  for (size_t i = 0; i < e.finding_count; i++)
    cr_expect_fail("%s raises %s: %s", n->id, e.findings[i].kind,
                   e.findings[i].text);
  cr_expect_eq(e.watched.verdict, BOOT_COMPLETED, "%s: it %s", n->id,
               buf_str(&e.watched.detail));
  cr_expect_eq(e.report.phase, WATCH_RUNNING);
  // What was given back, what can be had, and what Ctrl-P says are the same.
  cr_expect_eq(e.report.obtainable_pages, e.report.free_pages_then);
  if (strcmp(n->id, "start") != 0)
    cr_expect_eq(e.watched.ctrlp.sum, e.report.free_pages_then);
  evidence_release(&e);
  close_all();
}

// ---- each bug of the catalogue raises its own ------------------------------------

struct bug_row {
  char id[40], kind[40];
};

ParameterizedTestParameters(watch, a_bug_raises_what_it_breaks)
{
  static struct bug_row rows[] = {
      {"cpuid-unpinned", "stale-cpu"},
      {"cpuid-pin-too-short", "stale-cpu"},
      {"pop-off-before-steal", "stale-cpu"},
      {"steal-holding-lock", "circular-wait"},
      {"gate-after-own-lock", "circular-wait"},
      {"only-first-lock-initialised", "lock-not-initialised"},
      {"only-first-lock-initialised", "lock-without-name"},
      {"one-name-for-all", "lock-name-shared"},
      {"name-on-stack", "lock-name-not-static"},
      {"pop-off-missing-when-empty", "noff-not-restored"},
      {"release-missing-on-empty-victim", "lock-kept"},
      {"kept-page-on-list", "page-handed-out-twice"},
      {"junk-new-lost", "no-junk-on-kalloc"},
      {"junk-free-lost", "no-junk-on-kfree"},
      {"page-lost-per-steal", "pages-lost"},
      {"spares-poor-victims", "zero-while-pages-are-free"},
      {"modulo-harts", "list-not-tried"},
  };
  return cr_make_param_array(struct bug_row, rows,
                             sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct bug_row *row, watch, a_bug_raises_what_it_breaks)
{
  open_all();
  struct evidence e = watch(tree_of(row->id));
  cr_expect(find(&e, row->kind) != NULL, "%s does not raise %s", row->id,
            row->kind);
  evidence_release(&e);
  close_all();
}

// ---- mistakes that the catalogue lacks -------------------------------------------

// Put into the reference before `push_off()` of kfree, or where kalloc has
// looked at its own list; CPU 5 is one that only the probe plays, so that the
// kernel itself still comes up.
enum where { KFREE, KALLOC };
struct mistake_row {
  enum where where;
  char code[200], kind[40];
};

ParameterizedTestParameters(watch, a_mistake_raises_what_it_breaks)
{
  static struct mistake_row rows[] = {
      {KFREE, "if (r_tp() == 5) intr_on();", "interrupts-not-restored"},
      {KFREE,
       "if (r_tp() == 5) { push_off(); intr_on(); intr_off(); pop_off(); }",
       "interrupts-on-inside"},
      {KFREE, "if (r_tp() == 5) printf(\"x\");", "foreign-lock"},
      {KFREE, "((uint64 *)pa)[100] = 7;", "page-changed-while-free"},
      {KFREE,
       "struct spinlock mine; initlock(&mine, \"mine\"); acquire(&mine); "
       "release(&mine);",
       "lock-not-static"},
      {KFREE, "if (r_tp() == 5) panic(\"no\");", "panic"},
      // Once there were calls with interrupts on, a caller that has them off by
      // push_off() gets the page that was handed out last: it frees all.
      {KALLOC,
       "static struct freepage *last; static int on; "
       "on |= mycpu()->intena; if (on && mycpu()->noff == 3 && last) "
       "page = last; last = page;",
       "page-freed-twice"},
      {KFREE,
       "static char mine[PGSIZE] __attribute__((aligned(PGSIZE))); "
       "if (r_tp() == 5) one.first = one.last = (struct freepage *)mine;",
       "page-outside"},
      // The page that was freed last is in use again when the next is freed.
      {KFREE,
       "static uint64 *last; if (r_tp() != 0 && last) last[40] = 7; last = pa;",
       "page-shared-in-use"},
  };
  return cr_make_param_array(struct mistake_row, rows,
                             sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct mistake_row *row, watch,
                  a_mistake_raises_what_it_breaks)
{
  static const char *const anchors[] = {
      "  struct chain one = {page, page, 1};\n",
      "  struct freepage *page = detach(&kmem[me], 1).first;\n"};
  char *code = xasprintf("  %s\n", row->code);
  struct edit edits[] = {
      {.file = "kernel/kalloc.c",
       .after = "#include \"types.h\"\n",
       .insert = "#include \"proc.h\"\n"},
      {.file = "kernel/kalloc.c", .after = anchors[row->where], .insert = code},
  };
  struct tree tree = {0};
  struct error err = {0};

  open_all();
  tree_copy(&tree, course_reference(&course));
  cr_assert_eq(edits_apply(&tree, edits, 2, NULL, 0, &err), 0, "%s",
               err.message ? err.message : "");
  struct evidence e = watch(&tree);
  cr_expect(find(&e, row->kind) != NULL, "'%s' does not raise %s; it %s",
            row->code, row->kind, buf_str(&e.watched.detail));
  evidence_release(&e);
  tree_release(&tree);
  free(code);
  close_all();
}

// ---- what hangs is explained -------------------------------------------------------

Test(watch, a_deadlock_is_reported_with_who_holds_and_who_waits)
{
  open_all();
  struct evidence e = watch(tree_of("steal-holding-lock"));
  const char *hang = buf_str(&e.watched.hang);
  cr_expect(strstr(hang, "holds kmem0 and waits for kmem") != NULL, "%s", hang);
  cr_expect(strstr(hang, "kalloc() at kernel/kalloc.c:") != NULL, "%s", hang);
  cr_expect(strstr(hang, "cpus[0]: noff 3 intena 0") != NULL, "%s", hang);
  evidence_release(&e);
  close_all();
}

// ---- the kernel that is not watched ------------------------------------------------

// By the plugin, and without one by counters in the kernel.
ParameterizedTestParameters(
    watch, the_plain_kernel_boots_and_its_locks_are_counted_by_name)
{
  static struct name plugins[] = {{""}, {"none"}};
  return cr_make_param_array(struct name, plugins, 2);
}

ParameterizedTest(struct name *plugin, watch,
                  the_plain_kernel_boots_and_its_locks_are_counted_by_name)
{
  setenv("LABGEN_PLUGIN", plugin->id, 1);
  open_all();
  struct evidence e = boot(tree_of("reference"), false);
  const char *locks = buf_str(&e.plain.locks);
  cr_expect_eq(e.plain.verdict, BOOT_COMPLETED, "%s", buf_str(&e.plain.detail));
  cr_expect(e.plain.ctrlp.complete && e.plain.ctrlp.named, "%s",
            buf_str(&e.plain.console));
  cr_expect(strstr(locks, "interval 1\nLS kmem0 acq ") != NULL, "%s", locks);
  cr_expect(strstr(locks, "interval 2\n") != NULL, "%s", locks);
  cr_expect_eq(e.finding_count, 0);
  evidence_release(&e);
  close_all();
}
