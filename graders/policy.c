// Compares trees file by file, and C files function by function. It looks at
// text alone; putting the parts together is splice.c's trade.
#include "graders/policy.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/lab/ctext.h"

const char *policy_change_words(enum policy_change change)
{
  static const char *const words[] = {
#define ROW(number, words) words,
      POLICY_CHANGES(ROW)};
  return words[change];
}

const char *policy_use_words(enum policy_use use)
{
  static const char *const words[] = {POLICY_USES(ROW)
#undef ROW
  };
  return words[use];
}

// --- texts ------------------------------------------------------------------

// Whether two files are the same but for carriage returns at line ends.
static bool same_text(const struct content *a, const struct content *b)
{
  size_t i = 0, k = 0;
  if (a == b)
    return true;
  for (;;) {
    i += i < a->len && a->bytes[i] == '\r' && a->bytes[i + 1] == '\n';
    k += k < b->len && b->bytes[k] == '\r' && b->bytes[k + 1] == '\n';
    if (i >= a->len || k >= b->len)
      return i >= a->len && k >= b->len;
    if (a->bytes[i++] != b->bytes[k++])
      return false;
  }
}

static bool is_c(const char *path)
{
  size_t len = strlen(path);
  return len > 2 && (strcmp(path + len - 2, ".c") == 0 ||
                     strcmp(path + len - 2, ".h") == 0);
}

static int split(const struct content *c, struct ctext_items *ret)
{
  struct buf plain = BUF_INIT, stripped = BUF_INIT;
  for (size_t i = 0; c && i < c->len; i++)
    if (c->bytes[i] != '\0' && (c->bytes[i] != '\r' || c->bytes[i + 1] != '\n'))
      buf_addc(&plain, c->bytes[i]);
  ctext_strip(buf_str(&plain), &stripped);
  int rc = ctext_split(buf_str(&stripped), ret, NULL);
  buf_release(&plain);
  buf_release(&stripped);
  return rc;
}

static const struct ctext_item *function_of(const struct ctext_items *items,
                                            const char *name)
{
  for (size_t i = 0; i < items->count; i++)
    if (items->items[i].function && strcmp(items->items[i].function, name) == 0)
      return &items->items[i];
  return NULL;
}

static bool has_text(const struct ctext_items *items, const char *text)
{
  for (size_t i = 0; i < items->count; i++)
    if (strcmp(items->items[i].text, text) == 0)
      return true;
  return false;
}

static void add_part(struct buf *parts, const char *name, const char *what)
{
  buf_addf(parts, "%s%s() %s", parts->len ? ", " : "", name, what);
}

static void describe_parts(const struct content *was, const struct content *is,
                           struct buf *parts)
{
  struct ctext_items old = {0}, new = {0};
  bool declarations = false;
  if (split(was, &old) || split(is, &new)) {
    buf_adds(parts, "its braces or quotes do not match");
  } else {
    for (size_t i = 0; i < new.count; i++) {
      const char *name = new.items[i].function;
      const struct ctext_item *before = name ? function_of(&old, name) : NULL;
      if (!name)
        declarations = declarations || !has_text(&old, new.items[i].text);
      else if (!before)
        add_part(parts, name, "added");
      else if (strcmp(before->text, new.items[i].text) != 0)
        add_part(parts, name, "changed");
    }
    for (size_t i = 0; i < old.count; i++) {
      const char *name = old.items[i].function;
      if (!name)
        declarations = declarations || !has_text(&new, old.items[i].text);
      else if (!function_of(&new, name))
        add_part(parts, name, "removed");
    }
    if (declarations)
      buf_addf(parts, "%sdeclarations changed", parts->len ? ", " : "");
    if (!parts->len)
      buf_adds(parts, "only comments and layout");
  }
  ctext_items_release(&old);
  ctext_items_release(&new);
}

// --- trees ------------------------------------------------------------------

static bool is_handout(const struct course *c, const char *path)
{
  const char *handout = c->lab.start.handout_file;
  return handout && strcmp(path, handout) == 0;
}

static enum policy_use use_of(const struct lab_submission *rules,
                              const char *path)
{
  for (size_t i = 0; i < rules->files.count; i++)
    if (strcmp(rules->files.items[i], path) == 0)
      return POLICY_USED;
  for (size_t i = 0; i < rules->functions.count; i++)
    if (strcmp(LIST_AT(rules->functions, struct lab_function, i)->file, path) ==
        0)
      return POLICY_PARTS_USED;
  for (size_t i = 0; i < rules->prototypes.count; i++)
    if (strcmp(rules->prototypes.items[i], path) == 0)
      return POLICY_PARTS_USED;
  return POLICY_NOT_USED;
}

