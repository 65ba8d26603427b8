// Reads YAML nodes into structs by tables of fields, and prints the tables.
// Rules that span several fields are the schema's check function; rules that
// span files are the caller's.
#include "labgen/lab/schema.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/lab/tree.h"

static const char *const kind_words[] = {
#define FIELD_WORDS(kind, type, words) words,
    FIELD_KINDS(FIELD_WORDS)
#undef FIELD_WORDS
};

const char *field_kind_words(enum field_kind kind)
{
  return kind_words[kind];
}

int reader_error(struct reader *r, const struct place *at, const char *fmt, ...)
{
  va_list args;
  struct buf text = BUF_INIT;
  char line[1024];
  va_start(args, fmt);
  vsnprintf(line, sizeof(line), fmt, args);
  va_end(args);
  // Names and values from the file reach the terminal escaped.
  buf_add_terminal(&text, line, strlen(line));
  error_at(r->err, LG_EINPUT, at->path, at->line, at->column, "%s",
           buf_str(&text));
  buf_release(&text);
  r->rc = LG_EINPUT;
  return LG_EINPUT;
}

static struct place place_of(const struct reader *r, const struct node *n)
{
  return (struct place){r->path, n->line, n->column};
}

#define NODE_ERROR(r, n, ...)                 \
  do {                                        \
    struct place place_ = place_of((r), (n)); \
    reader_error((r), &place_, __VA_ARGS__);  \
  } while (0)

// How many letters must be put in, left out, changed or swapped; counts to 3.
static size_t distance(const char *a, const char *b)
{
  size_t rows[3][34];
  size_t n = strlen(a), m = strlen(b);
  if (n > 32 || m > 32)
    return 3;
  for (size_t i = 0; i <= n; i++) {
    size_t *row = rows[i % 3], *up = rows[(i + 2) % 3],
           *up2 = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= m; j++) {
      if (i == 0) {
        row[j] = j;
        continue;
      }
      size_t best = up[j - 1] + (a[i - 1] != b[j - 1]);
      best = up[j] + 1 < best ? up[j] + 1 : best;
      best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
          up2[j - 2] + 1 < best)
        best = up2[j - 2] + 1;
      row[j] = best;
    }
  }
  return rows[n % 3][m];
}

const char *nearest_name(const char *name, const char *const *names,
                         size_t count)
{
  const char *best = NULL;
  size_t best_distance = strlen(name) < 4 ? 2 : 3;
  for (size_t i = 0; i < count; i++) {
    size_t d = distance(name, names[i]);
    if (d < best_distance) {
      best_distance = d;
      best = names[i];
    }
  }
  return best;
}

static void unknown_name(struct reader *r, const struct node *n,
                         const char *what, const char *const *names,
                         size_t count)
{
  const char *near = nearest_name(n->text, names, count);
  struct buf all = BUF_INIT;
  for (size_t i = 0; i < count; i++)
    buf_addf(&all, "%s%s", i ? ", " : "", names[i]);
  if (near)
    NODE_ERROR(r, n, "unknown %s '%s' (did you mean '%s'?)", what, n->text,
               near);
  else
    NODE_ERROR(r, n, "unknown %s '%s' (known: %s)", what, n->text,
               buf_str(&all));
  buf_release(&all);
}

// --- single values ---------------------------------------------------------

static int read_int(const struct node *n, const struct field *f,
                    struct reader *r, long *ret)
{
  char *end;
  errno = 0;
  long value = strtol(n->text, &end, 10);
  if (!n->plain || end == n->text || *end || errno ||
      isspace((unsigned char)n->text[0]) || n->text[0] == '+') {
    NODE_ERROR(r, n, "'%s' needs a whole number, not '%s'", f->key, n->text);
    return LG_EINPUT;
  }
  if (f->max > f->min && (value < f->min || value > f->max)) {
    NODE_ERROR(r, n, "'%s' must lie between %ld and %ld, not be %ld", f->key,
               f->min, f->max, value);
    return LG_EINPUT;
  }
  *ret = value;
  return 0;
}

