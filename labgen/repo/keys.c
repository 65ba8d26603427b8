// Keys and manifest. A key lists every start that its student was ever given,
// so that a correction does not orphan work that began before it.
#include "labgen/repo/keys.h"

#include <dirent.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

#define KEY_MAX_BYTES (4u << 20)

void json_format(const json_t *json, struct buf *ret)
{
  char *text = json_dumps(json, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
  if (!text)
    abort();  // only for want of memory
  buf_adds(ret, text);
  buf_addc(ret, '\n');
  free(text);
}

static void set_hex(json_t *object, const char *name,
                    const struct object_id *id)
{
  char hex[OBJECT_HEX_BYTES];
  object_hex(id, hex);
  json_object_set_new(object, name, json_string(hex));
}

static void set_text(json_t *object, const char *name, const char *text)
{
  json_object_set_new(object, name, text ? json_string(text) : json_null());
}

// A kernel made now, or the one that an earlier run made of the same commit.
static void set_kernel(json_t *object, const char *key, const json_t *before)
{
  const json_t *old = json_object_get(before, "kernel");
  const char *commit = json_string_value(json_object_get(object, "commit"));
  const char *old_commit = json_string_value(json_object_get(before, "commit"));
  if (*key)
    set_text(object, "kernel", key);
  else if (old && old_commit && strcmp(commit, old_commit) == 0)
    set_text(object, "kernel", json_string_value(old));
}

static json_t *starts_of(const struct student_work *w, const json_t *before)
{
  json_t *starts = json_array();
  const json_t *old = json_object_get(json_object_get(before, "lab"), "starts");
  for (size_t i = 0; i < json_array_size(old); i++) {
    const char *hex = json_string_value(json_array_get(old, i));
    bool again = false;
    for (size_t k = 0; k < w->start_count; k++) {
      char now[OBJECT_HEX_BYTES];
      object_hex(&w->starts[k], now);
      again = again || (hex && strcmp(hex, now) == 0);
    }
    if (hex && !again)
      json_array_append_new(starts, json_string(hex));
  }
  for (size_t k = 0; k < w->start_count; k++) {
    char now[OBJECT_HEX_BYTES];
    object_hex(&w->starts[k], now);
    json_array_append_new(starts, json_string(now));
  }
  return starts;
}

static json_t *params_of(const struct assignment *a)
{
  json_t *params = json_object();
  for (size_t i = 0; i < a->bug->params.count; i++) {
    const struct named_texts *p =
        LIST_AT(a->bug->params, struct named_texts, i);
    set_text(params, p->name, p->values.items[a->choice[i]]);
  }
  return params;
}

static json_t *branch_of(const struct clinic_branch *b, const char *kernel,
                         const json_t *before)
{
  const struct bug *bug = b->assignment.bug;
  json_t *object = json_object(), *lines = json_array();
  json_t *functions = json_array();
  set_text(object, "branch", b->name);
  set_hex(object, "commit", &b->commit);
  set_text(object, "bug", bug->id);
  set_text(object, "class", bug->class_id);
  set_text(object, "title", bug->title);
  json_object_set_new(object, "params", params_of(&b->assignment));
  set_text(object, "file", b->file);
  set_text(object, "function", b->function);
  for (size_t i = 0; i < b->function_count; i++)
    json_array_append_new(functions, json_string(b->functions[i]));
  json_object_set_new(object, "functions", functions);
  for (size_t i = 0; i < b->line_count; i++) {
    json_t *run = json_object();
    json_object_set_new(run, "first",
                        json_integer((json_int_t)b->lines[i].first));
    json_object_set_new(run, "count",
                        json_integer((json_int_t)b->lines[i].count));
    json_array_append_new(lines, run);
  }
  json_object_set_new(object, "lines", lines);
  set_text(object, "symptom", bug->symptom);
  set_text(object, "explanation", bug->explanation);
  set_kernel(object, kernel, before);
  return object;
}

json_t *key_make(const struct course *c, const struct student_work *w,
                 const struct student_kernels *kernels, const json_t *before)
{
  json_t *key = json_object(), *lab = json_object(), *clinic = json_array();
  set_text(key, "student", w->student->id);
  set_text(key, "lab_id", c->lab.id);
  set_text(lab, "branch", c->lab.start.branch);
  set_hex(lab, "commit", &w->starts[w->start_count - 1]);
  json_object_set_new(lab, "starts", starts_of(w, before));
  set_kernel(lab, kernels->lab, json_object_get(before, "lab"));
  json_object_set_new(key, "lab", lab);
  const json_t *old = json_object_get(before, "clinic");
  for (size_t i = 0; i < w->clinic_count; i++)
    json_array_append_new(clinic, branch_of(&w->clinic[i], kernels->clinic[i],
                                            json_array_get(old, i)));
  json_object_set_new(key, "clinic", clinic);
  return key;
}

json_t *key_read(const char *out, const char *student_id)
{
  char *path = xasprintf("%s/keys/%s.json", out, student_id);
  json_t *key = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
  free(path);
  return key;
}

int write_if_changed(const char *path, const struct buf *bytes,
                     bool *ret_changed, struct error *err)
{
  struct buf old = BUF_INIT;
  bool same = file_read(path, bytes->len + 1, &old, NULL) == 0 &&
              old.len == bytes->len &&
              memcmp(old.data, bytes->data, bytes->len) == 0;
  buf_release(&old);
  *ret_changed = !same;
  if (same)
    return 0;
  char *tmp = xasprintf("%s.new", path);
  int rc = file_write(tmp, bytes->data, bytes->len, 0600, err);
  if (rc == 0 && rename(tmp, path))
    rc = error_errno(err, LG_EIO, "%s", path);
  if (rc)
    file_remove_tree(tmp, NULL);
  free(tmp);
  return rc;
}

// --- the manifest ----------------------------------------------------------

// Appends one member of the outermost object.
static void add_member(struct buf *b, const char *name, json_t *taken)
{
  char *text =
      json_dumps(taken, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_ENCODE_ANY);
  if (!text)
    abort();  // only for want of memory
  buf_addf(b, "%s\"%s\": %s", b->len ? ",\n" : "{\n", name, text);
  free(text);
  json_decref(taken);
}

static int by_text(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

// Every kernel below out/kernels with the hashes that lie beside its products.
static int add_kernels(const char *out, struct buf *b, struct error *err)
{
  char *folder = path_join(out, "kernels");
  DIR *dir = opendir(folder);
  char **names = NULL;
  size_t count = 0, room = 0;
  int rc = 0;
  if (!dir && errno != ENOENT)
    rc = error_errno(err, LG_EIO, "%s", folder);
  for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir)) {
    if (d->d_name[0] == '.')
      continue;
    GROW(names, count, room);
    names[count++] = xstrdup(d->d_name);
  }
  if (dir)
    closedir(dir);
  if (count)
    qsort(names, count, sizeof(*names), by_text);
  buf_adds(b, ",\n\"kernels\": {");
  for (size_t i = 0; i < count; i++) {
    struct buf hash = BUF_INIT;
    char *path = xasprintf("%s/%s/kernel.blake2b", folder, names[i]);
    if (file_read(path, 256, &hash, NULL) == 0)
      buf_truncate(&hash, strcspn(buf_str(&hash), "\n"));
    buf_addf(b, "%s\n  \"%s\": \"%s\"", i ? "," : "", names[i], buf_str(&hash));
    buf_release(&hash);
    free(path);
    free(names[i]);
  }
  buf_adds(b, "\n}");
  free(names);
  free(folder);
  return rc;
}

