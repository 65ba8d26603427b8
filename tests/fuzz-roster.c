// Fuzz target: bytes as a roster, CSV and YAML. What is accepted must keep what
// the header promises.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/lab/roster.h"
#include "labgen/lab/tree.h"

static void read_as(const char *path, const uint8_t *data, size_t size)
{
  struct roster r = {0};
  struct error err = {0};
  if (roster_parse(path, (const char *)data, size, &r, &err) == 0) {
    if (r.count == 0)
      abort();
    for (size_t i = 0; i < r.count; i++) {
      const char *id = r.students[i].id;
      if (!tree_path_ok(id) || strchr(id, '/') || roster_find(&r, id) == NULL)
        abort();
      for (size_t k = 0; k < r.column_count; k++)
        if (!r.students[i].more[k])
          abort();
    }
  } else if (!err.message) {
    abort();
  }
  roster_release(&r);
  error_release(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  read_as("r.csv", data, size);
  read_as("r.yaml", data, size);
  return 0;
}