static void read_choice(const struct node *n, const struct field *f,
                        struct reader *r, int *ret)
{
  size_t count = 0;
  for (; f->choices[count]; count++) {
    if (strcmp(f->choices[count], n->text) == 0) {
      *ret = (int)count;
      return;
    }
  }
  char *what = xasprintf("value of '%s':", f->key);
  unknown_name(r, n, what, f->choices, count);
  free(what);
}

static bool is_id(const char *text)
{
  size_t len = strlen(text);
  return len > 0 && len <= 64 && isalnum((unsigned char)text[0]) &&
         strspn(text,
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                "0123456789-_.") == len;
}

// Finds a file or a folder beside the file being read, or in the data folder.
static const char *find_path(const struct node *n, const struct field *f,
                             bool folder, struct reader *r)
{
  const char *data = NULL;
  const char *dirs[2] = {r->dir, NULL};
  if (data_dir(&data, NULL) == 0)
    dirs[1] = data;
  for (int i = 0; i < 2 && dirs[i]; i++) {
    struct stat st;
    char *path = strcmp(dirs[i], ".") == 0 ? xstrdup(n->text)
                                           : path_join(dirs[i], n->text);
    bool there = stat(path, &st) == 0;
    bool right = there && (folder ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode));
    const char *found =
        right ? arena_strndup(r->arena, path, strlen(path)) : NULL;
    free(path);
    if (found)
      return found;
    if (there) {
      NODE_ERROR(r, n, "'%s' is no %s: %s", n->text,
                 folder ? "folder" : "regular file", f->key);
      return NULL;
    }
  }
  if (f->may_be_missing)
    return arena_printf(r->arena, "%s/%s", r->dir, n->text);
  NODE_ERROR(r, n, "no %s '%s' (looked in %s%s%s)", folder ? "folder" : "file",
             n->text, r->dir, dirs[1] ? " and " : "", dirs[1] ? dirs[1] : "");
  return NULL;
}

static void read_bool(const struct node *n, const struct field *f,
                      struct reader *r, bool *ret)
{
  if (n->plain && strcmp(n->text, "true") == 0)
    *ret = true;
  else if (n->plain && strcmp(n->text, "false") == 0)
    *ret = false;
  else
    NODE_ERROR(r, n, "'%s' needs true or false, not '%s'", f->key, n->text);
}

static void read_scalar(const struct node *n, const struct field *f,
                        struct reader *r, void *at)
{
  if (n->kind == NODE_WRONG) {
    r->rc = LG_EINPUT;
    return;
  }
  if (n->kind != NODE_SCALAR) {
    NODE_ERROR(r, n, "'%s' needs %s, not a %s", f->key, kind_words[f->kind],
               n->kind == NODE_MAP ? "map" : "list");
    return;
  }
  if (!n->text[0] && !(f->may_be_empty && !n->plain)) {
    NODE_ERROR(r, n, "'%s' has no value", f->key);
    return;
  }
  switch (f->kind) {
  case FIELD_INT:
    read_int(n, f, r, at);
    break;
  case FIELD_BOOL:
    read_bool(n, f, r, at);
    break;
  case FIELD_CHOICE:
    read_choice(n, f, r, at);
    break;
  case FIELD_TIME:
    if (when_parse(n->text, at))
      NODE_ERROR(r, n, "'%s' needs %s, with its offset from UTC; not '%s'",
                 f->key, kind_words[f->kind], n->text);
    break;
  case FIELD_FILE:
  case FIELD_FOLDER:
    *(const char **)at = find_path(n, f, f->kind == FIELD_FOLDER, r);
    break;
  case FIELD_ID:
    if (!is_id(n->text))
      NODE_ERROR(r, n, "'%s' needs %s (at most 64), not '%s'", f->key,
                 kind_words[f->kind], n->text);
    *(const char **)at = n->text;
    break;
  case FIELD_TREE_PATH:
    if (!tree_path_ok(n->text))
      NODE_ERROR(r, n,
                 "'%s' must be a relative path without '..' or '.git', not "
                 "'%s'",
                 f->key, n->text);
    *(const char **)at = n->text;
    break;
  default:
    *(const char **)at = n->text;
  }
}