// Calls visit() for each file that differs; either of them may be NULL, but not
// both. Returns how many differ. A submission of single files says nothing of
// the others: `whole` tells whether files can be missing from it.
static size_t compare(const struct course *c, const struct tree *was,
                      const struct tree *is, bool whole,
                      void (*visit)(struct policy *p, const struct course *c,
                                    const char *path,
                                    const struct tree_file *old,
                                    const struct tree_file *new),
                      struct policy *p)
{
  size_t i = 0, k = 0, count = 0;
  while (i < was->count || k < is->count) {
    const struct tree_file *old = i < was->count ? &was->files[i] : NULL;
    const struct tree_file *new = k < is->count ? &is->files[k] : NULL;
    int order = !old ? 1 : !new ? -1 : strcmp(old->path, new->path);
    const struct tree_file *first = order > 0 ? new : old;
    if (!first)
      break;
    if (order < 0)
      new = NULL;
    if (order > 0)
      old = NULL;
    i += old != NULL;
    k += new != NULL;
    if (is_handout(c, first->path) || (!new && !whole) ||
        (old && new &&same_text(old->content, new->content)))
      continue;
    count++;
    if (visit)
      visit(p, c, first->path, old, new);
  }
  return count;
}

static void add_file(struct policy *p, const struct course *c, const char *path,
                     const struct tree_file *old, const struct tree_file *new)
{
  GROW(p->files, p->count, p->room);
  struct policy_file *f = &p->files[p->count++];
  *f = (struct policy_file){.path = xstrdup(path)};
  f->change = !old ? POLICY_ADDED : !new ? POLICY_REMOVED : POLICY_CHANGED;
  f->use = use_of(&c->lab.submission, f->path);
  if (old && new &&is_c(path))
    describe_parts(old->content, new->content, &f->parts);
}

void policy_compare(const struct course *course, const struct submission *s,
                    struct policy *ret)
{
  struct policy p = {.start = course->start};
  // A tree is whole when it has what every kernel has: a Makefile.
  bool whole = tree_find(&s->tree, "Makefile") != NULL;
  if (s->history.start != FOREIGN_NO_START) {
    p.start = s->history.start + 1;
    p.by_history = true;
  } else {
    size_t fewest = (size_t)-1;
    for (size_t i = course->start; i >= 1; i--) {
      size_t count =
          compare(course, &course->chain[i].tree, &s->tree, whole, NULL, NULL);
      if (count < fewest) {
        fewest = count;
        p.start = i;
      }
    }
  }
  compare(course, &course->chain[p.start].tree, &s->tree, whole, add_file, &p);
  *ret = p;
}

void policy_compare_trees(const struct course *course, const struct tree *was,
                          const struct tree *is, struct policy *ret)
{
  struct policy p = {0};
  compare(course, was, is, true, add_file, &p);
  *ret = p;
}

void policy_release(struct policy *p)
{
  for (size_t i = 0; i < p->count; i++) {
    free(p->files[i].path);
    buf_release(&p->files[i].parts);
  }
  free(p->files);
  *p = (struct policy){0};
}

// --- compile errors ---------------------------------------------------------

static bool in_name(char c)
{
  return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const struct tree_file *f, const char *name, size_t len)
{
  if (!f)
    return false;
  const char *bytes = f->content->bytes, *end = bytes + f->content->len;
  for (const char *at = bytes; (at = memmem(at, (size_t)(end - at), name, len));
       at++)
    if ((at == bytes || !in_name(at[-1])) && !in_name(at[len]))
      return true;
  return false;
}

// The next name that the compiler quotes, at or behind *at: 'name' in ASCII or
// typographic quotes (gcc's), or `name'. *ret_len is 0 when there is none.
static const char *next_quoted(const char **at, size_t *ret_len)
{
  for (const char *p = *at; *p; p++) {
    size_t quote = strncmp(p, "\xe2\x80\x98", 3) == 0 ? 3
                   : *p == '\'' || *p == '`'          ? 1
                                                      : 0;
    size_t n = 0;
    while (quote && in_name(p[quote + n]))
      n++;
    if (n == 0)
      continue;
    *at = p + quote + n;
    *ret_len = n;
    return p + quote;
  }
  *ret_len = 0;
  return NULL;
}

void policy_explain(const struct policy *p, const struct tree *student,
                    const struct tree *course, const char *compiler_words,
                    struct buf *ret)
{
  for (size_t i = 0; i < p->count; i++) {
    const struct policy_file *f = &p->files[i];
    const struct tree_file *mine = tree_find(student, f->path);
    const struct tree_file *theirs = tree_find(course, f->path);
    const char *at = compiler_words, *name;
    size_t len;
    if (f->use == POLICY_USED || !mine)
      continue;
    while ((name = next_quoted(&at, &len))) {
      if (!has_word(mine, name, len) || has_word(theirs, name, len))
        continue;
      buf_addf(ret, "%s: '%.*s' comes from this file; %s\n", f->path, (int)len,
               name,
               f->use == POLICY_NOT_USED
                   ? "it was not used, since the lab does not permit to "
                     "change it"
                   : policy_use_words(f->use));
      break;
    }
  }
}
