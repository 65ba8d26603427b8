// The edit engine: finds an anchor that is there exactly once and puts text
// after it, before it, or in its place. It knows nothing about C or about
// labs; unified diffs are applied by labgen/repo.
#include "labgen/lab/edit.h"

#include <stdlib.h>
#include <string.h>

#include "labgen/base/buf.h"

static int check_edit(const void *value, struct reader *r)
{
  const struct edit *e = value;
  int anchors = !!e->after + !!e->before + !!e->replace;
  if (anchors != 1)
    return reader_error(r, &e->at,
                        "an edit has exactly one of 'after', 'before' and "
                        "'replace'; this one has %d",
                        anchors);
  if (e->replace ? !e->with : !e->insert)
    return reader_error(r, &e->at, "'%s' needs '%s' with the new text",
                        e->replace ? "replace"
                        : e->after ? "after"
                                   : "before",
                        e->replace ? "with" : "insert");
  if (e->replace ? !!e->insert : !!e->with)
    return reader_error(r, &e->at, "'%s' does not go with '%s'",
                        e->replace ? "insert" : "with",
                        e->replace ? "replace"
                        : e->after ? "after"
                                   : "before");
  return 0;
}

static const struct field edit_fields[] = {
    FIELD(struct edit, file, FIELD_TREE_PATH, .required = true,
          .doc = "path in the tree"),
    FIELD(struct edit, after, FIELD_TEXT,
          .doc = "anchor; 'insert' goes right after it"),
    FIELD(struct edit, before, FIELD_TEXT,
          .doc = "anchor; 'insert' goes right before it"),
    FIELD(struct edit, replace, FIELD_TEXT,
          .doc = "anchor; 'with' takes its place"),
    FIELD(struct edit, insert, FIELD_TEXT, .doc = "text to put in"),
    FIELD(struct edit, with, FIELD_TEXT, .may_be_empty = true,
          .doc = "text to put in; empty takes the anchor away"),
    FIELD_END,
};

const struct schema edit_schema = {
    .name = "edit",
    .doc = "A change of one file, anchored on text that is in it exactly once.",
    .size = sizeof(struct edit),
    .fields = edit_fields,
    .check = check_edit,
};

int text_expand(const struct place *at, const char *text,
                const struct param *params, size_t param_count, struct buf *ret,
                struct error *err)
{
  const char *open;
  while ((open = strstr(text, "${"))) {
    size_t len = strcspn(open + 2, "}");
    size_t i = 0;
    while (i < param_count && !(strlen(params[i].name) == len &&
                                memcmp(params[i].name, open + 2, len) == 0))
      i++;
    if (i == param_count || !open[2 + len])
      return error_at(err, LG_EINPUT, at->path, at->line, at->column,
                      "'${%.*s}' is no parameter here", (int)len, open + 2);
    buf_add(ret, text, (size_t)(open - text));
    buf_adds(ret, params[i].value);
    text = open + 2 + len + 1;
  }
  buf_adds(ret, text);
  return 0;
}

// As text_expand(), for an edit: without parameters text is taken as it is.
static int expand(const struct edit *e, const char *text,
                  const struct param *params, size_t param_count,
                  struct buf *ret, struct error *err)
{
  if (param_count)
    return text_expand(&e->at, text, params, param_count, ret, err);
  buf_adds(ret, text);
  return 0;
}

static size_t occurrences(const char *text, const char *anchor)
{
  size_t n = 0;
  for (const char *p = text; (p = strstr(p, anchor)); p++)
    n++;
  return n;
}

// The anchor's first lines, for a message on one line.
static void add_excerpt(struct buf *b, const char *anchor)
{
  size_t len = strlen(anchor), shown = len > 60 ? 60 : len;
  buf_addc(b, '"');
  for (size_t i = 0; i < shown; i++) {
    if (anchor[i] == '\n')
      buf_adds(b, "\\n");
    else
      buf_addc(b, anchor[i]);
  }
  buf_adds(b, shown < len ? "...\"" : "\"");
}

// Says why an anchor cannot be used, and where to look.
static int anchor_error(const struct edit *e, const char *bytes,
                        const char *anchor, size_t found, struct error *err)
{
  struct buf text = BUF_INIT;
  buf_addf(&text, "%s: the anchor ", e->file);
  add_excerpt(&text, anchor);
  buf_addf(&text, " is there %zu times, but must be there exactly once", found);
  size_t first = strcspn(anchor, "\n");
  char *line = strndup(anchor, first);
  if (found == 0 && first > 0 && anchor[first] && line &&
      occurrences(bytes, line) > 0)
    buf_adds(&text,
             " (its first line is there: compare the next ones, "
             "blanks included)");
  else if (found > 1)
    buf_adds(&text, " (make it longer)");
  free(line);
  int rc = error_at(err, LG_EINPUT, e->at.path, e->at.line, e->at.column, "%s",
                    buf_str(&text));
  buf_release(&text);
  return rc;
}

static int apply_one(struct tree *tree, const struct edit *e,
                     const struct param *params, size_t param_count,
                     struct error *err)
{
  const struct tree_file *f = tree_find(tree, e->file);
  if (!f)
    return error_at(err, LG_EINPUT, e->at.path, e->at.line, e->at.column,
                    "%s: no such file in the tree", e->file);
  struct buf anchor = BUF_INIT, text = BUF_INIT, out = BUF_INIT;
  const char *raw = e->after ? e->after : e->before ? e->before : e->replace;
  int rc = expand(e, raw, params, param_count, &anchor, err);
  if (rc == 0)
    rc = expand(e, e->replace ? e->with : e->insert, params, param_count, &text,
                err);
  if (rc)
    goto out;
  const char *bytes = f->content->bytes;
  size_t found = strlen(bytes) == f->content->len
                     ? occurrences(bytes, buf_str(&anchor))
                     : 0;
  if (found != 1) {
    rc = anchor_error(e, bytes, buf_str(&anchor), found, err);
    goto out;
  }
  size_t pos = (size_t)(strstr(bytes, buf_str(&anchor)) - bytes);
  buf_add(&out, bytes, f->content->len);
  if (e->replace)
    buf_splice(&out, pos, anchor.len, buf_str(&text), text.len);
  else
    buf_splice(&out, e->after ? pos + anchor.len : pos, 0, buf_str(&text),
               text.len);
  rc = tree_put(tree, e->file, out.data, out.len, f->executable, err);
out:
  buf_release(&anchor);
  buf_release(&text);
  buf_release(&out);
  return rc;
}

int edits_apply(struct tree *tree, const struct edit *edits, size_t count,
                const struct param *params, size_t param_count,
                struct error *err)
{
  struct tree work = {0};
  tree_copy(&work, tree);
  for (size_t i = 0; i < count; i++) {
    int rc = apply_one(&work, &edits[i], params, param_count, err);
    if (rc) {
      tree_release(&work);
      return rc;
    }
  }
  tree_release(tree);
  *tree = work;
  return 0;
}
