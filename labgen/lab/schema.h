// Schemas as tables: what a YAML file may hold, read into C structs, and the
// same tables printed as documentation.
#ifndef LABGEN_LAB_SCHEMA_H
#define LABGEN_LAB_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labgen/base/buf.h"
#include "labgen/base/error.h"
#include "labgen/lab/yaml.h"

// Where a value stands. A struct that a schema fills starts with one.
struct place {
  const char *path;  // the file's name for messages
  size_t line, column;
};

struct texts {
  const char **items;
  size_t count;
};

struct list {
  void *items;  // count structs of the schema's size, one after the other
  size_t count;
};
#define LIST_AT(list, type, i) (&((type *)(list).items)[i])

struct named_texts {
  const char *name;
  struct texts values;
};

// A point in time. `set` is false where the file has none.
struct when {
  bool set;
  int64_t seconds;     // since 1970-01-01 00:00:00 UTC
  int offset_minutes;  // of the written time, east of UTC
};

// What a field holds, and the C type that it fills:
//   kind, C type, words for messages and documentation
#define FIELD_KINDS(X)                                                   \
  X(FIELD_TEXT, const char *, "text")                                    \
  X(FIELD_ID, const char *, "a name of letters, digits, '-', '_', '.'")  \
  X(FIELD_INT, long, "a whole number")                                   \
  X(FIELD_BOOL, bool, "true or false")                                   \
  X(FIELD_CHOICE, int, "one of a closed list")                           \
  X(FIELD_TIME, struct when, "a time such as '2026-12-01 23:59 +01:00'") \
  X(FIELD_FILE, const char *, "a file")                                  \
  X(FIELD_FOLDER, const char *, "a folder")                              \
  X(FIELD_TREE_PATH, const char *, "a path in the tree")                 \
  X(FIELD_TEXTS, struct texts, "a list of texts")                        \
  X(FIELD_INTS, struct texts, "a list of whole numbers")                 \
  X(FIELD_FOLDERS, struct texts, "a list of folders")                    \
  X(FIELD_NAMED_TEXTS, struct list, "names, each with a list of texts")  \
  X(FIELD_NODE, const struct node *, "anything")                         \
  X(FIELD_STRUCT, struct, "a map")                                       \
  X(FIELD_STRUCTS, struct list, "a list of maps")

enum field_kind {
#define FIELD_ENUM(kind, type, words) kind,
  FIELD_KINDS(FIELD_ENUM)
#undef FIELD_ENUM
};

struct schema;

struct field {
  const char *key;  // NULL ends a table
  size_t offset;
  enum field_kind kind;
  bool required;
  bool may_be_empty;           // text "" is a value
  bool may_be_missing;         // FIELD_FILE: whoever reads it finds that out
  long min, max;               // FIELD_INT, when max > min
  const char *fallback;        // written as in YAML; scalars only
  const char *const *choices;  // FIELD_CHOICE: names, NULL-terminated; the
                               // value is the index
  const struct schema *sub;    // FIELD_STRUCT, FIELD_STRUCTS
  const char *doc;             // one line
};

// A row whose key is the member's own name; FIELD_KEY gives another key.
#define FIELD(type, member, kind_, ...) \
  FIELD_KEY(#member, type, member, kind_, __VA_ARGS__)
#define FIELD_KEY(key_, type, member, kind_, ...)                             \
  {                                                                           \
    .key = key_, .offset = offsetof(type, member), .kind = kind_, __VA_ARGS__ \
  }
#define FIELD_END \
  {               \
    .key = NULL   \
  }

struct reader;

struct schema {
  const char *name;
  const char *doc;
  size_t size;                 // of the struct, which starts with a place
  const struct field *fields;  // ended by FIELD_END
  // What a table cannot say about one struct; NULL for nothing. Reports with
  // reader_error() and returns its result, or 0.
  int (*check)(const void *value, struct reader *r);
};

// A file being read. Errors add up, so that one run shows all of them.
struct reader {
  const char *path;     // name of the file in messages
  const char *dir;      // relative names of files start here
  struct arena *arena;  // holds all that is read
  struct error *err;
  int rc;  // 0, or the code of the first error
};

// Adds an error at a place, and returns its code (LG_EINPUT).
int reader_error(struct reader *r, const struct place *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// Reads a map into the struct at `ret` by the table. Unknown keys (with a
// suggestion), wrong types, ranges and missing keys and files are all
// reported before it returns. Texts and lists live in the reader's arena.
int schema_read(const struct schema *s, const struct node *node,
                struct reader *r, void *ret);

// Reads a YAML file into *ret by the table: yaml_read(), then schema_read(),
// with names of files relative to the file's folder. LG_EINPUT, or an error of
// yaml_read(). *ret is zeroed on failure.
int schema_read_file(const struct schema *s, const char *path,
                     struct arena *arena, void *ret, struct error *err);

// As schema_read_file(), for a file that is a list of such maps.
int schema_read_list_file(const struct schema *s, const char *path,
                          struct arena *arena, struct list *ret,
                          struct error *err);

// Appends the schema as plain text, indented, sub-schemas within.
void schema_document(const struct schema *s, int indent, struct buf *b);

// What a kind of value is called in messages, such as "a file"; borrowed.
const char *field_kind_words(enum field_kind kind);

// The name among `count` names that is nearest to a misspelt one, or NULL when
// none is near.
const char *nearest_name(const char *name, const char *const *names,
                         size_t count);

// Parses "2026-12-01 23:59[:59] +01:00" ('T' and 'Z' as in RFC 3339 too).
// LG_EINPUT without a message when it is none. *ret untouched on failure.
int when_parse(const char *text, struct when *ret);

// Formats as "2026-12-01 23:59:59 +01:00" into 32 bytes or more.
void when_format(const struct when *w, char *ret, size_t size_bytes);

#endif
