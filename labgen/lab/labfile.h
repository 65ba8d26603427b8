// The lab file: everything about a lab, in YAML.
#ifndef LABGEN_LAB_LABFILE_H
#define LABGEN_LAB_LABFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "labgen/lab/roster.h"
#include "labgen/lab/schema.h"

struct lab_machine {
  struct place at;
  long harts;
  long memory_mib;
};

// Where the kernel tree comes from: a folder, or a commit of a git repository.
struct lab_base {
  struct place at;
  const char *folder;
  const char *git;        // path of a local repository
  const char *commit;     // any name of a commit in it
  struct texts products;  // what its Makefile makes; none: kernel/kernel
};

// The course secret is never in the lab file itself.
struct lab_secret {
  struct place at;
  const char *file;
  const char *env;  // name of an environment variable
};

// What a student's lab repository holds.
struct lab_start {
  struct place at;
  const char *branch;
  const char *commit;        // folder of a commit (commit.yaml)
  struct texts corrections;  // folders of commits made since the release
  const char *handout;       // Markdown with ${student}, ${deadline}, ...
  const char *handout_file;  // its path in the tree
};

// A further branch of the instructor's repository.
struct lab_branch {
  struct place at;
  const char *name;
  const char *commit;  // folder of a commit, on top of the reference
};

// One bug that every student gets.
struct lab_pick {
  struct place at;
  struct texts classes;     // it comes from one of these; none: from any
  struct texts difficulty;  // it has one of these; none: any
};

// What each kernel of the clinic is worth.
struct lab_clinic_marks {
  struct place at;
  long gone;      // the mistake is gone
  long unbroken;  // and nothing else broke
  long class_id;  // YAML key `class`
  long place;     // its function and line
  long words;     // why it is wrong and how it was seen: that it is said
};

struct lab_clinic {
  struct place at;
  const char *bugs;       // folder of the catalogue
  const char *classes;    // file with the closed list of classes
  const char *rendering;  // file that says how the reference is rewritten
  const char *handout;    // Markdown
  const char *branch;     // branches are called BRANCH-1, BRANCH-2, ...
  struct list picks;      // struct lab_pick
  struct lab_clinic_marks marks;
  long line_tolerance;  // lines that an answer may be beside the mistake
};

// A function of a file that a submission may change.
struct lab_function {
  struct place at;
  const char *file;
  const char *function;
};

struct lab_submission {
  struct place at;
  struct texts files;       // whole files that a submission may change
  struct list functions;    // struct lab_function
  struct texts prototypes;  // headers that may gain prototypes
};

// What is handed in after the last late day: number, name in YAML, words.
#define TOO_LATES(X)                        \
  X(TOO_LATE_ZERO, "zero", "gets no marks") \
  X(TOO_LATE_MARKS, "marks", "is marked like the last of them")

enum too_late {
#define TOO_LATE_NUMBER(number, name, words) number,
  TOO_LATES(TOO_LATE_NUMBER)
#undef TOO_LATE_NUMBER
};

struct lab_dates {
  struct place at;
  struct when deadline;
  long late_days;
  long late_penalty;  // percent of the marks for each late day that was begun
  int too_late;       // enum too_late
  struct when clinic_release;  // where not given: deadline and late days
};

struct lab_commits {
  struct place at;
  const char *author;
  const char *email;
  struct when date;
};

struct lab_limits {
  struct place at;
  long compile_seconds;
  long compile_memory_mib;
};

struct lab {
  struct place at;
  const char *id;
  const char *title;
  struct lab_machine machine;
  struct lab_base base;
  struct lab_secret secret;
  const char *roster;
  struct lab_start start;
  struct texts reference;  // folders of commits, on top of start
  struct list branches;    // struct lab_branch
  struct lab_clinic clinic;
  struct lab_submission submission;
  const char *rubric;
  struct lab_dates dates;
  struct lab_commits commits;
  struct lab_limits limits;
};

// The lab file, and the parts of it that students have too.
extern const struct schema lab_schema;
extern const struct schema lab_machine_schema, lab_submission_schema;

// Reads a lab file; texts live in *arena. All errors are reported in one go,
// each as FILE:LINE:COLUMN: message. LG_EINPUT, or as yaml_read().
int lab_read(const char *path, struct arena *arena, struct lab *ret,
             struct error *err);

// Appends what late work gets, in a sentence for students.
void lab_late_rule(const struct lab_dates *dates, struct buf *ret);

// Reads the course secret: the file or the variable, without white space at
// its end, at least 16 bytes. A secret of the form "demo HASH" is good for the
// roster with that hash (BLAKE2b-256, hexadecimal) alone. *ret is released
// first and holds the secret. LG_EINPUT.
int lab_read_secret(const struct lab *lab, const struct roster *roster,
                    struct buf *ret, struct error *err);

#endif
