// `labgen show`: looks things up and prints them, for people or as JSON. It
// changes nothing.
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/clinic.h"
#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/base/file.h"
#include "labgen/cmd.h"
#include "labgen/repo/course.h"
#include "labgen/repo/keys.h"

extern const struct command cmd_show;

struct arguments {
  const char *lab_file, *out, *student;
  bool json;
};

// Prints text that may come from a file of anybody's, and a line end.
static void print_line(const char *text)
{
  struct buf b = BUF_INIT;
  buf_add_terminal(&b, text, strlen(text));
  puts(buf_str(&b));
  buf_release(&b);
}

static void print_json(json_t *taken)
{
  struct buf b = BUF_INIT;
  json_format(taken, &b);
  fputs(buf_str(&b), stdout);
  buf_release(&b);
  json_decref(taken);
}

// --- bugs ------------------------------------------------------------------

static json_t *texts_json(const struct texts *t)
{
  json_t *list = json_array();
  for (size_t i = 0; i < t->count; i++)
    json_array_append_new(list, json_string(t->items[i]));
  return list;
}

static int show_bugs(const struct course *c, const struct arguments *a,
                     struct error *err)
{
  json_t *all = json_array();
  (void)err;
  for (size_t i = 0; i < c->catalogue.bug_count; i++) {
    const struct bug *b = &c->catalogue.bugs[i];
    json_t *row = json_object();
    json_object_set_new(row, "id", json_string(b->id));
    json_object_set_new(row, "class", json_string(b->class_id));
    json_object_set_new(row, "difficulty", json_integer(b->difficulty));
    json_object_set_new(row, "title", json_string(b->title));
    json_object_set_new(row, "clinic", json_boolean(b->in_clinic));
    json_object_set_new(row, "symptom", json_string(b->symptom));
    json_object_set_new(row, "checks", texts_json(&b->checks));
    json_object_set_new(row, "explanation", json_string(b->explanation));
    json_array_append_new(all, row);
    if (a->json)
      continue;
    char *line = xasprintf("%-34s %-16s %ld  %s", b->id, b->class_id,
                           b->difficulty, b->title);
    print_line(line);
    free(line);
  }
  if (a->json)
    print_json(all);
  else
    json_decref(all);
  return 0;
}

// --- checks ----------------------------------------------------------------

static json_t *node_json(const struct node *n)
{
  if (n->kind == NODE_SCALAR) {
    char *end;
    double number = strtod(n->text, &end);
    if (n->plain && *n->text && !*end)
      return strpbrk(n->text, ".eE") ? json_real(number)
                                     : json_integer((json_int_t)number);
    if (n->plain && strcmp(n->text, "true") == 0)
      return json_true();
    if (n->plain && strcmp(n->text, "false") == 0)
      return json_false();
    return json_string(n->text);
  }
  json_t *all = n->kind == NODE_MAP ? json_object() : json_array();
  for (size_t i = 0; i < n->count; i++) {
    if (n->kind == NODE_MAP)
      json_object_set_new(all, n->items[2 * i]->text,
                          node_json(n->items[2 * i + 1]));
    else
      json_array_append_new(all, node_json(n->items[i]));
  }
  return all;
}

static const char *text_of(const struct node *map, const char *key)
{
  const struct node *value = node_get(map, key);
  return value && value->kind == NODE_SCALAR ? value->text : "";
}

// The clinic's lines, which are no part of the rubric's file.
static json_t *show_clinic(const struct course *c, struct arena *arena,
                           bool print)
{
  struct rubric rubric = {0};
  json_t *all = json_array();
  clinic_add_checks(&c->lab, &rubric, arena);
  for (size_t i = 0; i < rubric.checks.count; i++) {
    const struct check *k = LIST_AT(rubric.checks, struct check, i);
    char *line =
        xasprintf("%-28s %-14s %5ld  %s", k->id, "clinic", k->marks, k->title);
    if (print)
      print_line(line);
    json_array_append_new(
        all, json_pack("{s:s, s:s, s:I}", "id", k->id, "title", k->title,
                       "marks", (json_int_t)k->marks));
    free(line);
  }
  return all;
}

