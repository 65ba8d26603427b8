// Finds kernels that are the same by the hash that each record has of them. It
// does not say who had it first.
#include "graders/copies.h"

#include <stdlib.h>
#include <string.h>

#include "graders/record.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

struct copy {
  char *hash, *branch;            // owned
  const struct student *student;  // borrowed
};

static void add_record(struct copies *c, const struct student *student,
                       const json_t *record)
{
  size_t i;
  json_t *row;
  long max = record_max(record);
  c->max = max > c->max ? max : c->max;
  c->clinic = c->clinic ||
              json_array_size(json_object_get(record, "clinic_not_judged")) > 0;
  json_array_foreach(json_object_get(record, "clinic"), i, row)
  {
    const char *hash = record_text(row, "hash");
    c->clinic = true;
    if (!*hash)
      continue;
    GROW(c->kernels, c->count, c->room);
    c->kernels[c->count++] = (struct copy){
        xstrdup(hash), xstrdup(record_text(row, "branch")), student};
  }
}

static int by_hash(const void *a, const void *b)
{
  const struct copy *x = a, *y = b;
  int order = strcmp(x->hash, y->hash);
  return order ? order : strcmp(x->student->id, y->student->id);
}

void copies_read(const char *results, const struct roster *roster,
                 struct copies *ret)
{
  struct copies c = {0};
  for (size_t i = 0; i < roster->count; i++) {
    const struct student *student = &roster->students[i];
    char *path = xasprintf("%s/%s/result.json", results, student->id);
    json_t *record = record_read(path);
    add_record(&c, student, record);
    json_decref(record);
    free(path);
  }
  if (c.count)
    qsort(c.kernels, c.count, sizeof(*c.kernels), by_hash);
  *ret = c;
}

json_t *copies_of(const struct copies *c, const struct student *student)
{
  json_t *lines = json_array();
  for (size_t first = 0, end; first < c->count; first = end) {
    for (end = first + 1;
         end < c->count &&
         strcmp(c->kernels[end].hash, c->kernels[first].hash) == 0;)
      end++;
    for (size_t i = first; i < end; i++)
      for (size_t k = first; c->kernels[i].student == student && k < end; k++)
        if (c->kernels[k].student != student)
          json_array_append_new(
              lines,
              json_sprintf("%s: the kernel is, byte for byte, that of "
                           "%s (%s)",
                           c->kernels[i].branch, c->kernels[k].student->id,
                           c->kernels[k].branch));
  }
  return lines;
}

void copies_release(struct copies *c)
{
  for (size_t i = 0; i < c->count; i++) {
    free(c->kernels[i].hash);
    free(c->kernels[i].branch);
  }
  free(c->kernels);
  *c = (struct copies){0};
}
