// Reads the explorer's data of a lab from YAML.
//
// Deliberately strict: an unknown key is an error, since a misspelt one would
// silently weaken what is explored.
#include "graders/explore/lab.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "graders/explore/pages.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

static const struct {
  const char *word;
  bool argument;
} operations[] = {
#define ROW(number, word, argument) {word, argument},
    EX_OPERATIONS(ROW)
#undef ROW
};

enum { FILE_BYTES = 1 << 20 };

// The document that is being read.
struct reader {
  yaml_document_t doc;
  const char *path;
  struct error *err;
};

static int wrong(struct reader *r, const yaml_node_t *n, const char *what,
                 const char *name)
{
  return error_at(r->err, LG_EINPUT, r->path, n->start_mark.line + 1,
                  n->start_mark.column + 1, "%s '%s'", what, name);
}

static const char *text_of(const yaml_node_t *n)
{
  return n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : "";
}

static int read_int(struct reader *r, const yaml_node_t *n, long low, long high,
                    int *ret)
{
  char *end;
  const char *text = text_of(n);
  long v = strtol(text, &end, 0);
  if (!*text || *end || v < low || v > high) {
    return error_at(r->err, LG_EINPUT, r->path, n->start_mark.line + 1,
                    n->start_mark.column + 1,
                    "'%s' is no number from %ld to %ld", text, low, high);
  }
  *ret = (int)v;
  return 0;
}

static int read_text(struct reader *r, const yaml_node_t *n, char **ret)
{
  if (n->type != YAML_SCALAR_NODE)
    return wrong(r, n, "a word must stand", "here");
  free(*ret);
  *ret = xstrdup(text_of(n));
  return 0;
}

// One key that a mapping may have.
struct key {
  const char *name;
  int (*read)(struct reader *r, yaml_node_t *value, void *to);
  size_t offset;  // of what it fills, in the struct that is being read
};

static int read_map(struct reader *r, yaml_node_t *map, const struct key *keys,
                    void *to)
{
  if (map->type != YAML_MAPPING_NODE)
    return wrong(r, map, "keys and values must stand", "here");
  yaml_node_pair_t *end = map->data.mapping.pairs.top;
  for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < end; p++) {
    yaml_node_t *name = yaml_document_get_node(&r->doc, p->key);
    const struct key *k = keys;
    while (k->name && strcmp(k->name, text_of(name)) != 0)
      k++;
    if (!k->name)
      return wrong(r, name, "unknown key", text_of(name));
    int rc = k->read(r, yaml_document_get_node(&r->doc, p->value),
                     (char *)to + k->offset);
    if (rc < 0)
      return rc;
  }
  return 0;
}

// Calls read() for each element of a list, with its index.
static int read_list(struct reader *r, yaml_node_t *list, int most,
                     int (*read)(struct reader *, yaml_node_t *, int, void *),
                     void *to, int *ret_count)
{
  if (list->type != YAML_SEQUENCE_NODE)
    return wrong(r, list, "a list must stand", "here");
  int count = 0;
  yaml_node_item_t *end = list->data.sequence.items.top;
  for (yaml_node_item_t *i = list->data.sequence.items.start; i < end; i++) {
    yaml_node_t *n = yaml_document_get_node(&r->doc, *i);
    if (count == most)
      return wrong(r, n, "the list is too long at", text_of(n));
    int rc = read(r, n, count, to);
    if (rc < 0)
      return rc;
    count++;
  }
  *ret_count = count;
  return 0;
}

bool ex_op_has_number(enum ex_op_kind kind)
{
  return operations[kind].argument;
}

const char *ex_op_word(enum ex_op_kind kind)
{
  return operations[kind].word;
}

int ex_ops_parse(const char *text, struct ex_op *ret, struct error *err)
{
  size_t len = strcspn(text, " ");
  for (int i = 0; i < OP_COUNT; i++) {
    if (strlen(operations[i].word) != len ||
        strncmp(operations[i].word, text, len) != 0)
      continue;
    const char *rest = text + len + strspn(text + len, " ");
    if (!operations[i].argument && !*rest) {
      *ret = (struct ex_op){(enum ex_op_kind)i, 0};
      return 0;
    }
    if (!operations[i].argument)
      return error_set(err, LG_EINPUT, "nothing may follow '%s'",
                       operations[i].word);
    if (*rest && rest[strspn(rest, "0123456789")] == '\0' && strlen(rest) < 5) {
      *ret = (struct ex_op){(enum ex_op_kind)i, atoi(rest)};
      return 0;
    }
    if (!*rest && (i == OP_ALLOC || i == OP_FREE)) {
      *ret = (struct ex_op){(enum ex_op_kind)i, 1};
      return 0;
    }
    return error_set(err, LG_EINPUT, "a number must follow '%s'",
                     operations[i].word);
  }
  return error_set(err, LG_EINPUT, "unknown operation '%s'", text);
}

