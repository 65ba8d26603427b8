// Splices a submission into the course's tree. It works on text and on the
// pieces at file scope; it does not understand C, and what does not compile
// afterwards is for the compiler to say.

#include "graders/splice.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/lab/ctext.h"

// ---- text ----------------------------------------------------------------------

// Appends a file's text without the carriage returns of line ends.
static void add_text(const struct content *content, struct buf *ret)
{
  for (size_t i = 0; i < content->len; i++)
    if (content->bytes[i] != '\r' || content->bytes[i + 1] != '\n')
      buf_addc(ret, content->bytes[i]);
}

static bool in_name(char c)
{
  return isalnum((unsigned char)c) || c == '_';
}

// Behind the comment, string, character or directive at `at`; `at` itself when
// none begins there. A directive begins with '#' (at the start of a line).
static size_t skip_opaque(const char *text, size_t at)
{
  size_t end = at + 1;

  if (text[at] == '/' && text[at + 1] == '*') {
    const char *close = strstr(text + at + 2, "*/");
    return close != NULL ? (size_t)(close - text) + 2 : strlen(text);
  }
  if ((text[at] == '/' && text[at + 1] == '/') || text[at] == '#') {
    while (text[end] != '\0' && (text[end] != '\n' || text[end - 1] == '\\'))
      end++;
    return end;
  }
  if (text[at] == '"' || text[at] == '\'') {
    while (text[end] != '\0' && text[end] != text[at])
      end += text[end] == '\\' && text[end + 1] != '\0' ? 2 : 1;
    return text[end] != '\0' ? end + 1 : end;
  }
  return at;
}

bool splice_find_function(const char *text, const char *name, size_t *ret_start,
                          size_t *ret_end)
{
  size_t len = strlen(name), start = 0;
  bool begun = false, named = false, body = false;
  int depth = 0;

  for (size_t at = 0; text[at] != '\0';) {
    size_t behind = skip_opaque(text, at);
    if (behind != at) {
      at = behind;
      continue;
    }
    char c = text[at];
    if (depth == 0 && !begun && !isspace((unsigned char)c)) {
      begun = true;
      start = at;
    }
    if (depth == 0 && strncmp(text + at, name, len) == 0 &&
        (at == 0 || !in_name(text[at - 1])) &&
        text[at + len + strspn(text + at + len, " \t\n")] == '(')
      named = true;
    if (c == '{' || c == '(') {
      body = body || (c == '{' && depth == 0 && named);
      depth++;
    } else if (c == '}' || c == ')') {
      depth--;
    }
    at++;
    if (depth == 0 && c == '}' && body) {
      *ret_start = start;
      *ret_end = at;
      return true;
    }
    if (depth == 0 && (c == ';' || c == '}'))
      begun = named = false;
  }
  return false;
}

// ---- what a function needs -------------------------------------------------------

struct needs {
  const struct buf *needed;  // text that is wanted so far
  const char *course;        // the course's text
  bool found;
};

static bool has_name(const char *text, const char *name, size_t len)
{
  for (const char *at = text; (at = strstr(at, name)) != NULL; at += len)
    if ((at == text || !in_name(at[-1])) && !in_name(at[len]))
      return true;
  return false;
}

// Words of the language link nothing to anything.
static bool is_keyword(const char *name)
{
  static const char words[] =
      " auto break case char const continue default do double else enum extern "
      "float for goto if inline int long register restrict return short signed "
      "sizeof static struct switch typedef union unsigned void volatile while ";
  char *word = xasprintf(" %s ", name);
  bool found = strstr(words, word) != NULL;
  free(word);
  return found;
}

// Looks at one identifier of a piece: is it wanted, and not the course's?
static const char *look_at(void *arg, const char *name, size_t len)
{
  struct needs *n = arg;
  char *copy = xstrndup(name, len);

  n->found = n->found ||
             (!is_keyword(copy) && has_name(buf_str(n->needed), copy, len) &&
              !has_name(n->course, copy, len));
  free(copy);
  return NULL;
}

