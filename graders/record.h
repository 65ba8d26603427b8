// A graded submission as JSON: result.json, which all reports are made from,
// and evidence.json, for who looks closer.
#ifndef GRADERS_RECORD_H
#define GRADERS_RECORD_H

#include <jansson.h>

#include "graders/check.h"
#include "graders/clinic.h"
#include "graders/intake.h"
#include "graders/policy.h"
#include "graders/submission.h"

// What has become of a student's submission: number, name in JSON.
#define RECORD_STATES(X)             \
  X(RECORD_JUDGED, "judged")         \
  X(RECORD_REFUSED, "refused")       \
  X(RECORD_NOT_JUDGED, "not judged") \
  X(RECORD_MISSING, "nothing handed in")

enum record_state {
#define RECORD_NUMBER(number, name) number,
  RECORD_STATES(RECORD_NUMBER)
#undef RECORD_NUMBER
};

const char *record_state_name(enum record_state state);  // borrowed
enum record_state record_state_of(const json_t *record);

// What a record is made of; all borrowed, and NULL where it does not exist.
struct record_parts {
  const struct student *student;
  const char *key;  // names what was graded, and by what
  enum record_state state;
  const char *reason;  // of a state that is not judged; hostile
  const struct intake *intake;
  const struct intake_claim *claim;
  const struct submission *submission;
  const struct policy *policy;
  const char *notes;  // lines; hostile
  const struct check_result *results;
  size_t result_count;
  const struct evidence *evidence;
  const struct clinic *clinic;
};

// Both are the caller's. Every text in them is valid UTF-8 without control
// characters, and long ones are cut.
json_t *record_result(const struct record_parts *parts);
json_t *record_evidence(const struct record_parts *parts);

// The marks that a record's checks are worth: the clinic's only where it was
// judged, and the lab's likewise.
long record_max(const json_t *record);

// Reads a JSON file of at most 16 MiB; NULL when there is none, or it is none.
json_t *record_read(const char *path);

// Appends the JSON as all files of results have it.
void record_format(const json_t *json, struct buf *ret);

// A text of an object, "" where there is none; borrowed.
const char *record_text(const json_t *object, const char *key);

// A number of an object, 0 where there is none.
long record_number(const json_t *object, const char *key);

#endif