static int show_checks(const struct course *c, const struct arguments *a,
                       struct error *err)
{
  struct arena arena = {0};
  const struct node *root;
  if (!c->lab.rubric)
    return error_set(err, LG_EINPUT, "%s: the lab names no rubric",
                     c->lab.at.path);
  int rc = yaml_read(c->lab.rubric, &arena, &root, err);
  if (rc == 0 && a->json) {
    json_t *all = node_json(root);
    json_object_set_new(all, "clinic", show_clinic(c, &arena, false));
    print_json(all);
  } else if (rc == 0) {
    const struct node *checks = node_get(root, "checks");
    checks = checks ? checks : root;
    for (size_t i = 0; checks->kind == NODE_LIST && i < checks->count; i++) {
      const struct node *n = checks->items[i];
      char *line =
          xasprintf("%-28s %-14s %5s  %s", text_of(n, "id"), text_of(n, "kind"),
                    text_of(n, "marks"), text_of(n, "title"));
      print_line(line);
      free(line);
    }
    json_decref(show_clinic(c, &arena, true));
  }
  arena_release(&arena);
  return rc;
}

// --- schema ----------------------------------------------------------------

static const struct {
  const char *title;
  const struct schema *schema;
} schemas[] = {
    {"The lab file", &lab_schema},
    {"commit.yaml of a commit's folder", &commit_schema},
    {"A bug of the catalogue", &bug_schema},
    {"The rendering of the clinic's kernels", &rendering_schema},
};

static json_t *schema_json(const struct schema *s)
{
  json_t *all = json_object();
  for (const struct field *f = s->fields; f->key; f++) {
    json_t *row = json_object();
    json_object_set_new(row, "kind", json_string(field_kind_words(f->kind)));
    json_object_set_new(row, "doc", json_string(f->doc));
    json_object_set_new(row, "required", json_boolean(f->required));
    if (f->fallback)
      json_object_set_new(row, "default", json_string(f->fallback));
    if (f->sub)
      json_object_set_new(row, "keys", schema_json(f->sub));
    json_object_set_new(all, f->key, row);
  }
  return all;
}

static int show_schema(const struct course *c, const struct arguments *a,
                       struct error *err)
{
  json_t *all = json_object();
  (void)c;
  (void)err;
  for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]); i++) {
    struct buf text = BUF_INIT;
    json_object_set_new(all, schemas[i].schema->name,
                        schema_json(schemas[i].schema));
    schema_document(schemas[i].schema, 2, &text);
    if (!a->json)
      printf("%s%s. %s\n\n%s", i ? "\n" : "", schemas[i].title,
             schemas[i].schema->doc, buf_str(&text));
    buf_release(&text);
  }
  if (a->json)
    print_json(all);
  else
    json_decref(all);
  return 0;
}

// --- keys and students -----------------------------------------------------

static int find_key(const struct course *c, const struct arguments *a,
                    json_t **ret, struct error *err)
{
  int rc = command_check_student(&c->roster, a->student, err);
  if (rc)
    return rc;
  *ret = key_read(a->out, a->student);
  if (!*ret)
    return error_set(err, LG_ENOTFOUND,
                     "%s/keys/%s.json is not there; 'labgen build -c %s -o %s' "
                     "makes it",
                     a->out, a->student, c->lab.at.path, a->out);
  return 0;
}

static const char *member(const json_t *object, const char *name)
{
  const char *text = json_string_value(json_object_get(object, name));
  return text ? text : "-";
}

static void print_branch(const json_t *b)
{
  struct buf line = BUF_INIT;
  const json_t *lines = json_object_get(b, "lines");
  buf_addf(&line, "%s: %s (%s), %s, in %s, line", member(b, "branch"),
           member(b, "bug"), member(b, "class"), member(b, "file"),
           member(b, "function"));
  for (size_t i = 0; i < json_array_size(lines); i++)
    buf_addf(&line, "%s %lld", i ? "," : "",
             (long long)json_integer_value(
                 json_object_get(json_array_get(lines, i), "first")));
  print_line(buf_str(&line));
  buf_release(&line);
  printf("  ");
  print_line(member(b, "title"));
}

static int show_key(const struct course *c, const struct arguments *a,
                    struct error *err)
{
  json_t *key = NULL;
  int rc = find_key(c, a, &key, err);
  if (rc)
    return rc;
  if (a->json) {
    print_json(key);
    return 0;
  }
  const json_t *clinic = json_object_get(key, "clinic");
  for (size_t i = 0; i < json_array_size(clinic); i++)
    print_branch(json_array_get(clinic, i));
  json_decref(key);
  return 0;
}

// What of a student's is in the output folder.
static json_t *folders_json(const struct arguments *a)
{
  static const char *const names[] = {"students", "clinic"};
  json_t *folders = json_object();
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    char *path = xasprintf("%s/%s/%s", a->out, names[i], a->student);
    if (file_exists(path))
      json_object_set_new(folders, names[i], json_string(path));
    free(path);
  }
  return folders;
}