static bool is_needed(const char *piece, const struct buf *needed,
                      const char *course)
{
  struct needs n = {needed, course, false};
  struct buf unused = BUF_INIT;

  ctext_rename(piece, look_at, &n, &unused);
  buf_release(&unused);
  return n.found;
}

static bool has_item(const struct ctext_items *items, const char *text)
{
  for (size_t i = 0; i < items->count; i++)
    if (strcmp(items->items[i].text, text) == 0)
      return true;
  return false;
}

static int split(const char *text, struct ctext_items *ret, struct error *err)
{
  struct buf stripped = BUF_INIT;

  ctext_strip(text, &stripped);
  int rc = ctext_split(buf_str(&stripped), ret, err);
  buf_release(&stripped);
  return rc;
}

// Appends the pieces of the student's file, in their order, that the course's
// does not have and that the function's text needs, directly or through others.
// Directives are never taken.
static void add_needed(const struct ctext_items *mine,
                       const struct ctext_items *theirs, const char *function,
                       const char *function_text, const char *course,
                       struct buf *ret)
{
  bool *taken = xcalloc(mine->count + 1, sizeof *taken);
  struct buf needed = BUF_INIT;
  bool more = true;

  buf_adds(&needed, function_text);
  while (more) {
    more = false;
    for (size_t i = 0; i < mine->count; i++) {
      const struct ctext_item *item = &mine->items[i];
      if (taken[i] || item->text[0] == '#' || has_item(theirs, item->text) ||
          (item->function && strcmp(item->function, function) == 0) ||
          !is_needed(item->text, &needed, course))
        continue;
      taken[i] = more = true;
      buf_addf(&needed, "\n%s", item->text);
    }
  }
  for (size_t i = 0; i < mine->count; i++)
    if (taken[i])
      buf_addf(ret, "%s\n\n", mine->items[i].text);
  buf_release(&needed);
  free(taken);
}

// ---- the parts -------------------------------------------------------------------

struct files {
  const struct tree *student;
  struct tree *tree;  // the result so far
  struct buf *notes;
  struct error *err;
};

static int take_file(const struct files *f, const char *path)
{
  const struct tree_file *file = tree_find(f->student, path);
  struct buf text = BUF_INIT;

  if (file == NULL)
    return error_set(f->err, LG_EREFUSED, "the submission has no %s", path);
  add_text(file->content, &text);
  int rc = tree_put(f->tree, path, buf_str(&text), text.len, false, f->err);
  buf_release(&text);
  return rc;
}

// Both versions of a file, as text; false when one of them is not there.
static bool both_texts(const struct files *f, const char *path,
                       struct buf *ret_mine, struct buf *ret_theirs)
{
  const struct tree_file *mine = tree_find(f->student, path);
  const struct tree_file *theirs = tree_find(f->tree, path);

  if (mine == NULL || theirs == NULL) {
    buf_addf(f->notes, "%s: not in the submission; the course's was used\n",
             path);
    return false;
  }
  add_text(mine->content, ret_mine);
  add_text(theirs->content, ret_theirs);
  return true;
}

static int put_function(const struct files *f, const struct lab_function *rule,
                        const struct buf *mine, struct buf *theirs)
{
  struct ctext_items my_items = {0}, their_items = {0};
  struct buf text = BUF_INIT;
  size_t start, end, to, to_end;

  if (!splice_find_function(buf_str(mine), rule->function, &start, &end) ||
      !splice_find_function(buf_str(theirs), rule->function, &to, &to_end)) {
    buf_addf(f->notes, "%s: %s() was not found; the course's was used\n",
             rule->file, rule->function);
    return 0;
  }
  char *function = xstrndup(mine->data + start, end - start);
  int rc = split(buf_str(theirs), &their_items, f->err);
  if (rc == 0 && split(buf_str(mine), &my_items, NULL) != 0)
    buf_addf(f->notes, "%s: its braces do not match; only %s() was used\n",
             rule->file, rule->function);
  if (rc == 0) {
    add_needed(&my_items, &their_items, rule->function, function,
               buf_str(theirs), &text);
    // Compilers and gdb shall name the lines as the student has them, and
    // behind the function as the course has them.
    buf_addf(&text, "#line %zu \"%s\"\n%s\n#line %zu \"%s\"\n",
             ctext_line(buf_str(mine), start), rule->file, function,
             ctext_line(buf_str(theirs), to_end) + 1, rule->file);
    buf_splice(theirs, to, to_end - to, text.data, text.len);
    rc = tree_put(f->tree, rule->file, buf_str(theirs), theirs->len, false,
                  f->err);
  }
  free(function);
  ctext_items_release(&my_items);
  ctext_items_release(&their_items);
  buf_release(&text);
  return rc;
}

