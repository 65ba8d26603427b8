// YAML through libyaml's events. Scalars stay text: what a value means is the
// schema's business. Anchors, aliases, tags and several documents are refused;
// no lab file needs them.
#include "labgen/lab/yaml.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/base/file.h"

#define FILE_MAX_BYTES (4u << 20)
#define MAX_DEPTH 32
#define MAX_NODES 200000
#define MAX_WRONG 50

struct loader {
  const char *path;
  yaml_parser_t parser;
  struct arena *arena;
  struct error *err;
  size_t nodes, wrong;  // wrong: mistakes after which it went on
};

const struct node *node_get(const struct node *map, const char *key)
{
  for (size_t i = 0; map->kind == NODE_MAP && i < map->count; i++)
    if (strcmp(map->items[2 * i]->text, key) == 0)
      return map->items[2 * i + 1];
  return NULL;
}

static int bad(struct loader *l, const yaml_mark_t *mark, const char *what)
{
  return error_at(l->err, LG_EINPUT, l->path, mark->line + 1, mark->column + 1,
                  "%s", what);
}

// Says what is wrong at a place after which the document can be read on. Fails
// when there were too many of them.
static int wrong(struct loader *l, size_t line, size_t column, const char *what)
{
  error_at(l->err, LG_EINPUT, l->path, line, column, "%s", what);
  if (++l->wrong < MAX_WRONG)
    return 0;
  return error_at(l->err, LG_EINPUT, l->path, line, column,
                  "so many mistakes; the rest of the file was not read");
}

static int next_event(struct loader *l, yaml_event_t *event)
{
  if (yaml_parser_parse(&l->parser, event))
    return 0;
  const yaml_parser_t *p = &l->parser;
  if (p->error == YAML_READER_ERROR)
    return error_set(l->err, LG_EINPUT, "%s: byte %zu: %s", l->path,
                     p->problem_offset, p->problem);
  return bad(l, &p->problem_mark, p->problem ? p->problem : "broken YAML");
}

static int load_node(struct loader *l, yaml_event_t *event, int depth,
                     struct node **ret);

static int load_scalar(struct loader *l, const yaml_event_t *event,
                       struct node *n)
{
  const char *value = (const char *)event->data.scalar.value;
  size_t len = event->data.scalar.length;
  if (memchr(value, '\0', len)) {
    n->kind = NODE_WRONG;
    return wrong(l, n->line, n->column, "text must not hold a NUL character");
  }
  n->kind = NODE_SCALAR;
  n->text = arena_strndup(l->arena, value, len);
  n->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  return 0;
}

// Takes the last pair out of a map again when its key is not good.
static int check_pair(struct loader *l, struct node *const *items,
                      size_t *count)
{
  const struct node *key = items[*count - 2];
  char *what = NULL;
  if (key->kind != NODE_SCALAR && key->kind != NODE_WRONG)
    what = xstrdup("a key must be text");
  for (size_t i = 0; key->kind == NODE_SCALAR && i < *count - 2 && !what;
       i += 2)
    if (strcmp(items[i]->text, key->text) == 0)
      what = xasprintf("key '%s' is there twice (first on line %zu)", key->text,
                       items[i]->line);
  int rc = what ? wrong(l, key->line, key->column, what) : 0;
  if (what || key->kind != NODE_SCALAR)
    *count -= 2;
  free(what);
  return rc;
}

// Loads what is between the start and the end of a list or a map.
static int load_items(struct loader *l, bool map, int depth, struct node *n)
{
  struct node **items = NULL;
  size_t count = 0, room = 0;
  int rc;
  for (;;) {
    yaml_event_t event;
    rc = next_event(l, &event);
    if (rc)
      break;
    if (event.type == YAML_SEQUENCE_END_EVENT ||
        event.type == YAML_MAPPING_END_EVENT) {
      yaml_event_delete(&event);
      break;
    }
    GROW(items, count, room);
    rc = load_node(l, &event, depth + 1, &items[count]);
    if (rc)
      break;
    count++;
    if (map && count % 2 == 0)
      rc = check_pair(l, items, &count);
    if (rc)
      break;
  }
  if (rc == 0) {
    n->kind = map ? NODE_MAP : NODE_LIST;
    n->count = map ? count / 2 : count;
    n->items = arena_alloc(l->arena, count * sizeof(*items));
    if (count)
      memcpy(n->items, items, count * sizeof(*items));
  }
  free(items);
  return rc;
}

