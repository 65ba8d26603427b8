// Writing what a schema reads.
#ifndef LABGEN_LAB_SCHEMA_WRITE_H
#define LABGEN_LAB_SCHEMA_WRITE_H

#include "labgen/base/buf.h"
#include "labgen/lab/schema.h"

// Appends the struct as JSON (RFC 8259), a subset of the YAML that
// schema_read_file() reads. What is empty or not set is left out, and so are
// values of FIELD_NODE. Texts must be UTF-8, as those of a file always are.
void schema_write(const struct schema *s, const void *value, struct buf *b);

#endif