static void add_student(const char *out, const struct student *s, bool first,
                        struct buf *b)
{
  json_t *key = key_read(out, s->id);
  if (!key)
    return;
  json_t *row = json_object(), *clinic = json_array();
  set_text(row, "id", s->id);
  json_object_set(row, "lab", json_object_get(key, "lab"));
  const json_t *branches = json_object_get(key, "clinic");
  for (size_t i = 0; i < json_array_size(branches); i++) {
    static const char *const members[] = {"branch", "commit", "kernel"};
    json_t *branch = json_object();
    for (size_t m = 0; m < sizeof(members) / sizeof(members[0]); m++) {
      json_t *value = json_object_get(json_array_get(branches, i), members[m]);
      if (value)
        json_object_set(branch, members[m], value);
    }
    json_array_append_new(clinic, branch);
  }
  json_object_set_new(row, "clinic", clinic);
  char *line = json_dumps(row, JSON_COMPACT | JSON_PRESERVE_ORDER);
  if (!line)
    abort();  // only for want of memory
  buf_addf(b, "%s\n%s", first ? "" : ",", line);
  free(line);
  json_decref(row);
  json_decref(key);
}

int manifest_make(const struct course *c, const char *out,
                  const struct repo_plan *instructor, struct buf *ret,
                  struct error *err)
{
  char hash[2 * sizeof(c->roster.hash) + 1];
  json_t *branches = json_object(), *starts = json_array();
  sodium_bin2hex(hash, sizeof(hash), c->roster.hash, sizeof(c->roster.hash));
  add_member(ret, "labgen", json_string(LABGEN_VERSION));
  add_member(ret, "lab", json_string(c->lab.id));
  add_member(ret, "roster_blake2b", json_string(hash));
  for (size_t i = 0; i < instructor->count; i++)
    set_hex(branches, instructor->branches[i].name,
            &instructor->branches[i].commit);
  add_member(ret, "instructor", branches);
  for (size_t i = 1; i <= c->start; i++) {
    char hex[OBJECT_HEX_BYTES];
    object_hex(&c->chain[i].id, hex);
    json_array_append_new(starts, json_string(hex));
  }
  add_member(ret, "starts", starts);
  int rc = add_kernels(out, ret, err);
  buf_adds(ret, ",\n\"students\": [");
  size_t begin = ret->len;
  for (size_t i = 0; i < c->roster.count; i++)
    add_student(out, &c->roster.students[i], ret->len == begin, ret);
  buf_adds(ret, "\n]\n}\n");
  return rc;
}