// --- lists and maps --------------------------------------------------------

static void read_texts(const struct node *n, const struct field *f,
                       struct reader *r, struct texts *ret)
{
  if (n->kind != NODE_LIST) {
    NODE_ERROR(r, n, "'%s' needs %s", f->key, kind_words[f->kind]);
    return;
  }
  struct field one = *f;
  one.kind = f->kind == FIELD_FOLDERS ? FIELD_FOLDER : FIELD_TEXT;
  ret->items = arena_alloc(r->arena, n->count * sizeof(*ret->items));
  ret->count = n->count;
  for (size_t i = 0; i < n->count; i++) {
    long number;
    if (f->kind == FIELD_INTS && n->items[i]->kind == NODE_SCALAR)
      read_int(n->items[i], f, r, &number);
    read_scalar(n->items[i], &one, r, &ret->items[i]);
  }
}

static void read_named_texts(const struct node *n, const struct field *f,
                             struct reader *r, struct list *ret)
{
  if (n->kind != NODE_MAP) {
    NODE_ERROR(r, n, "'%s' needs %s", f->key, kind_words[f->kind]);
    return;
  }
  struct named_texts *rows = arena_alloc(r->arena, n->count * sizeof(*rows));
  struct field one = *f;
  one.kind = FIELD_TEXTS;
  for (size_t i = 0; i < n->count; i++) {
    rows[i].name = one.key = n->items[2 * i]->text;
    read_texts(n->items[2 * i + 1], &one, r, &rows[i].values);
    if (n->items[2 * i + 1]->kind == NODE_LIST && rows[i].values.count == 0)
      NODE_ERROR(r, n->items[2 * i + 1], "'%s' has no value to choose from",
                 rows[i].name);
  }
  *ret = (struct list){rows, n->count};
}

static void read_structs(const struct node *n, const struct field *f,
                         struct reader *r, struct list *ret)
{
  if (n->kind != NODE_LIST) {
    NODE_ERROR(r, n, "'%s' needs %s", f->key, kind_words[f->kind]);
    return;
  }
  char *items = arena_alloc(r->arena, n->count * f->sub->size);
  for (size_t i = 0; i < n->count; i++)
    schema_read(f->sub, n->items[i], r, items + i * f->sub->size);
  *ret = (struct list){items, n->count};
}

static void read_field(const struct node *n, const struct field *f,
                       struct reader *r, void *at)
{
  if (n->kind == NODE_WRONG) {
    r->rc = LG_EINPUT;
    return;
  }
  switch (f->kind) {
  case FIELD_TEXTS:
  case FIELD_INTS:
  case FIELD_FOLDERS:
    read_texts(n, f, r, at);
    break;
  case FIELD_NAMED_TEXTS:
    read_named_texts(n, f, r, at);
    break;
  case FIELD_NODE:
    *(const struct node **)at = n;
    break;
  case FIELD_STRUCT:
    schema_read(f->sub, n, r, at);
    break;
  case FIELD_STRUCTS:
    read_structs(n, f, r, at);
    break;
  default:
    read_scalar(n, f, r, at);
  }
}

static void check_keys(const struct schema *s, const struct node *node,
                       struct reader *r)
{
  const char *names[64];
  size_t count = 0;
  for (const struct field *f = s->fields; f->key && count < 64; f++)
    names[count++] = f->key;
  for (size_t i = 0; i < node->count; i++) {
    const struct node *key = node->items[2 * i];
    size_t k = 0;
    while (k < count && strcmp(names[k], key->text) != 0)
      k++;
    if (k == count)
      unknown_name(r, key, "key", names, count);
  }
}