// Turns an event, which it deletes, and those that belong to it into a node.
static int load_node(struct loader *l, yaml_event_t *event, int depth,
                     struct node **ret)
{
  struct node *n = arena_alloc(l->arena, sizeof(*n));
  n->line = event->start_mark.line + 1;
  n->column = event->start_mark.column + 1;
  bool anchored =
      (event->type == YAML_SCALAR_EVENT && event->data.scalar.anchor) ||
      (event->type == YAML_SEQUENCE_START_EVENT &&
       event->data.sequence_start.anchor) ||
      (event->type == YAML_MAPPING_START_EVENT &&
       event->data.mapping_start.anchor);
  int rc = 0;
  if (event->type == YAML_ALIAS_EVENT || anchored)
    rc = wrong(l, n->line, n->column,
               "anchors and aliases are not supported: write the value out");
  if (rc == 0 && (depth > MAX_DEPTH || ++l->nodes > MAX_NODES))
    rc = bad(l, &event->start_mark, "too deep or too large");
  else if (rc == 0 && event->type == YAML_ALIAS_EVENT)
    n->kind = NODE_WRONG;
  else if (rc == 0 && event->type == YAML_SCALAR_EVENT)
    rc = load_scalar(l, event, n);
  else if (rc == 0)
    rc = load_items(l, event->type == YAML_MAPPING_START_EVENT, depth, n);
  yaml_event_delete(event);
  if (rc == 0)
    *ret = n;
  return rc;
}

static int load_document(struct loader *l, const struct node **ret)
{
  struct node *root = NULL;
  for (;;) {
    yaml_event_t event;
    int rc = next_event(l, &event);
    if (rc)
      return rc;
    yaml_event_type_t type = event.type;
    if (type == YAML_STREAM_START_EVENT || type == YAML_DOCUMENT_END_EVENT) {
      yaml_event_delete(&event);
    } else if (type == YAML_STREAM_END_EVENT) {
      yaml_event_delete(&event);
      break;
    } else if (type == YAML_DOCUMENT_START_EVENT) {
      rc = root ? bad(l, &event.start_mark, "more than one document") : 0;
      yaml_event_delete(&event);
    } else {
      rc = load_node(l, &event, 0, &root);
    }
    if (rc)
      return rc;
  }
  if (!root)
    return error_at(l->err, LG_EINPUT, l->path, 1, 1, "the file is empty");
  *ret = root;
  return l->wrong ? LG_EINPUT : 0;
}

int yaml_parse(const char *path, const char *bytes, size_t len,
               struct arena *arena, const struct node **ret, struct error *err)
{
  struct loader l = {.path = path, .arena = arena, .err = err};
  if (!yaml_parser_initialize(&l.parser))
    return error_set(err, LG_EHARNESS, "libyaml does not start");
  yaml_parser_set_input_string(&l.parser, (const unsigned char *)bytes, len);
  yaml_parser_set_encoding(&l.parser, YAML_UTF8_ENCODING);
  int rc = load_document(&l, ret);
  yaml_parser_delete(&l.parser);
  return rc;
}

int yaml_read(const char *path, struct arena *arena, const struct node **ret,
              struct error *err)
{
  struct buf bytes = BUF_INIT;
  int rc = file_read(path, FILE_MAX_BYTES, &bytes, err);
  if (rc == 0)
    rc = yaml_parse(path, buf_str(&bytes), bytes.len, arena, ret, err);
  buf_release(&bytes);
  return rc;
}
