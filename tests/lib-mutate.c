// Mutants by a table of replacements, and by leaving out statements.
//
// Deliberately on text and not on a syntax tree: what does not compile is
// dropped by whoever compiles it.
#include "tests/lib-mutate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"

static const struct {
  const char *old, *now;
} replacements[] = {
    {" == 0", " != 0"},
    {" != 0", " == 0"},
    {" < ", " <= "},
    {" > ", " >= "},
    {" >= ", " > "},
    {"int step = 1", "int step = 2"},
    {" + 1", ""},
    {" - 1", ""},
    {"% NCPU", "% (NCPU - 1)"},
    {" && ", " || "},
    {" || ", " && "},
    {"++", "--"},
    {"+= ", "-= "},
    {"-= ", "+= "},
    {"cpuid()", "0"},
    {"[me]", "[0]"},
    {"push_off", "intr_off"},
    {"pop_off", "intr_on"},
    {".first", ".last"},
    {"->next", "[0].next->next"},
};

static void add(struct mutant **list, size_t *count, char *text, char *what)
{
  *list = xreallocarray(*list, *count + 1, sizeof **list);
  (*list)[(*count)++] = (struct mutant){text, what};
}

static int line_number(const char *text, const char *at)
{
  int line = 1;
  for (const char *s = text; s < at; s++)
    line += *s == '\n';
  return line;
}

// The text with [at, at + len) replaced.
static char *replaced(const char *text, const char *at, size_t len,
                      const char *now)
{
  struct buf b = BUF_INIT;
  buf_add(&b, text, (size_t)(at - text));
  buf_adds(&b, now);
  buf_adds(&b, at + len);
  return buf_detach(&b);
}

// A line that is one statement and no declaration.
static bool is_statement(const char *line, size_t len)
{
  size_t in = strspn(line, " ");
  if (in < 2 || len < in + 3 || line[len - 1] != ';')
    return false;
  static const char *const declare[] = {"int ", "struct ", "uint64 ", "char ",
                                        "return"};
  for (size_t i = 0; i < sizeof declare / sizeof declare[0]; i++) {
    if (strncmp(line + in, declare[i], strlen(declare[i])) == 0)
      return false;
  }
  return true;
}

static void mutate_line(const char *text, const char *line, size_t len,
                        struct mutant **list, size_t *count)
{
  int number = line_number(text, line);
  if (line[strspn(line, " ")] == '/' || line[0] == '#')
    return;
  if (is_statement(line, len)) {
    size_t in = strspn(line, " ");
    add(list, count, replaced(text, line + in, len - in, ";"),
        xasprintf("%d: without '%.*s'", number, (int)(len - in), line + in));
  }
  for (size_t i = 0; i < sizeof replacements / sizeof replacements[0]; i++) {
    const char *old = replacements[i].old, *now = replacements[i].now;
    for (const char *s = line; (s = strstr(s, old)) && s < line + len; s++)
      add(list, count, replaced(text, s, strlen(old), now),
          xasprintf("%d: '%s' becomes '%s' in '%.*s'", number, old, now,
                    (int)(len - strspn(line, " ")), line + strspn(line, " ")));
  }
}

size_t mutants_make(const char *text, const char *from, struct mutant **ret)
{
  size_t count = 0;
  bool begun = false;
  *ret = NULL;
  for (const char *line = text; *line;) {
    size_t len = strcspn(line, "\n");
    begun = begun || strncmp(line, from, strlen(from)) == 0;
    if (begun)
      mutate_line(text, line, len, ret, &count);
    line += len + (line[len] == '\n');
  }
  return count;
}

void mutants_release(struct mutant *m, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    free(m[i].text);
    free(m[i].what);
  }
  free(m);
}
