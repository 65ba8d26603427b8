// Makes the shared object out of a student's file.
#ifndef LABGEN_EXPLORE_COMPILE_H
#define LABGEN_EXPLORE_COMPILE_H

#include <stdbool.h>

#include "labgen/base/error.h"

struct compile_request {
  const char *source;   // the student's file
  const char *headers;  // the folder of the tree's headers
  const char *runtime;  // graders/explore/rt
  const char *dir;      // empty folder for what is made
  bool sandbox;         // see labgen/run/sandbox.h
};

// Compiles and links. The caller owns *ret_object, a path below `dir`.
// LG_EBUILD with the compiler's words when the file does not compile;
// LG_EHARNESS when there is no compiler, or it does not end.
int explore_compile(const struct compile_request *request, char **ret_object,
                    struct error *err);

#endif
