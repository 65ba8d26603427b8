// Rewrites the reference and a variant of it by the same choices. What may be
// exchanged for what is data; this file only sees to it that a choice which is
// possible in one of the two texts alone is made in neither.
#include "labgen/lab/render.h"

#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/lab/ctext.h"

static const struct field form_fields[] = {
    FIELD(struct render_form, same, FIELD_TEXTS, .required = true,
          .doc = "the reference's text, then texts that do the same"),
    FIELD_END,
};

static const struct schema form_schema = {
    .name = "form",
    .doc = "Texts that do the same.",
    .size = sizeof(struct render_form),
    .fields = form_fields,
};

static const struct field rendering_fields[] = {
    FIELD(struct rendering, file, FIELD_TREE_PATH, .required = true,
          .doc = "the file that is rewritten"),
    FIELD(struct rendering, names, FIELD_NAMED_TEXTS,
          .doc = "identifiers, each with other names for it"),
    FIELD(struct rendering, forms, FIELD_STRUCTS, .sub = &form_schema,
          .doc = "pieces of code, each with other ways to write it"),
    FIELD(struct rendering, comments, FIELD_NAMED_TEXTS, .may_be_empty = true,
          .doc = "functions, each with comments that may stand above"),
    FIELD(struct rendering, opening, FIELD_TEXTS,
          .doc = "comments that may stand at the top of the file"),
    FIELD_END,
};

const struct schema rendering_schema = {
    .name = "rendering",
    .doc = "How the reference is rewritten for each student.",
    .size = sizeof(struct rendering),
    .fields = rendering_fields,
};

enum { CLEAN, VARIANT, SIDES };

// The two texts on their way.
struct pair {
  struct buf text[SIDES];
};

static size_t occurrences(const char *text, const char *piece)
{
  size_t n = 0;
  for (const char *p = text; (p = strstr(p, piece)); p++)
    n++;
  return n;
}

static void exchange(struct buf *text, const char *old, const char *new)
{
  size_t pos = (size_t)(strstr(buf_str(text), old) - buf_str(text));
  buf_splice(text, pos, strlen(old), new, strlen(new));
}

// Draws a form of each piece. Pieces are looked for in the untouched reference
// first, so that a stale one is an error and not a choice less.
static int exchange_forms(const struct rendering *r, struct draws *d,
                          struct pair *p, struct error *err)
{
  for (size_t i = 0; i < r->forms.count; i++) {
    const struct render_form *f = LIST_AT(r->forms, struct render_form, i);
    size_t n = f->same.count
                   ? occurrences(buf_str(&p->text[CLEAN]), f->same.items[0])
                   : 0;
    if (n != 1)
      return error_at(err, LG_EINPUT, f->at.path, f->at.line, f->at.column,
                      "the first text must be in %s (comments aside) exactly "
                      "once, but is there %zu times",
                      r->file, n);
  }
  for (size_t i = 0; i < r->forms.count; i++) {
    const struct texts *same = &LIST_AT(r->forms, struct render_form, i)->same;
    const char *new = same->items[draw_below(d, (uint32_t)same->count)];
    if (occurrences(buf_str(&p->text[CLEAN]), same->items[0]) == 1 &&
        occurrences(buf_str(&p->text[VARIANT]), same->items[0]) == 1)
      for (int side = 0; side < SIDES; side++)
        exchange(&p->text[side], same->items[0], new);
  }
  return 0;
}

// --- order of functions ----------------------------------------------------

struct ranked {
  uint64_t rank;
  const struct ctext_item *item;
};

static int by_rank(const void *a, const void *b)
{
  const struct ranked *x = a, *y = b;
  return (x->rank > y->rank) - (x->rank < y->rank);
}

static bool defines(const struct ctext_items *all, const char *prototype)
{
  for (size_t i = 0; i < all->count; i++) {
    const char *name = all->items[i].function;
    const char *at = name ? strstr(prototype, name) : NULL;
    if (at && at[strlen(name)] == '(')
      return true;
  }
  return false;
}

static void add_comment(const struct rendering *r, const struct draws *d,
                        const char *function, struct buf *b)
{
  for (size_t i = 0; i < r->comments.count; i++) {
    const struct named_texts *c = LIST_AT(r->comments, struct named_texts, i);
    if (strcmp(c->name, function) != 0)
      continue;
    // By rank, so that a function that only one side has shifts no choice.
    char *key = xasprintf("comment of %s", function);
    const char *text = c->values.items[draw_rank(d, key) % c->values.count];
    buf_adds(b, text);
    if (*text && text[strlen(text) - 1] != '\n')
      buf_addc(b, '\n');
    free(key);
  }
}

