// Draws each student's bugs. It looks at nothing but the catalogue, the lab
// file and the student's own draws, so no other student changes the result.
#include "labgen/lab/assign.h"

#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"

static bool allows(const struct texts *texts, const char *value)
{
  for (size_t i = 0; i < texts->count; i++)
    if (strcmp(texts->items[i], value) == 0)
      return true;
  return texts->count == 0;
}

static bool fits(const struct lab_pick *pick, const struct bug *bug)
{
  char difficulty[2] = {(char)('0' + bug->difficulty), '\0'};
  return bug->in_clinic && allows(&pick->classes, bug->class_id) &&
         allows(&pick->difficulty, difficulty);
}

static size_t count_bugs(const struct lab_pick *pick, const struct catalogue *c,
                         const char *class_id)
{
  size_t n = 0;
  for (size_t i = 0; i < c->bug_count; i++)
    n += fits(pick, &c->bugs[i]) && strcmp(c->bugs[i].class_id, class_id) == 0;
  return n;
}

static int check_pick(const struct lab_pick *pick, size_t before,
                      const struct catalogue *c, struct error *err)
{
  const struct place *at = &pick->at;
  size_t classes = 0;
  int rc = 0;
  for (size_t i = 0; i < pick->classes.count; i++) {
    size_t k = 0;
    while (k < c->class_count &&
           strcmp(c->classes[k].id, pick->classes.items[i]) != 0)
      k++;
    if (k < c->class_count)
      continue;
    const char *near = catalogue_near_class(c, pick->classes.items[i]);
    rc = error_at(err, LG_EINPUT, at->path, at->line, at->column,
                  "the catalogue has no class '%s'%s%s%s",
                  pick->classes.items[i], near ? " (did you mean '" : "",
                  near ? near : "", near ? "'?)" : "");
  }
  for (size_t k = 0; k < c->class_count; k++)
    classes += count_bugs(pick, c, c->classes[k].id) > 0;
  if (rc == 0 && classes <= before)
    rc = error_at(err, LG_EINPUT, at->path, at->line, at->column,
                  "this pick has bugs of %zu classes to choose from, but needs "
                  "%zu: the picks before it may take %zu",
                  classes, before + 1, before);
  return rc;
}

int assign_check(const struct lab_clinic *clinic, const struct catalogue *c,
                 struct error *err)
{
  int rc = 0;
  for (size_t i = 0; i < c->bug_count; i++) {
    const struct bug *b = &c->bugs[i];
    if (b->params.count > ASSIGN_MAX_PARAMS)
      rc = error_at(err, LG_EINPUT, b->at.path, b->at.line, b->at.column,
                    "more than %d parameters", ASSIGN_MAX_PARAMS);
  }
  for (size_t i = 0; i < clinic->picks.count; i++) {
    int one = check_pick(LIST_AT(clinic->picks, struct lab_pick, i), i, c, err);
    rc = rc ? rc : one;
  }
  return rc;
}

static const struct bug *draw_bug(const struct lab_pick *pick,
                                  const struct catalogue *c, struct draws *d,
                                  const struct assignment *taken,
                                  size_t taken_count)
{
  const char **classes = xcalloc(c->class_count + 1, sizeof(*classes));
  size_t count = 0;
  for (size_t k = 0; k < c->class_count; k++) {
    bool is_free = count_bugs(pick, c, c->classes[k].id) > 0;
    for (size_t i = 0; i < taken_count; i++)
      is_free =
          is_free && strcmp(taken[i].bug->class_id, c->classes[k].id) != 0;
    if (is_free)
      classes[count++] = c->classes[k].id;
  }
  const char *class_id = classes[draw_below(d, (uint32_t)count)];
  size_t left = draw_below(d, (uint32_t)count_bugs(pick, c, class_id));
  const struct bug *bug = NULL;
  for (size_t i = 0; !bug; i++)
    if (fits(pick, &c->bugs[i]) && strcmp(c->bugs[i].class_id, class_id) == 0 &&
        left-- == 0)
      bug = &c->bugs[i];
  free(classes);
  return bug;
}

void assign_bugs(const struct lab_clinic *clinic, const struct catalogue *c,
                 struct draws *d, struct assignment *ret)
{
  for (size_t i = 0; i < clinic->picks.count; i++) {
    const struct lab_pick *pick = LIST_AT(clinic->picks, struct lab_pick, i);
    ret[i] = (struct assignment){.bug = draw_bug(pick, c, d, ret, i)};
    for (size_t p = 0; p < ret[i].bug->params.count; p++)
      ret[i].choice[p] = draw_below(
          d, (uint32_t)LIST_AT(ret[i].bug->params, struct named_texts, p)
                 ->values.count);
  }
}
