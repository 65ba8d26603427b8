// Repositories as tar files, for courses that hand those out.
#ifndef LABGEN_REPO_ARCHIVE_H
#define LABGEN_REPO_ARCHIVE_H

#include "labgen/base/error.h"
#include "labgen/repo/course.h"
#include "labgen/repo/publish.h"
#include "labgen/repo/repo.h"

// Makes archives/NAME.tar ("students/ada" gives archives/students/ada.tar) with
// the repository in a folder of its last part's name, unless it is there. The
// tar is written from the plan, not from a folder that somebody may have worked
// in. Names are sorted, owner 0, every time the lab's date: the same repository
// gives the same bytes. The format is POSIX pax, uncompressed. LG_EIO,
// LG_EHARNESS.
int archive_repository(struct publish *p, struct course *course,
                       const char *name, const struct repo_plan *plan,
                       struct error *err);

#endif
