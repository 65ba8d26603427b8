// The one place that asks libgit2 for its last error.
#include "labgen/repo/internal.h"

int git_failed(struct error *err, int code, const char *what)
{
  const git_error *last = git_error_last();
  return error_set(err, code, "%s: %s", what,
                   last && last->message ? last->message : "git failed");
}
