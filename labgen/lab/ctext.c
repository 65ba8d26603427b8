// Rewrites C by its tokens: comments, identifiers, items at file scope. It does
// not parse declarations or expressions, and knows macros only as words.
#include "labgen/lab/ctext.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"

static bool is_word(char c)
{
  return isalnum((unsigned char)c) || c == '_';
}

// The end of the string or character constant that starts at `p`, or of the
// text when it has no end.
static const char *skip_quoted(const char *p)
{
  char quote = *p++;
  while (*p && *p != quote && *p != '\n')
    p += *p == '\\' && p[1] ? 2 : 1;
  return *p == quote ? p + 1 : p;
}

// The end of the comment that starts at `p`, or `p` when none does.
static const char *skip_comment(const char *p)
{
  if (p[0] == '/' && p[1] == '/')
    return p + strcspn(p, "\n");
  if (p[0] != '/' || p[1] != '*')
    return p;
  const char *end = strstr(p + 2, "*/");
  return end ? end + 2 : p + strlen(p);
}

// Appends one line without blanks at its end; an empty one only after a line
// that is not.
static void add_line(struct buf *b, const char *line, size_t len)
{
  while (len && isspace((unsigned char)line[len - 1]))
    len--;
  bool after_blank =
      b->len == 0 || (b->len > 1 && b->data[b->len - 1] == '\n' &&
                      b->data[b->len - 2] == '\n');
  if (len == 0 && after_blank)
    return;
  buf_add(b, line, len);
  buf_addc(b, '\n');
}

void ctext_strip(const char *text, struct buf *ret)
{
  struct buf line = BUF_INIT, out = BUF_INIT;
  bool had_comment = false;
  for (const char *p = text;;) {
    const char *end = skip_comment(p);
    if (end != p) {
      had_comment = true;
      p = end;
    } else if (*p == '"' || *p == '\'') {
      end = skip_quoted(p);
      buf_add(&line, p, (size_t)(end - p));
      p = end;
    } else if (*p == '\n' || !*p) {
      bool blank = strspn(buf_str(&line), " \t") == line.len;
      if (!(blank && (had_comment || !*p)))
        add_line(&out, buf_str(&line), line.len);
      buf_truncate(&line, 0);
      had_comment = false;
      if (!*p)
        break;
      p++;
    } else {
      buf_addc(&line, *p++);
    }
  }
  buf_add(ret, buf_str(&out), out.len);
  buf_release(&line);
  buf_release(&out);
}

void ctext_blank(const char *text, struct buf *ret)
{
  const char *p = text;
  while (*p) {
    const char *end = skip_comment(p);
    for (; p < end; p++)
      buf_addc(ret, *p == '\n' ? '\n' : ' ');
    if (!*p)
      break;
    end = *p == '"' || *p == '\'' ? skip_quoted(p) : p + 1;
    if (skip_comment(p) == p) {
      buf_add(ret, p, (size_t)(end - p));
      p = end;
    }
  }
}

// The end of the piece at `p` in which no identifier is to be replaced, or `p`.
static const char *skip_opaque(const char *text, const char *p)
{
  const char *end = skip_comment(p);
  if (end != p)
    return end;
  if (*p == '"' || *p == '\'')
    return skip_quoted(p);
  if (*p == '#' && (p == text || p[-1] == '\n') &&
      strncmp(p + 1 + strspn(p + 1, " \t"), "include", 7) == 0)
    return p + strcspn(p, "\n");
  return p;
}

void ctext_rename(const char *text,
                  const char *(*new_name)(void *arg, const char *name,
                                          size_t len),
                  void *arg, struct buf *ret)
{
  const char *p = text;
  while (*p) {
    const char *end = skip_opaque(text, p);
    if (end == p && is_word(*p)) {
      for (end = p; is_word(*end);)
        end++;
      const char *name = isdigit((unsigned char)*p)
                             ? NULL
                             : new_name(arg, p, (size_t)(end - p));
      if (name) {
        buf_adds(ret, name);
        p = end;
      }
    }
    if (end == p && *p && !is_word(*p))
      end++;
    buf_add(ret, p, (size_t)(end - p));
    p = end;
  }
}

