// What libgit2 says when it fails, as an error of ours.
#ifndef LABGEN_REPO_GITERROR_H
#define LABGEN_REPO_GITERROR_H

#include "labgen/base/error.h"

// Sets *err to `code` and "WHAT: libgit2's words", and returns `code`.
int git_failed(struct error *err, int code, const char *what);

#endif
