// Reads rosters from CSV and YAML. Both end in the same rows of text, which are
// checked in one place. It does not match submissions to students.
#include "labgen/lab/roster.h"

#include <ctype.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/base/file.h"
#include "labgen/lab/schema.h"
#include "labgen/lab/yaml.h"

#define FILE_MAX_BYTES (16u << 20)
#define MAX_COLUMNS 64
#define MAX_STUDENTS 100000

// A roster on its way: the table of texts, and where each stood.
struct cell {
  const char *text;  // NULL: not there
  size_t line, column;
};

struct table {
  const char *path;
  struct arena *arena;
  struct error *err;
  int rc;
  const char *names[MAX_COLUMNS];
  size_t columns;
  struct cell *cells;  // owned; rows of `columns` cells
  size_t rows, room;   // room in rows
};

enum { COL_ID, COL_NAME, COL_EMAIL, COL_SECTION, KNOWN_COLUMNS };
static const char *const known_columns[] = {"id", "name", "email", "section"};

static void complain(struct table *t, size_t line, size_t column,
                     const char *what, const char *value)
{
  struct buf text = BUF_INIT;
  buf_add_terminal(&text, value, strnlen(value, 80));
  t->rc = error_at(t->err, LG_EINPUT, t->path, line, column, "%s%s%s%s", what,
                   *value ? " '" : "", buf_str(&text), *value ? "'" : "");
  buf_release(&text);
}

// Whether the text is UTF-8 (RFC 3629) without control characters.
static bool is_plain_text(const char *s)
{
  static const unsigned least[] = {0, 0x80, 0x800, 0x10000};
  for (const unsigned char *p = (const unsigned char *)s; *p;) {
    int more = *p < 0x80 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
    if ((*p >= 0x80 && *p < 0xc2) || *p > 0xf4)
      return false;
    unsigned code = more ? *p & (0x3f >> more) : *p;
    for (int i = 1; i <= more; i++) {
      if ((p[i] & 0xc0) != 0x80)
        return false;
      code = code << 6 | (p[i] & 0x3f);
    }
    if (code < least[more] || code > 0x10ffff || code < 0x20 ||
        (code >= 0x7f && code < 0xa0) || (code >= 0xd800 && code < 0xe000))
      return false;
    p += more + 1;
  }
  return true;
}

// An id names a folder, so it is kept to what is safe in one everywhere.
static const char *id_problem(const char *id)
{
  size_t len = strlen(id);
  if (len == 0)
    return "the id is empty";
  if (len > 64)
    return "the id is longer than 64 characters:";
  if (!isalnum((unsigned char)id[0]))
    return "an id starts with a letter or a digit, not as";
  if (strstr(id, "..") || id[len - 1] == '.')
    return "an id has no '..' and no '.' at its end, unlike";
  if (len > 5 && strcasecmp(id + len - 5, ".lock") == 0)
    return "an id does not end in '.lock', unlike";
  for (size_t i = 0; i < len; i++)
    if (!isalnum((unsigned char)id[i]) && !strchr("-_.@+", id[i]))
      return "an id has only letters, digits and -_.@+, unlike";
  return NULL;
}

// --- CSV -------------------------------------------------------------------

struct csv {
  const char *at, *end;
  size_t line;
  const char *line_start;
};