// Writes the declarations, prototypes, and the functions by rank.
static void reorder(const struct rendering *r, const struct draws *d,
                    const struct ctext_items *all, struct buf *b)
{
  struct ranked *order = xcalloc(all->count + 1, sizeof(*order));
  struct buf prototypes = BUF_INIT;
  size_t functions = 0;
  for (size_t i = 0; i < all->count; i++) {
    const struct ctext_item *item = &all->items[i];
    if (item->function)
      order[functions++] = (struct ranked){draw_rank(d, item->function), item};
    if (item->function && item->is_static) {
      char *line = ctext_prototype(item);
      buf_addf(&prototypes, "%s\n", line);
      free(line);
    }
    if (item->function ||
        (item->is_prototype && item->is_static && defines(all, item->text)))
      continue;
    buf_addf(b, "%s%s\n", item->after_blank && b->len ? "\n" : "", item->text);
  }
  if (prototypes.len)
    buf_addf(b, "\n%s", buf_str(&prototypes));
  qsort(order, functions, sizeof(*order), by_rank);
  for (size_t i = 0; i < functions; i++) {
    buf_addc(b, '\n');
    add_comment(r, d, order[i].item->function, b);
    buf_addf(b, "%s\n", order[i].item->text);
  }
  buf_release(&prototypes);
  free(order);
}

static int reorder_functions(const struct rendering *r, const struct draws *d,
                             struct buf *text, struct error *err)
{
  struct ctext_items all;
  int rc = ctext_split(buf_str(text), &all, err);
  if (rc)
    return error_set(err, rc, "(in %s)", r->file);
  buf_truncate(text, 0);
  if (r->opening.count) {
    uint64_t which = draw_rank(d, "opening") % r->opening.count;
    buf_addf(text, "%s\n", r->opening.items[which]);
  }
  reorder(r, d, &all, text);
  ctext_items_release(&all);
  return 0;
}

// --- names -----------------------------------------------------------------

struct renaming {
  const struct rendering *r;
  const char **chosen;  // for each of r->names, or NULL to keep it
  struct buf taken;     // all identifiers of both texts, each between blanks
};

static const char *note_identifier(void *arg, const char *name, size_t len)
{
  struct renaming *n = arg;
  buf_add(&n->taken, name, len);
  buf_addc(&n->taken, ' ');
  return NULL;
}

static const char *renamed(void *arg, const char *name, size_t len)
{
  const struct renaming *n = arg;
  for (size_t i = 0; i < n->r->names.count; i++) {
    const char *old = LIST_AT(n->r->names, struct named_texts, i)->name;
    if (strlen(old) == len && memcmp(old, name, len) == 0)
      return n->chosen[i];
  }
  return NULL;
}

// Takes a name for an identifier, unless it is in either text or taken.
static bool take_name(struct renaming *n, const char *name)
{
  char *word = xasprintf(" %s ", name);
  bool is_free = !strstr(buf_str(&n->taken), word);
  if (is_free)
    buf_adds(&n->taken, word + 1);
  free(word);
  return is_free;
}

static void rename_identifiers(const struct rendering *r, struct draws *d,
                               struct pair *p, const char *function,
                               char **ret_function)
{
  size_t count = r->names.count;
  struct renaming n = {.r = r, .chosen = xcalloc(count + 1, sizeof(char *))};
  struct buf unchanged = BUF_INIT;
  buf_addc(&n.taken, ' ');
  for (int side = 0; side < SIDES; side++)
    ctext_rename(buf_str(&p->text[side]), note_identifier, &n, &unchanged);
  buf_release(&unchanged);
  for (size_t i = 0; i < count; i++) {
    const struct named_texts *row = LIST_AT(r->names, struct named_texts, i);
    // The identifier's own name is one of the choices.
    uint32_t pick = draw_below(d, (uint32_t)row->values.count + 1);
    if (pick < row->values.count && take_name(&n, row->values.items[pick]))
      n.chosen[i] = row->values.items[pick];
  }
  for (int side = 0; side < SIDES; side++) {
    struct buf out = BUF_INIT;
    ctext_rename(buf_str(&p->text[side]), renamed, &n, &out);
    buf_release(&p->text[side]);
    p->text[side] = out;
  }
  if (function) {
    const char *name = renamed(&n, function, strlen(function));
    *ret_function = xstrdup(name ? name : function);
  }
  free(n.chosen);
  buf_release(&n.taken);
}

int render_pair(const struct rendering *r, struct draws *d, struct tree *clean,
                struct tree *variant, const char *function, char **ret_function,
                struct error *err)
{
  struct tree *trees[SIDES] = {clean, variant};
  const struct tree_file *files[SIDES];
  struct pair p = {0};
  int rc = 0;
  for (int side = 0; side < SIDES; side++) {
    files[side] = tree_find(trees[side], r->file);
    if (!files[side])
      return error_at(err, LG_EINPUT, r->at.path, r->at.line, r->at.column,
                      "%s: no such file in the tree", r->file);
    ctext_strip(files[side]->content->bytes, &p.text[side]);
  }
  rc = exchange_forms(r, d, &p, err);
  for (int side = 0; side < SIDES && rc == 0; side++)
    rc = reorder_functions(r, d, &p.text[side], err);
  char *renamed_function = NULL;
  if (rc == 0)
    rename_identifiers(r, d, &p, function, &renamed_function);
  for (int side = 0; side < SIDES && rc == 0; side++)
    rc = tree_put(trees[side], r->file, buf_str(&p.text[side]),
                  p.text[side].len, false, err);
  for (int side = 0; side < SIDES; side++)
    buf_release(&p.text[side]);
  if (rc == 0 && function)
    *ret_function = renamed_function;
  else
    free(renamed_function);
  return rc;
}
