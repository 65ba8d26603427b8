// Holds what the explorer said of a subject against what the subject's file
// declares. Deliberately by kind alone: where in the source a finding shows, and
// how often, may change with the programs that are run.
#include "graders/claim.h"

#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"

static const char *word(bool note)
{
  return note ? "note" : "finding";
}

static const struct said *find(const struct explore_said *s, enum ex_kind kind,
                               bool note)
{
  for (size_t i = 0; i < s->count; i++)
    if (s->all[i].kind == kind && s->all[i].note == note)
      return &s->all[i];
  return NULL;
}

static void add(struct explore_said *s, enum ex_kind kind, bool note,
                const char *text)
{
  if (find(s, kind, note) != NULL)
    return;
  GROW(s->all, s->count, s->room);
  s->all[s->count++] = (struct said){
      .kind = kind, .note = note, .text = xstrndup(text, strcspn(text, "\n"))};
}

struct explore_said said_of_evidence(const struct evidence *e)
{
  struct explore_said s = {.explored = e->explored};

  if (e->unexplorable)
    s.refused = xstrdup(buf_str(&e->explore_words));
  for (size_t i = 0; i < e->finding_count; i++) {
    const struct found *f = &e->findings[i];
    int kind = found_by_explorer(f) ? ex_kind_find(f->kind) : -1;
    if (kind >= 0)
      add(&s, (enum ex_kind)kind, f->note, f->text);
  }
  return s;
}

struct explore_said said_of_stories(const struct stories *stories)
{
  struct explore_said s = {.explored = true};

  for (size_t i = 0; i < stories->findings; i++)
    add(&s, stories->finding[i].kind, false, stories->finding[i].text);
  for (size_t i = 0; i < stories->notes; i++)
    add(&s, stories->note[i].kind, true, stories->note[i].text);
  return s;
}

void said_release(struct explore_said *s)
{
  for (size_t i = 0; i < s->count; i++)
    free(s->all[i].text);
  free(s->all);
  free(s->refused);
  *s = (struct explore_said){0};
}

// The text quotes a student's names: any bytes, and JSON wants UTF-8.
static json_t *clean_text(const char *text)
{
  struct buf clean = BUF_INIT;
  buf_add_terminal(&clean, text, strlen(text));
  json_t *json = json_string(buf_str(&clean));
  buf_release(&clean);
  return json;
}

json_t *said_write(const struct explore_said *s)
{
  json_t *all = json_array();

  for (size_t i = 0; i < s->count; i++)
    json_array_append_new(
        all,
        json_pack("{s:s, s:b, s:o}", "kind", ex_kind_name(s->all[i].kind),
                  "note", s->all[i].note, "text", clean_text(s->all[i].text)));
  json_t *json = json_pack("{s:b, s:o}", "explored", s->explored, "said", all);
  if (s->refused != NULL)
    json_object_set_new(json, "refused", clean_text(s->refused));
  return json;
}

bool said_read(const json_t *from, struct explore_said *ret)
{
  const json_t *all = json_object_get(from, "said");
  const json_t *explored = json_object_get(from, "explored");
  const char *refused = json_string_value(json_object_get(from, "refused"));
  struct explore_said s = {.explored = json_is_true(explored)};
  bool fits = json_is_boolean(explored) && json_is_array(all);

  for (size_t i = 0; fits && i < json_array_size(all); i++) {
    const json_t *one = json_array_get(all, i);
    const char *kind = json_string_value(json_object_get(one, "kind"));
    const char *text = json_string_value(json_object_get(one, "text"));
    int number = kind ? ex_kind_find(kind) : -1;
    fits = number >= 0 && text != NULL;
    if (fits)
      add(&s, (enum ex_kind)number, json_is_true(json_object_get(one, "note")),
          text);
  }
  if (!fits) {
    said_release(&s);
    return false;
  }
  s.refused = refused ? xstrdup(refused) : NULL;
  *ret = s;
  return true;
}

int said_explored(const struct explore_said *const *runs, int count)
{
  int explored = 0;
  for (int i = 0; i < count; i++)
    explored += runs[i]->explored;
  return explored;
}

int said_count(const struct explore_said *const *runs, int count,
               enum ex_kind kind, bool note)
{
  int times = 0;
  for (int i = 0; i < count; i++)
    times += runs[i]->explored && find(runs[i], kind, note) != NULL;
  return times;
}

static const struct texts *names_of(const struct subject *s, bool note)
{
  return note ? &s->explore.notes : &s->explore.findings;
}

bool said_is_claimed(const struct subject *s, enum ex_kind kind, bool note)
{
  const struct texts *names = names_of(s, note);
  for (size_t i = 0; i < names->count; i++)
    if (strcmp(names->items[i], ex_kind_name(kind)) == 0)
      return true;
  return false;
}

// Where the subject declares it, or would have to.
static void add_claim(const struct subject *s, bool claimed, struct buf *ret)
{
  const struct place *at = s->explore.at.path ? &s->explore.at : &s->at;
  if (at->path == NULL)
    buf_adds(ret, "nothing declares");
  else
    buf_addf(ret, "%s:%zu %s", at->path, at->line,
             claimed ? "declares" : "does not declare");
}

static size_t add_unknown_names(const struct subject *s, bool note,
                                struct buf *ret)
{
  const struct texts *names = names_of(s, note);
  size_t count = 0;

  for (size_t i = 0; i < names->count; i++) {
    if (ex_kind_find(names->items[i]) >= 0)
      continue;
    buf_addf(ret, "%s: '%s', which ", s->id, names->items[i]);
    add_claim(s, true, ret);
    buf_addf(ret, ", is no %s of the explorer\n", word(note));
    count++;
  }
  return count;
}

// The first run's words of it.
static const char *example(const struct explore_said *const *runs, int count,
                           enum ex_kind kind, bool note)
{
  for (int i = 0; i < count; i++) {
    const struct said *said = find(runs[i], kind, note);
    if (runs[i]->explored && said != NULL)
      return said->text;
  }
  return "";
}

static size_t compare(const struct subject *s,
                      const struct explore_said *const *runs, int count,
                      enum ex_kind kind, bool note, struct buf *ret)
{
  int explored = said_explored(runs, count);
  int times = said_count(runs, count, kind, note);
  bool claimed = said_is_claimed(s, kind, note);

  if (claimed ? times == explored : times == 0)
    return 0;
  buf_addf(ret, "%s: the explorer's %s '%s', which ", s->id, word(note),
           ex_kind_name(kind));
  add_claim(s, claimed, ret);
  buf_addf(ret, ", came in %d of %d%s%s\n", times, explored,
           claimed ? "" : ": ",
           claimed ? "" : example(runs, count, kind, note));
  return 1;
}

size_t claim_differences(const struct subject *s,
                         const struct explore_said *const *runs, int count,
                         struct buf *ret)
{
  size_t differences = 0;

  for (int i = 0; i < count; i++) {
    if (runs[i]->refused == NULL)
      continue;
    buf_addf(ret, "%s: the explorer cannot take it: %.*s\n", s->id,
             (int)strcspn(runs[i]->refused, "\n"), runs[i]->refused);
    return 1;
  }
  for (int note = 0; note <= 1; note++) {
    differences += add_unknown_names(s, note, ret);
    for (int kind = 0; kind < EX_KIND_COUNT; kind++)
      differences += compare(s, runs, count, (enum ex_kind)kind, note, ret);
  }
  return differences;
}