// Reads one field. *ret_last is set at the end of a line or of the file.
static int csv_field(struct table *t, struct csv *c, struct cell *ret,
                     bool *ret_last)
{
  struct buf text = BUF_INIT;
  int rc = 0;
  ret->line = c->line;
  ret->column = (size_t)(c->at - c->line_start) + 1;
  if (c->at < c->end && *c->at == '"') {
    for (c->at++;; c->at++) {
      if (c->at == c->end) {
        complain(t, ret->line, ret->column, "this quote has no end", "");
        rc = LG_EINPUT;
        goto out;
      }
      if (*c->at == '"' && !(c->at + 1 < c->end && c->at[1] == '"'))
        break;
      if (*c->at == '"')
        c->at++;
      if (*c->at == '\n') {
        c->line++;
        c->line_start = c->at + 1;
      }
      buf_addc(&text, *c->at);
    }
    c->at++;
  } else {
    for (; c->at < c->end && !strchr(",\r\n", *c->at); c->at++)
      buf_addc(&text, *c->at);
  }
  if (c->at < c->end && *c->at == '\r' &&
      (c->at + 1 == c->end || c->at[1] == '\n'))
    c->at++;
  *ret_last = c->at >= c->end || *c->at == '\n';
  if (!*ret_last && *c->at != ',') {
    complain(t, c->line, (size_t)(c->at - c->line_start) + 1,
             "a comma or the end of the line is needed here", "");
    rc = LG_EINPUT;
    goto out;
  }
  if (c->at < c->end) {
    if (*c->at == '\n') {
      c->line++;
      c->line_start = c->at + 1;
    }
    c->at++;
  }
  ret->text = arena_strndup(t->arena, buf_str(&text), text.len);
out:
  buf_release(&text);
  return rc;
}

// Reads one line of fields, at most MAX_COLUMNS.
static int csv_row(struct table *t, struct csv *c, struct cell *cells,
                   size_t *ret_count)
{
  size_t n = 0;
  bool last = false;
  while (!last) {
    if (n == MAX_COLUMNS) {
      complain(t, c->line, 0, "a line has more than 64 columns", "");
      return LG_EINPUT;
    }
    int rc = csv_field(t, c, &cells[n], &last);
    if (rc)
      return rc;
    n++;
  }
  *ret_count = n;
  return 0;
}

static int add_row(struct table *t, const struct cell *cells, size_t line)
{
  if (t->rows == MAX_STUDENTS) {
    complain(t, line, 0, "more than 100000 students", "");
    return LG_EINPUT;
  }
  if (t->rows == t->room) {
    t->room = t->room ? 2 * t->room : 64;
    t->cells = xreallocarray(t->cells, t->room * t->columns, sizeof(*t->cells));
  }
  memcpy(&t->cells[t->rows++ * t->columns], cells,
         t->columns * sizeof(*t->cells));
  return 0;
}

static int read_csv(struct table *t, const char *bytes, size_t len)
{
  struct cell cells[MAX_COLUMNS];
  size_t count = 0;
  if (len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
    bytes += 3;
    len -= 3;
  }
  struct csv c = {bytes, bytes + len, 1, bytes};
  if (len == 0) {
    complain(t, 1, 1,
             "the roster is empty; its first line names the columns: "
             "id,name,email,section",
             "");
    return LG_EINPUT;
  }
  int rc = csv_row(t, &c, cells, &count);
  if (rc)
    return rc;
  t->columns = count;
  for (size_t i = 0; i < count; i++)
    t->names[i] = cells[i].text;
  while (c.at < c.end) {
    size_t line = c.line;
    rc = csv_row(t, &c, cells, &count);
    if (rc)
      return rc;
    if (count == 1 && !cells[0].text[0])
      continue;  // an empty line
    if (count != t->columns) {
      struct buf text = BUF_INIT;
      buf_addf(&text, "this line has %zu fields, the first has %zu", count,
               t->columns);
      complain(t, line, 1, buf_str(&text), "");
      buf_release(&text);
      continue;
    }
    rc = add_row(t, cells, line);
    if (rc)
      return rc;
  }
  return 0;
}

// --- YAML ------------------------------------------------------------------

static int column_of(struct table *t, const struct node *key)
{
  for (size_t i = 0; i < t->columns; i++)
    if (strcmp(t->names[i], key->text) == 0)
      return (int)i;
  if (t->columns == MAX_COLUMNS) {
    complain(t, key->line, key->column, "more than 64 keys", "");
    return LG_EINPUT;
  }
  t->names[t->columns] = key->text;
  return (int)t->columns++;
}

