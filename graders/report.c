// Puts what the watchers left in guest memory into words.

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graders/evidence.h"
#include "labgen/base/alloc.h"

static const struct {
  const char *name;
  enum watch_weight weight;
  const char *text;
} kinds[] = {
#define ROW(code, name, weight, text) {name, weight, text},
    WATCH_KINDS(ROW)
#undef ROW
};

// A lock by its name, or by its place in the student's data.
static void add_lock(const struct watch_report *r, const struct binary *kernel,
                     uint64_t at, struct buf *b)
{
  const struct object_symbol *best = NULL;

  for (unsigned i = 0; i < r->lock_count; i++) {
    if (r->locks[i].at == at && r->locks[i].name[0] != '\0') {
      buf_add(b, r->locks[i].name, strnlen(r->locks[i].name, WATCH_NAME));
      return;
    }
  }
  for (size_t i = 0; i < kernel->symbol_count; i++) {
    const struct object_symbol *s = &kernel->symbols[i];
    if (s->defined && s->value <= at && at - s->value < s->size_bytes &&
        !s->function)
      best = s;
  }
  if (best != NULL)
    buf_addf(b, "at %s+%" PRIu64, best->name, at - best->value);
  else
    buf_addf(b, "at 0x%" PRIx64, at);
}

// The text of a finding, its places filled in (report.h says how).
static char *words_of(const struct watch_report *r,
                      const struct watch_finding *f,
                      const struct binary *kernel)
{
  const struct object_symbol *function = object_function_at(kernel, f->pc);
  struct buf b = BUF_INIT;

  for (const char *p = kinds[f->kind].text; *p != '\0'; p++) {
    if (*p != '%') {
      buf_addc(&b, *p);
      continue;
    }
    p++;
    if (*p == 'C')
      buf_addf(&b, "%" PRIu64, (uint64_t)f->a);
    else if (*p == 'N')
      buf_addf(&b, "%" PRId64, (int64_t)f->c);
    else if (*p == 'X')
      buf_addf(&b, "0x%" PRIx64, (uint64_t)f->a);
    else
      add_lock(r, kernel, f->b, &b);
  }
  if (function != NULL)
    buf_addf(&b, " (in %s)", function->name);
  return buf_detach(&b);
}

void evidence_add_report(struct evidence *e, const struct binary *kernel)
{
  const struct watch_report *r = &e->report;

  for (unsigned i = 0; i < r->finding_count && i < WATCH_FINDINGS; i++) {
    const struct watch_finding *f = &r->findings[i];
    const struct object_symbol *function = object_function_at(kernel, f->pc);
    if (f->kind >= WATCH_KIND_COUNT)
      continue;
    GROW(e->findings, e->finding_count, e->finding_room);
    e->findings[e->finding_count++] = (struct found){
        .source = f->phase < WATCH_STORM ? "probe" : "run",
        .kind = kinds[f->kind].name,
        .note = kinds[f->kind].weight == WATCH_NOTE,
        .phase = f->phase,
        .count = f->count,
        .text = words_of(r, f, kernel),
        .function = function ? xstrdup(function->name) : NULL,
    };
  }
}
