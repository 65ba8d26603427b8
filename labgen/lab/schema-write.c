// Writes structs back by the tables that they were read by. As JSON, which is
// YAML too: what is written here is read by schema_read_file() again.
//
// It writes values, not the text that they came from: comments are gone, and
// names of files are as they were resolved.

#include "labgen/lab/schema-write.h"

#include <jansson.h>
#include <stdlib.h>

static json_t *write_texts(const struct texts *texts)
{
  json_t *all = json_array();

  for (size_t i = 0; i < texts->count; i++)
    json_array_append_new(all, json_string(texts->items[i]));
  return all;
}

static json_t *write_named_texts(const struct list *list)
{
  json_t *all = json_object();

  for (size_t i = 0; i < list->count; i++) {
    const struct named_texts *one = LIST_AT(*list, struct named_texts, i);
    json_object_set_new(all, one->name, write_texts(&one->values));
  }
  return all;
}

static json_t *write_struct(const struct schema *s, const void *value);

static json_t *write_structs(const struct schema *s, const struct list *list)
{
  json_t *all = json_array();

  for (size_t i = 0; i < list->count; i++)
    json_array_append_new(
        all, write_struct(s, (const char *)list->items + i * s->size));
  return all;
}

static json_t *write_time(const struct when *when)
{
  char text[40];

  if (!when->set)
    return NULL;
  when_format(when, text, sizeof text);
  return json_string(text);
}

// A value as JSON; NULL for one that is not there.
static json_t *write_value(const struct field *f, const void *value)
{
  const struct texts *texts = value;
  const struct list *list = value;
  const struct place *place = value;

  switch (f->kind) {
  case FIELD_TEXT:
  case FIELD_ID:
  case FIELD_FILE:
  case FIELD_FOLDER:
  case FIELD_TREE_PATH:
    return *(const char *const *)value
               ? json_string(*(const char *const *)value)
               : NULL;
  case FIELD_INT:
    return json_integer(*(const long *)value);
  case FIELD_BOOL:
    return json_boolean(*(const bool *)value);
  case FIELD_CHOICE:
    return json_string(f->choices[*(const int *)value]);
  case FIELD_TIME:
    return write_time(value);
  case FIELD_TEXTS:
  case FIELD_INTS:
  case FIELD_FOLDERS:
    return texts->count > 0 ? write_texts(texts) : NULL;
  case FIELD_NAMED_TEXTS:
    return list->count > 0 ? write_named_texts(list) : NULL;
  case FIELD_STRUCT:
    return place->path ? write_struct(f->sub, value) : NULL;
  case FIELD_STRUCTS:
    return list->count > 0 ? write_structs(f->sub, list) : NULL;
  case FIELD_NODE:
    break;
  }
  return NULL;
}

static json_t *write_struct(const struct schema *s, const void *value)
{
  json_t *all = json_object();

  for (const struct field *f = s->fields; f->key; f++) {
    json_t *one = write_value(f, (const char *)value + f->offset);
    if (one)
      json_object_set_new(all, f->key, one);
  }
  return all;
}

void schema_write(const struct schema *s, const void *value, struct buf *b)
{
  json_t *all = write_struct(s, value);
  char *text = json_dumps(all, JSON_INDENT(1));

  buf_adds(b, text ? text : "{}");
  buf_addc(b, '\n');
  free(text);
  json_decref(all);
}