static int read_yaml_row(struct table *t, const struct node *n)
{
  struct cell cells[MAX_COLUMNS] = {0};
  if (n->kind != NODE_MAP) {
    complain(t, n->line, n->column, "a student is a map with 'id'", "");
    return 0;
  }
  for (size_t i = 0; i < n->count; i++) {
    const struct node *value = n->items[2 * i + 1];
    int column = column_of(t, n->items[2 * i]);
    if (column < 0)
      return column;
    if (value->kind != NODE_SCALAR)
      complain(t, value->line, value->column, "text is needed here", "");
    else
      cells[column] = (struct cell){value->text, value->line, value->column};
  }
  if (!cells[COL_ID].text)
    cells[COL_ID] = (struct cell){"", n->line, n->column};
  return add_row(t, cells, n->line);
}

static int read_yaml(struct table *t, const char *bytes, size_t len)
{
  const struct node *root;
  int rc = yaml_parse(t->path, bytes, len, t->arena, &root, t->err);
  if (rc)
    return rc;
  if (root->kind != NODE_LIST) {
    complain(t, root->line, root->column, "a roster is a list of students", "");
    return LG_EINPUT;
  }
  // The table's width is settled first, since rows may have different keys.
  for (t->columns = 0; t->columns < KNOWN_COLUMNS; t->columns++)
    t->names[t->columns] = known_columns[t->columns];
  for (size_t i = 0; i < root->count; i++) {
    const struct node *row = root->items[i];
    for (size_t k = 0; row->kind == NODE_MAP && k < row->count; k++)
      if (column_of(t, row->items[2 * k]) < 0)
        return LG_EINPUT;
  }
  for (size_t i = 0; i < root->count; i++) {
    rc = read_yaml_row(t, root->items[i]);
    if (rc)
      return rc;
  }
  return 0;
}

// --- what both have in common ----------------------------------------------

// Finds the known columns and names the others.
static int sort_columns(struct table *t, struct roster *r,
                        int place[KNOWN_COLUMNS])
{
  for (int k = 0; k < KNOWN_COLUMNS; k++)
    place[k] = -1;
  r->columns = arena_alloc(t->arena, t->columns * sizeof(*r->columns));
  for (size_t i = 0; i < t->columns; i++) {
    int k = 0;
    if (!is_plain_text(t->names[i]) || !t->names[i][0])
      complain(t, 1, 0, "a column has no name, or one that is no plain text:",
               t->names[i]);
    for (size_t j = 0; j < i; j++)
      if (strcmp(t->names[i], t->names[j]) == 0)
        complain(t, 1, 0, "two columns have the name", t->names[i]);
    while (k < KNOWN_COLUMNS && strcmp(t->names[i], known_columns[k]) != 0)
      k++;
    if (k < KNOWN_COLUMNS)
      place[k] = (int)i;
    else
      r->columns[r->column_count++] = t->names[i];
  }
  if (place[COL_ID] >= 0)
    return t->rc;
  const char *near = nearest_name("id", t->names, t->columns);
  complain(t, 1, 1,
           near ? "no column is called 'id'; is it meant by"
                : "no column is called 'id'",
           near ? near : "");
  return t->rc;
}

static const char *checked_text(struct table *t, const struct cell *cell)
{
  if (!cell->text)
    return "";
  if (!is_plain_text(cell->text))
    complain(t, cell->line, cell->column,
             "this is no UTF-8 text, or has control characters:", cell->text);
  return cell->text;
}

