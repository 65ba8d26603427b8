// Reads answers.yaml through the reader of schemas. It comes from a student, so
// whatever is in it is at most a problem of the student's. Whether an answer is
// right is not decided here.
#include "graders/answers.h"

#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/lab/schema.h"
#include "labgen/repo/student.h"

#define MAX_KEYS 20

// The file as it stands there.
struct sheet {
  struct place at;
  const char *class_id, *function;
  long line;
  const char *explanation, *seen;
};

static const struct field sheet_fields[] = {
    FIELD_KEY("class", struct sheet, class_id, FIELD_TEXT, .required = true,
              .doc = "one of the list at the top of the file"),
    FIELD(struct sheet, function, FIELD_TEXT, .required = true,
          .doc = "the function with the mistake"),
    FIELD(struct sheet, line, FIELD_INT, .required = true, .min = 1,
          .max = 1000000,
          .doc = "the line with the mistake, as the branch was handed out"),
    FIELD(struct sheet, explanation, FIELD_TEXT, .required = true,
          .may_be_empty = true, .doc = "why it is wrong"),
    FIELD(struct sheet, seen, FIELD_TEXT, .required = true,
          .may_be_empty = true, .doc = "how you saw it"),
    FIELD_END,
};

static const struct schema sheet_schema = {
    .name = ANSWERS_FILE,
    .doc = "What is wrong with a kernel of the clinic.",
    .size = sizeof(struct sheet),
    .fields = sheet_fields,
};

// The class of the closed list that `given` is, or NULL and a problem.
static const char *find_class(struct reader *r, const struct node *root,
                              const char *given,
                              const struct bug_class *classes, size_t count)
{
  const char **names = xcalloc(count + 1, sizeof(*names));
  const struct node *n = node_get(root, "class");
  const char *found = classes ? NULL : given;
  for (size_t i = 0; classes && i < count; i++) {
    names[i] = classes[i].id;
    if (strcmp(given, classes[i].id) == 0)
      found = classes[i].id;
  }
  if (!found) {
    struct place at = {r->path, n->line, n->column};
    const char *near = nearest_name(given, names, count);
    reader_error(r, &at, "'%s' is no class%s%s%s", given,
                 near ? " (did you mean '" : "; the list is at the top",
                 near ? near : "", near ? "'?)" : "");
  }
  free(names);
  return found;
}

// People write "kfree()" as well as "kfree".
static const char *bare_name(struct arena *arena, const char *function)
{
  size_t len = strlen(function);
  if (len > 2 && strcmp(function + len - 2, "()") == 0)
    len -= 2;
  return arena_strndup(arena, function, len);
}

static void read_sheet(struct reader *r, const struct node *root,
                       const struct bug_class *classes, size_t class_count,
                       struct answers *ret)
{
  struct sheet s;
  schema_read(&sheet_schema, root, r, &s);
  if (s.class_id)
    ret->class_id = find_class(r, root, s.class_id, classes, class_count);
  if (s.function)
    ret->function = bare_name(r->arena, s.function);
  ret->line = s.line;
  ret->explanation = s.explanation ? s.explanation : "";
  ret->seen = s.seen ? s.seen : "";
}

// A message for each of thousands would cost more than reading them.
static bool has_too_many_keys(const struct node *root, struct error *err)
{
  if (root->kind != NODE_MAP || root->count <= MAX_KEYS)
    return false;
  error_at(err, LG_EINPUT, ANSWERS_FILE, root->line, root->column,
           "%zu keys; the file as it was handed out has five", root->count);
  return true;
}

void answers_read(const char *bytes, size_t len,
                  const struct bug_class *classes, size_t class_count,
                  struct answers *ret, struct buf *ret_problems)
{
  struct answers a = {.explanation = "", .seen = ""};
  struct error err = {0};
  const struct node *root;
  if (len > ANSWERS_MAX_BYTES) {
    error_set(&err, LG_ELIMIT, "%s: %zu bytes; at most %u are read",
              ANSWERS_FILE, len, ANSWERS_MAX_BYTES);
  } else if (yaml_parse(ANSWERS_FILE, bytes, len, &a.arena, &root, &err) == 0 &&
             !has_too_many_keys(root, &err)) {
    struct reader r = {
        .path = ANSWERS_FILE, .dir = ".", .arena = &a.arena, .err = &err};
    read_sheet(&r, root, classes, class_count, &a);
  }
  if (err.message)
    buf_addf(ret_problems, "%s\n", err.message);
  error_release(&err);
  answers_release(ret);
  *ret = a;
}

bool answers_says(const char *text)
{
  return text[strspn(text, " \t\r\n")] != '\0';
}

void answers_release(struct answers *a)
{
  arena_release(&a->arena);
  *a = (struct answers){0};
}
