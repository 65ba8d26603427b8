// The rubric, as data, and its checks: each reads evidence and gives a verdict
// with the words that a student and staff can act on.
#ifndef GRADERS_CHECK_H
#define GRADERS_CHECK_H

#include "graders/evidence.h"
#include "graders/object.h"
#include "labgen/lab/schema.h"

// Kinds of checks: number, name in YAML, what it holds the evidence to.
#define CHECK_KINDS(X)                                                 \
  X(CHECK_BUILD, "build", "the submission compiles and links")         \
  X(CHECK_OBJECT, "object", "its object keeps to the rubric's rules")  \
  X(CHECK_BOOT, "boot", "the kernel works through its script")         \
  X(CHECK_CTRLP_FORM, "ctrlp-form", "a name and a count for each CPU") \
  X(CHECK_CTRLP_SUM, "ctrlp-sum", "the counts add up to what is free") \
  X(CHECK_CONSOLE, "console", "a program prints lines, in this order") \
  X(CHECK_WRITERS, "writers", "only the kernel writes to devices")     \
  X(CHECK_FINDINGS, "findings", "nothing of this is found")            \
  X(CHECK_TRAFFIC, "traffic", "locks are taken at most this often")

enum check_kind {
#define CHECK_NUMBER(number, name, words) number,
  CHECK_KINDS(CHECK_NUMBER)
#undef CHECK_NUMBER
      CHECK_KIND_COUNT
};
// Of no kind that a rubric can name: a line of the clinic (graders/clinic.h).
#define CHECK_CLINIC CHECK_KIND_COUNT

enum traffic_step { TRAFFIC_OWN, TRAFFIC_STEAL, TRAFFIC_ROBBED };
enum traffic_count { TRAFFIC_AWAY, TRAFFIC_SHARED, TRAFFIC_REMOTE };

// A count of one step of the watchers' probe must be at most `most` in 100
// calls.
struct traffic_limit {
  struct place at;
  int step;   // enum traffic_step
  int count;  // enum traffic_count
  long most;
};

struct check {
  struct place at;
  const char *id;
  const char *title;
  int kind;                 // enum check_kind
  struct texts needs;       // checks before it that must have passed
  struct texts worth_with;  // checks; where one fails, this earns nothing
  struct texts findings;    // SOURCE/KIND; any of them fails it
  struct texts notes;       // as findings, but shown and not held against it
  const char *program;      // whose run is looked at; for CHECK_CONSOLE
  struct texts lines;       // whole ones, NONCE in them; for CHECK_CONSOLE
  int effort;               // enum effort that shows them; for CHECK_CONSOLE
  struct list limits;       // struct traffic_limit
  long marks;
  bool visible;  // a student may see its evidence before the deadline
  const char *hint;
  const char *see;  // what a student types to see it; may be NULL
  // For CHECK_CLINIC: the kernel's number, from 1, and enum clinic_part.
  size_t clinic_number;
  int clinic_part;
};

struct rubric {
  struct place at;
  const char *title;
  struct object_rules object;
  const char *designs;       // folder of other designs
  struct texts start_fails;  // checks that the start must fail
  struct texts start_notes;  // what the explorer must note of it
  struct list programs;      // struct program
  struct list checks;        // struct check
};

extern const struct schema rubric_schema;

// Reads a rubric; texts live in the arena. LG_EINPUT with all errors.
int rubric_read(const char *path, struct arena *arena, struct rubric *ret,
                struct error *err);

// The check that is called `id`, borrowed, or NULL.
const struct check *rubric_find(const struct rubric *rubric, const char *id);

// Whether the check reads what the explorer finds.
bool check_asks_explorer(const struct check *c);

// Whether a failure of the check may be an attempt on the grader.
bool check_shows_tampering(const struct check *c);

// Verdicts: number, words. Not reached: something before it ended the run. Not
// judged: the harness or the host is at fault, and the run must be repeated.
#define VERDICTS(X)                     \
  X(VERDICT_PASS, "pass")               \
  X(VERDICT_FAIL, "fail")               \
  X(VERDICT_NOT_REACHED, "not reached") \
  X(VERDICT_NOT_JUDGED, "not judged")

enum verdict {
#define VERDICT_NUMBER(number, words) number,
  VERDICTS(VERDICT_NUMBER)
#undef VERDICT_NUMBER
};

const char *verdict_words(enum verdict v);  // borrowed

struct check_result {
  const struct check *check;  // borrowed
  enum verdict verdict;
  // The check that it needs and that did not pass, or NULL: then the verdict is
  // from the evidence. Borrowed.
  const struct check *needed;
  long marks;
  // What was seen, a line each. Where the verdict is no pass there is at least
  // one. Bytes of the guest may be in it: hostile.
  struct buf text;
};

// Judges all checks of the rubric in their order. The caller owns *ret (as many
// as the rubric has checks) and releases it with check_results_release().
void rubric_judge(const struct rubric *rubric, const struct evidence *e,
                  struct check_result **ret);

void check_results_release(struct check_result *results, size_t count);

// The measured value of a traffic limit, in 100 calls; -1 when the evidence has
// none.
double traffic_measured(const struct evidence *e,
                        const struct traffic_limit *limit);

#endif