int schema_read(const struct schema *s, const struct node *node,
                struct reader *r, void *ret)
{
  int before = r->rc;
  struct place at = place_of(r, node);
  memset(ret, 0, s->size);
  *(struct place *)ret = at;
  if (node->kind == NODE_WRONG)
    return r->rc = LG_EINPUT;
  if (node->kind != NODE_MAP)
    return reader_error(r, &at, "%s: a map is needed here (key: value)",
                        s->name);
  r->rc = 0;
  check_keys(s, node, r);
  for (const struct field *f = s->fields; f->key; f++) {
    const struct node *value = node_get(node, f->key);
    if (value) {
      read_field(value, f, r, (char *)ret + f->offset);
    } else if (f->fallback) {
      struct node fallback = {.kind = NODE_SCALAR,
                              .line = node->line,
                              .column = node->column,
                              .text = f->fallback,
                              .plain = true};
      read_field(&fallback, f, r, (char *)ret + f->offset);
    } else if (f->kind == FIELD_STRUCT && !f->required) {
      struct node empty = {.kind = NODE_MAP,
                           .line = node->line,
                           .column = node->column};  // for its defaults
      read_field(&empty, f, r, (char *)ret + f->offset);
    } else if (f->required) {
      reader_error(r, &at, "%s: key '%s' is missing (%s)", s->name, f->key,
                   f->doc);
    }
  }
  if (r->rc == 0 && s->check)
    s->check(ret, r);
  int rc = r->rc;
  if (before)
    r->rc = before;
  return rc;
}

// Parses a file and makes ready to read its nodes. Mistakes that leave nodes to
// read are said, and count from the start.
static int open_reader(const char *path, struct arena *arena, struct reader *r,
                       const struct node **ret_root, struct error *err)
{
  *ret_root = NULL;
  int rc = yaml_read(path, arena, ret_root, err);
  if (!*ret_root)
    return rc;
  const char *slash = strrchr(path, '/');
  *r = (struct reader){.arena = arena, .err = err, .dir = ".", .rc = rc};
  r->path = arena_strndup(arena, path, strlen(path));
  if (slash)
    r->dir = arena_strndup(arena, path, (size_t)(slash - path) + 1);
  return 0;
}

int schema_read_file(const struct schema *s, const char *path,
                     struct arena *arena, void *ret, struct error *err)
{
  const struct node *root;
  struct reader r;
  memset(ret, 0, s->size);
  int rc = open_reader(path, arena, &r, &root, err);
  if (rc)
    return rc;
  schema_read(s, root, &r, ret);
  if (r.rc)
    memset(ret, 0, s->size);
  return r.rc;
}

int schema_read_list_file(const struct schema *s, const char *path,
                          struct arena *arena, struct list *ret,
                          struct error *err)
{
  const struct node *root;
  struct reader r;
  struct list items = {0};
  int rc = open_reader(path, arena, &r, &root, err);
  if (rc)
    return rc;
  struct field whole = {
      .key = s->name, .kind = FIELD_STRUCTS, .sub = s, .doc = s->doc};
  read_structs(root, &whole, &r, &items);
  if (r.rc == 0)
    *ret = items;
  return r.rc;
}

// --- documentation ---------------------------------------------------------

static void document_field(const struct field *f, int indent, struct buf *b)
{
  buf_addf(b, "%*s%s: %s", indent, "", f->key, kind_words[f->kind]);
  if (f->choices) {
    buf_adds(b, " (");
    for (size_t i = 0; f->choices[i]; i++)
      buf_addf(b, "%s%s", i ? ", " : "", f->choices[i]);
    buf_addc(b, ')');
  }
  if (f->max > f->min)
    buf_addf(b, " (%ld to %ld)", f->min, f->max);
  if (f->required)
    buf_adds(b, ", required");
  if (f->fallback)
    buf_addf(b, ", default %s", f->fallback);
  buf_addf(b, "\n%*s%s\n", indent + 4, "", f->doc);
}

void schema_document(const struct schema *s, int indent, struct buf *b)
{
  for (const struct field *f = s->fields; f->key; f++) {
    document_field(f, indent, b);
    if (f->sub)
      schema_document(f->sub, indent + 2, b);
  }
}