// --- items -----------------------------------------------------------------

// Whether the last character before `pos` that is no blank closes a parameter
// list, so that a '{' at `pos` opens a function.
static bool after_parenthesis(const char *start, const char *pos)
{
  while (pos > start && isspace((unsigned char)pos[-1]))
    pos--;
  return pos > start && pos[-1] == ')';
}

// The end of the item that starts at `p`; NULL when it has none.
static const char *item_end(const char *p, bool *ret_function)
{
  const char *start = p;
  int depth = 0;
  *ret_function = false;
  if (*p == '#') {
    while (*p && *p != '\n')
      p += *p == '\\' && p[1] ? 2 : 1;
    return p;
  }
  while (*p) {
    if (*p == '"' || *p == '\'') {
      p = skip_quoted(p);
      continue;
    }
    if (*p == '{' && depth == 0 && after_parenthesis(start, p))
      *ret_function = true;
    if (*p == '{' || *p == '(')
      depth++;
    if (*p == '}' || *p == ')')
      depth--;
    if (depth < 0)
      return NULL;
    if (depth == 0 && (*p == ';' || (*p == '}' && *ret_function)))
      return p + 1;
    p++;
  }
  return NULL;
}

// The identifier before the first parenthesis, or NULL. Caller owns it.
static char *declared_function(const char *text)
{
  const char *end = text + strcspn(text, "(={;");
  if (*end != '(')
    return NULL;
  while (end > text && isspace((unsigned char)end[-1]))
    end--;
  const char *start = end;
  while (start > text && is_word(start[-1]))
    start--;
  return start < end ? xstrndup(start, (size_t)(end - start)) : NULL;
}

static void describe(struct ctext_item *item, bool function)
{
  char *name = *item->text == '#' ? NULL : declared_function(item->text);
  item->is_static = strncmp(item->text, "static", 6) == 0;
  item->is_prototype = name && !function;
  if (function)
    item->function = name;
  else
    free(name);
}

int ctext_split(const char *text, struct ctext_items *ret, struct error *err)
{
  struct ctext_items all = {0};
  const char *p = text;
  for (;;) {
    size_t blanks = strspn(p, " \t\r\n"), line_ends = 0;
    for (size_t i = 0; i < blanks; i++)
      line_ends += p[i] == '\n';
    p += blanks;
    if (!*p)
      break;
    bool function;
    const char *end = item_end(p, &function);
    if (!end) {
      size_t line = ctext_line(text, (size_t)(p - text));
      ctext_items_release(&all);
      return error_set(err, LG_EINPUT,
                       "braces or parentheses do not match in what begins on "
                       "line %zu (comments aside)",
                       line);
    }
    GROW(all.items, all.count, all.room);
    struct ctext_item *item = &all.items[all.count++];
    *item = (struct ctext_item){.text = xstrndup(p, (size_t)(end - p)),
                                .after_blank = line_ends > 1};
    describe(item, function);
    p = end;
  }
  *ret = all;
  return 0;
}

void ctext_items_release(struct ctext_items *items)
{
  for (size_t i = 0; i < items->count; i++) {
    free(items->items[i].text);
    free(items->items[i].function);
  }
  free(items->items);
  *items = (struct ctext_items){0};
}

char *ctext_prototype(const struct ctext_item *item)
{
  size_t len = strcspn(item->text, "{");
  while (len && isspace((unsigned char)item->text[len - 1]))
    len--;
  struct buf b = BUF_INIT;
  buf_add(&b, item->text, len);
  buf_addc(&b, ';');
  return buf_detach(&b);
}

size_t ctext_line(const char *text, size_t pos)
{
  size_t line = 1;
  for (size_t i = 0; i < pos && text[i]; i++)
    line += text[i] == '\n';
  return line;
}