static int read_op(struct reader *r, yaml_node_t *n, int i, void *to)
{
  struct ex_ops *ops = to;
  struct error why = {0};
  if (ex_ops_parse(text_of(n), &ops->op[i], &why) < 0) {
    int rc = error_at(r->err, LG_EINPUT, r->path, n->start_mark.line + 1,
                      n->start_mark.column + 1, "%s", why.message);
    error_release(&why);
    return rc;
  }
  const struct ex_op *op = &ops->op[i];
  if ((op->kind == OP_GIVE || op->kind == OP_LOCK || op->kind == OP_UNLOCK ||
       op->kind == OP_FREE_BAD) &&
      op->number >= EX_HARTS)
    return wrong(r, n, "the number must be 0 to 2 in", text_of(n));
  return 0;
}

static int read_thread(struct reader *r, yaml_node_t *n, int i, void *to)
{
  struct ex_ops *ops = (struct ex_ops *)to + i;
  return read_list(r, n, EX_OPS, read_op, ops, &ops->count);
}

static int read_threads(struct reader *r, yaml_node_t *n, void *to)
{
  int count;
  return read_list(r, n, EX_HARTS, read_thread, to, &count);
}

static int read_name(struct reader *r, yaml_node_t *n, void *to)
{
  return read_text(r, n, to);
}

static int read_number(struct reader *r, yaml_node_t *n, void *to)
{
  return read_int(r, n, -1, PAGES_MOST, to);
}

static int read_bool(struct reader *r, yaml_node_t *n, void *to)
{
  bool yes = strcmp(text_of(n), "true") == 0;
  if (!yes && strcmp(text_of(n), "false") != 0)
    return wrong(r, n, "true or false must stand here, not", text_of(n));
  *(bool *)to = yes;
  return 0;
}

static const struct key program_keys[] = {
    {"name", read_name, offsetof(struct ex_program, name)},
    {"about", read_name, offsetof(struct ex_program, about)},
    {"pages", read_number, offsetof(struct ex_program, pages)},
    {"measure", read_bool, offsetof(struct ex_program, measure)},
    {"apart", read_bool, offsetof(struct ex_program, apart)},
    {"bound", read_number, offsetof(struct ex_program, bound)},
    {"before", read_threads, offsetof(struct ex_program, before)},
    {"harts", read_threads, offsetof(struct ex_program, thread)},
    {0},
};

static int read_program(struct reader *r, yaml_node_t *n, int i, void *to)
{
  struct ex_lab *lab = to;
  (void)i;
  lab->program =
      xreallocarray(lab->program, lab->programs + 1, sizeof *lab->program);
  struct ex_program *p = &lab->program[lab->programs++];
  *p = (struct ex_program){.bound = 255};
  int rc = read_map(r, n, program_keys, p);
  if (rc < 0)
    return rc;
  if (!p->name || p->pages < 1)
    return wrong(r, n, "a program needs a name and", "pages");
  if (!p->about)
    p->about = xstrdup("");
  if (p->pages > lab->max_pages)
    lab->max_pages = p->pages;
  return 0;
}

static int read_programs(struct reader *r, yaml_node_t *n, void *to)
{
  int count;
  return read_list(r, n, 100, read_program, to, &count);
}

static int read_arg(struct reader *r, yaml_node_t *n, int i, void *to)
{
  int v = 0;
  int rc = read_int(r, n, -1000000, 1000000, &v);
  if (rc == 0)
    ((struct ex_function *)to)->arg[i] = v;
  return rc;
}

static int read_args(struct reader *r, yaml_node_t *n, void *to)
{
  return read_list(r, n, EX_ARGS, read_arg, to,
                   &((struct ex_function *)to)->args);
}

static const struct key function_keys[] = {
    {"name", read_name, offsetof(struct ex_function, name)},
    {"arguments", read_args, 0},
    {0},
};

static int read_function(struct reader *r, yaml_node_t *n, void *to)
{
  return read_map(r, n, function_keys, to);
}

static const struct key interface_keys[] = {
    {"init", read_function, offsetof(struct ex_lab, init)},
    {"alloc", read_function, offsetof(struct ex_lab, alloc)},
    {"free", read_function, offsetof(struct ex_lab, free)},
    {0},
};

static int read_interface(struct reader *r, yaml_node_t *n, void *to)
{
  return read_map(r, n, interface_keys, to);
}