static int show_student(const struct course *c, const struct arguments *a,
                        struct error *err)
{
  json_t *key = NULL, *all = json_object();
  int rc = find_key(c, a, &key, err);
  if (rc) {
    json_decref(all);
    return rc;
  }
  const struct student *s = roster_find(&c->roster, a->student);
  json_object_set_new(all, "id", json_string(s->id));
  json_object_set_new(all, "name", json_string(s->name));
  json_object_set_new(all, "email", json_string(s->email));
  json_object_set_new(all, "section", json_string(s->section));
  for (size_t i = 0; i < c->roster.column_count; i++)
    json_object_set_new(all, c->roster.columns[i], json_string(s->more[i]));
  json_object_set(all, "lab", json_object_get(key, "lab"));
  json_object_set_new(all, "folders", folders_json(a));
  json_decref(key);
  if (a->json) {
    print_json(all);
    return 0;
  }
  const char *name;
  json_t *value;
  json_object_foreach(all, name, value)
  {
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    char *line = xasprintf("%s: %s", name,
                           json_is_string(value) ? json_string_value(value)
                           : text                ? text
                                                 : "");
    print_line(line);
    free(line);
    free(text);
  }
  json_decref(all);
  return 0;
}

// --- the command -----------------------------------------------------------

static const struct topic {
  const char *name;
  bool takes_student;
  int (*show)(const struct course *c, const struct arguments *a,
              struct error *err);
} topics[] = {
    {"bugs", false, show_bugs},      {"checks", false, show_checks},
    {"schema", false, show_schema},  {"key", true, show_key},
    {"student", true, show_student},
};

static int parse(int argc, char **argv, struct arguments *a)
{
  static const struct option options[] = {{"json", no_argument, NULL, 'J'},
                                          {0}};
  int option;
  opterr = 0;
  optind = 1;
  while ((option = getopt_long(argc, argv, ":c:o:", options, NULL)) != -1) {
    if (option == 'c')
      a->lab_file = optarg;
    else if (option == 'o')
      a->out = optarg;
    else if (option == 'J')
      a->json = true;
    else
      return command_misused(
          &cmd_show, option == ':' ? "%s needs a value" : "unknown option %s",
          argv[optind - 1]);
  }
  return 0;
}

static int run_topic(const struct topic *topic, const struct arguments *a)
{
  struct course course = {0};
  struct error err = {0};
  char *lab_file = NULL;
  int rc = 0;
  // What a lab file may hold is not told by a lab file.
  if (topic->show != show_schema) {
    lab_file = command_lab_file(a->lab_file);
    rc = course_load(lab_file, false, &course, &err);
  }
  rc = rc ? rc : topic->show(&course, a, &err);
  course_release(&course);
  free(lab_file);
  return rc ? command_failed(&err) : 0;
}

static int show(int argc, char **argv)
{
  struct arguments a = {.out = "out"};
  const char *names[sizeof(topics) / sizeof(topics[0])];
  size_t count = sizeof(topics) / sizeof(topics[0]), i = 0;
  int status = parse(argc, argv, &a);
  if (status)
    return status;
  if (optind == argc)
    return command_misused(&cmd_show,
                           "say what: bugs, checks, schema, "
                           "key STUDENT or student STUDENT");
  for (size_t k = 0; k < count; k++)
    names[k] = topics[k].name;
  while (i < count && strcmp(topics[i].name, argv[optind]) != 0)
    i++;
  if (i == count) {
    const char *near = nearest_name(argv[optind], names, count);
    return command_misused(&cmd_show, "there is nothing called '%s'%s%s%s",
                           argv[optind], near ? " (did you mean '" : "",
                           near ? near : "", near ? "'?)" : "");
  }
  if (argc - optind - 1 != topics[i].takes_student)
    return command_misused(&cmd_show,
                           topics[i].takes_student
                               ? "'%s' takes one student's id"
                               : "'%s' takes nothing more",
                           topics[i].name);
  a.student = topics[i].takes_student ? argv[optind + 1] : NULL;
  return run_topic(&topics[i], &a);
}

const struct command cmd_show = {
    .name = "show",
    .summary = "Print bugs, checks, the lab file's schema, keys, students.",
    .usage = "[-c LABFILE] [-o OUT] [--json] TOPIC",
    .help =
        "  bugs             the catalogue\n"
        "  checks           the rubric\n"
        "  schema           every key that a lab file may have\n"
        "  key STUDENT      what is wrong with a student's clinic kernels\n"
        "  student STUDENT  what the roster says, and what was built\n"
        "\n"
        "  -c LABFILE       the lab file (config.yaml)\n"
        "  -o OUT           where labgen build wrote (out)\n"
        "  --json           as JSON\n",
    .run = show,
};
