// What was handed in, and by whom: files, folders, archives and repositories
// named as people and learning platforms name them, matched to the roster.
//
// This only looks at names; what is inside is read by graders/submission.h.
#ifndef GRADERS_INTAKE_H
#define GRADERS_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labgen/base/error.h"
#include "labgen/lab/roster.h"
#include "labgen/lab/schema.h"

enum intake_form { INTAKE_FOLDER, INTAKE_ARCHIVE, INTAKE_FILE };

// One thing that was handed in.
struct intake_entry {
  char *path;   // owned
  char *name;   // owned; as people know it: "GRADED/ada.tar.gz". Hostile
  char *given;  // owned; the name that the student gave the file. Hostile
  enum intake_form form;
  const struct student *student;  // NULL: nobody's, and `problem` says why
  char *problem;                  // owned; may hold hostile bytes
  bool late;                      // the platform says that it was late
  struct when handed_in;          // as the platform says; may be not set
  size_t argument;                // which of the paths it came from
  uint64_t number;                // attempt, or the platform's number; 0: none
  bool superseded;                // a later attempt of the student's is used
};

// What one student is graded on: one folder or archive, or single files that
// belong together.
struct intake_claim {
  const struct student *student;
  size_t first, count;  // of `order`
};

struct intake {
  struct intake_entry *entries;  // in the order of names, path by path
  size_t count, room;
  size_t *order;                // indices of entries, student by student
  struct intake_claim *claims;  // in the roster's order
  size_t claim_count;
};

struct intake_spec {
  const char *const *paths;  // folders of submissions, or single ones
  size_t path_count;
  const struct roster *roster;
  struct texts files;   // of the lab: what a submission may bring
  const char *scratch;  // folder for archives that hold a class's work
};

// Finds all submissions. An entry that is nobody's, or more than one student's,
// keeps its `problem` and is nobody's; students of whom several entries stand
// side by side in no order get none of them. LG_ENOTFOUND when a path is not
// there, LG_EREFUSED when an archive of a class's work must not be unpacked,
// LG_EIO.
int intake_scan(const struct intake_spec *spec, struct intake *ret,
                struct error *err);

// Whether a folder is one submission: it holds a repository, or is one, or
// holds the folder or the name of a file of the lab.
bool intake_is_work(const char *folder, const struct texts *files);

// Whether a folder is a repository without a working folder.
bool intake_is_bare(const char *folder);

// Safe on a zeroed struct.
void intake_release(struct intake *in);

#endif