static void fill_student(struct table *t, const struct cell *row,
                         const int place[KNOWN_COLUMNS], struct student *s)
{
  const struct cell none = {0};
  const struct cell *id = &row[place[COL_ID]];
  const struct cell *known[KNOWN_COLUMNS];
  for (int k = 0; k < KNOWN_COLUMNS; k++)
    known[k] = place[k] < 0 ? &none : &row[place[k]];
  s->id = id->text;
  s->line = id->line;
  const char *problem = id_problem(s->id);
  if (problem)
    complain(t, id->line, id->column, problem, s->id);
  s->name = checked_text(t, known[COL_NAME]);
  s->email = checked_text(t, known[COL_EMAIL]);
  s->section = checked_text(t, known[COL_SECTION]);
  s->more = arena_alloc(t->arena, t->columns * sizeof(*s->more));
  size_t n = 0;
  for (size_t i = 0; i < t->columns; i++) {
    bool is_known = false;
    for (int k = 0; k < KNOWN_COLUMNS; k++)
      is_known = is_known || place[k] == (int)i;
    if (!is_known)
      s->more[n++] = checked_text(t, &row[i]);
  }
}

static int by_folded_id(const void *a, const void *b)
{
  const struct student *x = *(struct student *const *)a;
  const struct student *y = *(struct student *const *)b;
  int order = strcasecmp(x->id, y->id);
  return order ? order : (x->line > y->line) - (x->line < y->line);
}

static void check_unique(struct table *t, struct roster *r)
{
  struct student **sorted = xcalloc(r->count + 1, sizeof(*sorted));
  for (size_t i = 0; i < r->count; i++)
    sorted[i] = &r->students[i];
  if (r->count)
    qsort(sorted, r->count, sizeof(*sorted), by_folded_id);
  for (size_t i = 1; i < r->count; i++) {
    if (strcasecmp(sorted[i - 1]->id, sorted[i]->id) == 0) {
      struct buf text = BUF_INIT;
      buf_addf(&text,
               "line %zu has this id already (upper and lower case count as "
               "the same):",
               sorted[i - 1]->line);
      complain(t, sorted[i]->line, 1, buf_str(&text), sorted[i]->id);
      buf_release(&text);
    }
  }
  free(sorted);
}

int roster_parse(const char *path, const char *bytes, size_t len,
                 struct roster *ret, struct error *err)
{
  struct roster r = {0};
  struct table t = {.path = path, .arena = &r.arena, .err = err};
  int place[KNOWN_COLUMNS];
  const char *dot = strrchr(path, '.');
  int rc;
  if (memchr(bytes, '\0', len)) {
    rc = error_set(err, LG_EINPUT, "%s: the file holds NUL bytes", path);
    goto out;
  }
  crypto_generichash(r.hash, sizeof(r.hash), (const unsigned char *)bytes, len,
                     NULL, 0);
  r.path = arena_strndup(&r.arena, path, strlen(path));
  if (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0))
    rc = read_yaml(&t, bytes, len);
  else
    rc = read_csv(&t, bytes, len);
  rc = rc ? rc : sort_columns(&t, &r, place);
  if (rc)
    goto out;
  r.students = arena_alloc(&r.arena, t.rows * sizeof(*r.students));
  r.count = t.rows;
  for (size_t i = 0; i < t.rows; i++)
    fill_student(&t, &t.cells[i * t.columns], place, &r.students[i]);
  check_unique(&t, &r);
  if (r.count == 0 && t.rc == 0)
    complain(&t, 1, 0, "the roster has no student", "");
  rc = t.rc;
out:
  free(t.cells);
  if (rc)
    roster_release(&r);
  else
    *ret = r;
  return rc;
}

int roster_read(const char *path, struct roster *ret, struct error *err)
{
  struct buf bytes = BUF_INIT;
  int rc = file_read(path, FILE_MAX_BYTES, &bytes, err);
  if (rc == 0)
    rc = roster_parse(path, buf_str(&bytes), bytes.len, ret, err);
  buf_release(&bytes);
  return rc;
}

void roster_release(struct roster *r)
{
  arena_release(&r->arena);
  *r = (struct roster){0};
}

const struct student *roster_find(const struct roster *r, const char *id)
{
  for (size_t i = 0; i < r->count; i++)
    if (strcmp(r->students[i].id, id) == 0)
      return &r->students[i];
  return NULL;
}