static int read_judged_kind(struct reader *r, yaml_node_t *n, int i, void *to)
{
  struct ex_lab *lab = to;
  (void)i;
  int kind = ex_kind_find(text_of(n));
  if (kind < 0)
    return wrong(r, n, "there is no finding or note", text_of(n));
  lab->judged[kind] = true;
  return 0;
}

static int read_judged(struct reader *r, yaml_node_t *n, void *to)
{
  int count;
  return read_list(r, n, EX_KIND_COUNT, read_judged_kind, to, &count);
}

static int read_hart(struct reader *r, yaml_node_t *n, int i, void *to)
{
  return read_int(r, n, 0, 63, (int *)to + i);
}

static int read_hart_set(struct reader *r, yaml_node_t *n, int i, void *to)
{
  int count = 0;
  int rc =
      read_list(r, n, EX_HARTS, read_hart, ((int(*)[EX_HARTS])to)[i], &count);
  if (rc == 0 && count != EX_HARTS)
    return wrong(r, n, "three numbers must stand", "here");
  return rc;
}

static int read_hart_sets(struct reader *r, yaml_node_t *n, void *to)
{
  struct ex_lab *lab = to;
  return read_list(r, n, EX_HART_SETS, read_hart_set, lab->hart_set,
                   &lab->hart_sets);
}

static const struct key lab_keys[] = {
    {"file", read_name, offsetof(struct ex_lab, file)},
    {"interface", read_interface, 0},
    {"junk_alloc", read_number, offsetof(struct ex_lab, junk_alloc)},
    {"junk_free", read_number, offsetof(struct ex_lab, junk_free)},
    {"lock_name", read_name, offsetof(struct ex_lab, lock_name)},
    {"remote_percent", read_number, offsetof(struct ex_lab, remote_percent)},
    {"harts", read_hart_sets, 0},
    {"judged", read_judged, 0},
    {"programs", read_programs, 0},
    {0},
};

static int check_lab(const char *path, const struct ex_lab *lab,
                     struct error *err)
{
  if (!lab->init.name || !lab->alloc.name || !lab->free.name)
    return error_at(err, LG_EINPUT, path, 0, 0,
                    "interface must name init, alloc and free");
  if (!lab->file)
    return error_at(err, LG_EINPUT, path, 0, 0, "'file' is missing");
  if (lab->programs == 0 || lab->hart_sets == 0)
    return error_at(err, LG_EINPUT, path, 0, 0,
                    "programs and harts must not be empty");
  return 0;
}

int ex_lab_read(const char *path, struct ex_lab *ret, struct error *err)
{
  struct buf text = BUF_INIT;
  struct ex_lab lab = {
      .junk_alloc = -1, .junk_free = -1, .remote_percent = 100};
  struct reader r = {.path = path, .err = err};
  yaml_parser_t parser;

  int rc = file_read(path, FILE_BYTES, &text, err);
  if (rc < 0)
    return rc;
  if (!yaml_parser_initialize(&parser)) {
    buf_release(&text);
    return error_set(err, LG_EHARNESS, "the YAML reader does not start");
  }
  yaml_parser_set_input_string(&parser, (unsigned char *)text.data, text.len);
  if (!yaml_parser_load(&parser, &r.doc)) {
    rc = error_at(err, LG_EINPUT, path, parser.problem_mark.line + 1,
                  parser.problem_mark.column + 1, "%s", parser.problem);
  } else {
    yaml_node_t *root = yaml_document_get_root_node(&r.doc);
    rc = root ? read_map(&r, root, lab_keys, &lab)
              : error_at(err, LG_EINPUT, path, 1, 1, "the file is empty");
    yaml_document_delete(&r.doc);
  }
  yaml_parser_delete(&parser);
  buf_release(&text);
  bool any = false;
  for (int k = 0; k < EX_KIND_COUNT; k++)
    any = any || lab.judged[k];
  for (int k = 0; k < EX_KIND_COUNT && !any; k++)
    lab.judged[k] = ex_kind_is_finding((enum ex_kind)k);
  if (rc == 0)
    rc = check_lab(path, &lab, err);
  if (rc == 0)
    *ret = lab;
  else
    ex_lab_release(&lab);
  return rc;
}

void ex_lab_release(struct ex_lab *lab)
{
  for (size_t i = 0; i < lab->programs; i++) {
    free(lab->program[i].name);
    free(lab->program[i].about);
  }
  free(lab->program);
  free(lab->init.name);
  free(lab->alloc.name);
  free(lab->free.name);
  free(lab->lock_name);
  free(lab->file);
  *lab = (struct ex_lab){0};
}