static int take_function(const struct files *f, const struct lab_function *rule)
{
  struct buf mine = BUF_INIT, theirs = BUF_INIT;
  size_t start, end, to, to_end;
  int rc = 0;

  if (both_texts(f, rule->file, &mine, &theirs)) {
    bool same =
        splice_find_function(buf_str(&mine), rule->function, &start, &end) &&
        splice_find_function(buf_str(&theirs), rule->function, &to, &to_end) &&
        end - start == to_end - to &&
        memcmp(buf_str(&mine) + start, buf_str(&theirs) + to, end - start) == 0;
    if (!same)
      rc = put_function(f, rule, &mine, &theirs);
  }
  buf_release(&mine);
  buf_release(&theirs);
  return rc;
}

// Where a header's last #endif begins, or its end.
static size_t header_end(const char *text)
{
  const char *last = NULL;
  for (const char *at = text; (at = strstr(at, "\n#endif")) != NULL; at++)
    last = at;
  return last != NULL ? (size_t)(last - text) + 1 : strlen(text);
}

static int take_prototypes(const struct files *f, const char *path)
{
  struct ctext_items my_items = {0}, their_items = {0};
  struct buf mine = BUF_INIT, theirs = BUF_INIT, added = BUF_INIT;
  int rc = 0;

  if (both_texts(f, path, &mine, &theirs)) {
    rc = split(buf_str(&theirs), &their_items, f->err);
    if (rc == 0 && split(buf_str(&mine), &my_items, NULL) != 0)
      buf_addf(f->notes, "%s: its braces do not match; it was not used\n",
               path);
  }
  for (size_t i = 0; rc == 0 && i < my_items.count; i++)
    if (my_items.items[i].is_prototype &&
        !has_item(&their_items, my_items.items[i].text))
      buf_addf(&added, "%s\n", my_items.items[i].text);
  if (rc == 0 && added.len > 0) {
    buf_splice(&theirs, header_end(buf_str(&theirs)), 0, added.data, added.len);
    rc = tree_put(f->tree, path, buf_str(&theirs), theirs.len, false, f->err);
  }
  ctext_items_release(&my_items);
  ctext_items_release(&their_items);
  buf_release(&mine);
  buf_release(&theirs);
  buf_release(&added);
  return rc;
}

int splice(const struct tree *course, const struct tree *student,
           const struct lab_submission *rules, struct tree *ret,
           struct buf *ret_notes, struct error *err)
{
  struct tree work = {0};
  struct files f = {student, &work, ret_notes, err};
  int rc = 0;

  tree_copy(&work, course);
  for (size_t i = 0; rc == 0 && i < rules->files.count; i++)
    rc = take_file(&f, rules->files.items[i]);
  for (size_t i = 0; rc == 0 && i < rules->functions.count; i++)
    rc = take_function(&f, LIST_AT(rules->functions, struct lab_function, i));
  for (size_t i = 0; rc == 0 && i < rules->prototypes.count; i++)
    rc = take_prototypes(&f, rules->prototypes.items[i]);
  if (rc != 0) {
    tree_release(&work);
    return rc;
  }
  tree_release(ret);
  *ret = work;
  return 0;
}
