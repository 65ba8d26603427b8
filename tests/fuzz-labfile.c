// Fuzz target: bytes as a lab file, and as a bug of the catalogue.
#include <stdint.h>
#include <string.h>

#include "labgen/lab/bug.h"
#include "labgen/lab/labfile.h"

static void read_as(const struct schema *schema, void *value,
                    const uint8_t *data, size_t size)
{
  struct arena arena = {0};
  struct error err = {0};
  const struct node *root = NULL;
  int rc = yaml_parse("f.yaml", (const char *)data, size, &arena, &root, &err);
  if (root) {
    struct reader r = {.path = "f.yaml",
                       .dir = "/nonexistent",
                       .arena = &arena,
                       .err = &err,
                       .rc = rc};
    schema_read(schema, root, &r, value);
  }
  error_release(&err);
  arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct lab lab;
  struct bug bug;
  read_as(&lab_schema, &lab, data, size);
  read_as(&bug_schema, &bug, data, size);
  return 0;
}
