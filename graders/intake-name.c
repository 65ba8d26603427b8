// Takes names apart and looks students up. It does not look at files.
#include "graders/intake-name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "labgen/base/alloc.h"
#include "labgen/lab/schema.h"

// --- names ------------------------------------------------------------------

size_t intake_stem(const char *name)
{
  static const char *const endings[] = {".tar.gz", ".tar.xz", ".tar.zst",
                                        ".tgz",    ".txz",    ".tzst",
                                        ".tar",    ".zip",    ".tar.bz2"};
  size_t len = strlen(name);
  for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
    size_t n = strlen(endings[i]);
    if (len > n && strcasecmp(name + len - n, endings[i]) == 0)
      return len - n;
  }
  return len;
}

// The start of the last run of digits that ends at `end`; `end` for none.
static size_t digits_before(const char *s, size_t end)
{
  while (end > 0 && isdigit((unsigned char)s[end - 1]))
    end--;
  return end;
}

// "-2" before the ending, which Canvas adds to a file that comes again.
static uint64_t attempt_at_end(const char *name, size_t *ret_len)
{
  size_t len = *ret_len, from = digits_before(name, len);
  if (from == len || from == 0 || len - from > 4 ||
      !strchr("-_. ", name[from - 1]))
    return 0;
  *ret_len = from - 1;
  return strtoull(name + from, NULL, 10);
}

static bool parse_moodle(const char *name, struct intake_name *ret)
{
  const char *at = strstr(name, "_assignsubmission_");
  if (!at || at == name)
    return false;
  size_t end = (size_t)(at - name), from = digits_before(name, end);
  if (from == end || from < 2 || name[from - 1] != '_')
    return false;
  const char *rest = at + strlen("_assignsubmission_");
  rest += strcspn(rest, "_");
  rest += *rest == '_';
  ret->who = xstrndup(name, from - 1);
  ret->given = xstrdup(rest);
  ret->attempt = strtoull(name + from, NULL, 10);
  if (strncmp(ret->who, "Participant_", 12) == 0)
    ret->account = xstrdup(ret->who + 12);
  return true;
}

// A run of digits and a '_' at `*at`; moves behind it.
static bool skip_number(const char *name, size_t *at)
{
  size_t n = strspn(name + *at, "0123456789");
  if (n == 0 || name[*at + n] != '_')
    return false;
  *at += n + 1;
  return true;
}

// "anon_<id>[_LATE]_<attachment id>_<file name>", without a user's number.
static bool parse_anonymous(const char *name, struct intake_name *ret)
{
  size_t id = 5, n = 0;
  if (strncmp(name, "anon_", id) != 0)
    return false;
  while (isalnum((unsigned char)name[id + n]))
    n++;
  size_t at = id + n + 1;
  if (n == 0 || name[id + n] != '_')
    return false;
  bool late = strncmp(name + at, "LATE_", 5) == 0;
  at += late ? 5 : 0;
  size_t attachment = at;
  if (!skip_number(name, &at) || !name[at])
    return false;
  ret->late = late;
  ret->who = xstrndup(name, id + n);
  ret->account = xstrndup(name + id, n);
  ret->attempt = strtoull(name + attachment, NULL, 10);
  ret->given = xstrdup(name + at);
  return true;
}

static bool parse_canvas(const char *name, struct intake_name *ret)
{
  // The name has no '_': look for "_<digits>_<digits>_".
  for (const char *at = strchr(name, '_'); at; at = strchr(at + 1, '_')) {
    size_t account = (size_t)(at - name) + 1, attachment = account;
    if (!skip_number(name, &attachment))
      continue;
    size_t given = attachment;
    if (!skip_number(name, &given) || !name[given] || at == name)
      continue;
    size_t who = (size_t)(at - name);
    ret->late = who > 5 && strncmp(at - 5, "_LATE", 5) == 0;
    ret->who = xstrndup(name, ret->late ? who - 5 : who);
    ret->account = xstrndup(name + account, attachment - account - 1);
    ret->attempt = strtoull(name + attachment, NULL, 10);
    ret->given = xstrdup(name + given);
    return true;
  }
  return false;
}

void intake_name_parse(const char *name, struct intake_name *ret)
{
  *ret = (struct intake_name){0};
  if (parse_moodle(name, ret) || parse_anonymous(name, ret) ||
      parse_canvas(name, ret))
    return;
  size_t len = intake_stem(name);
  if (len > 5 && strncasecmp(name + len - 5, "_LATE", 5) == 0) {
    ret->late = true;
    len -= 5;
  }
  ret->attempt = attempt_at_end(name, &len);
  if (ret->attempt && len > 8 &&
      strncasecmp(name + len - 8, "_attempt", 8) == 0)
    len -= 8;
  ret->who = xstrndup(name, len);
  ret->given = xstrdup(name);
}

void intake_name_release(struct intake_name *n)
{
  free(n->who);
  free(n->account);
  free(n->given);
  *n = (struct intake_name){0};
}

// --- people -----------------------------------------------------------------

// How sure a key is; a better one that fits decides.
enum level { BY_ID, BY_COLUMN, BY_EMAIL, BY_NAME, LEVELS };

struct key {
  char *text;  // owned; folded
  enum level level;
  size_t student;
};

struct people {
  const struct roster *roster;
  struct key *keys;  // sorted
  size_t count, room;
};

static int by_text(const void *a, const void *b)
{
  const struct key *x = a, *y = b;
  int order = strcmp(x->text, y->text);
  if (order == 0)
    order = (x->level > y->level) - (x->level < y->level);
  return order ? order : (x->student > y->student) - (x->student < y->student);
}

static void add_key(struct people *p, enum level level, size_t student,
                    char *taken)
{
  if (!*taken) {
    free(taken);
    return;
  }
  GROW(p->keys, p->count, p->room);
  p->keys[p->count++] = (struct key){taken, level, student};
}

static char *lower(const char *s, size_t len)
{
  char *copy = xstrndup(s, len);
  for (char *c = copy; *c; c++)
    *c = (char)tolower((unsigned char)*c);
  return copy;
}

// Only letters and digits, in lower case. Platforms differ in what they do to
// letters beyond ASCII: `ascii` leaves them out.
static char *fold(const char *s, size_t len, bool ascii)
{
  struct buf b = BUF_INIT;
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)s[i];
    if (isalnum(c))
      buf_addc(&b, (char)tolower(c));
    else if (c >= 0x80 && !ascii)
      buf_addc(&b, (char)c);
  }
  return buf_detach(&b);
}

// "Ann Marie Demo" is also "Demo Ann Marie" and "Marie Demo Ann".
static void add_name(struct people *p, size_t student, const char *name)
{
  size_t len = strlen(name);
  for (size_t cut = 0; cut < len; cut += strcspn(name + cut, " ,") + 1) {
    struct buf turned = BUF_INIT;
    buf_add(&turned, name + cut, len - cut);
    buf_add(&turned, name, cut);
    char *whole = fold(turned.data, turned.len, false);
    char *ascii = fold(turned.data, turned.len, true);
    if (strcmp(whole, ascii) == 0)
      free(ascii);
    else
      add_key(p, BY_NAME, student, ascii);
    add_key(p, BY_NAME, student, whole);
    buf_release(&turned);
  }
}

struct people *people_index(const struct roster *roster)
{
  struct people *p = xcalloc(1, sizeof(*p));
  p->roster = roster;
  for (size_t i = 0; i < roster->count; i++) {
    const struct student *s = &roster->students[i];
    size_t len = strlen(s->email);
    add_key(p, BY_ID, i, lower(s->id, strlen(s->id)));
    add_key(p, BY_EMAIL, i, lower(s->email, len));
    add_key(p, BY_EMAIL, i, lower(s->email, strcspn(s->email, "@")));
    for (size_t c = 0; c < roster->column_count; c++)
      add_key(p, BY_COLUMN, i, lower(s->more[c], strlen(s->more[c])));
    add_name(p, i, s->name);
  }
  if (p->count)
    qsort(p->keys, p->count, sizeof(*p->keys), by_text);
  return p;
}

void people_free(struct people *p)
{
  if (!p)
    return;
  for (size_t i = 0; i < p->count; i++)
    free(p->keys[i].text);
  free(p->keys);
  free(p);
}

// What a look-up found so far.
struct found {
  const struct people *people;
  size_t student;      // the first
  struct buf *claims;  // ids of all, as words
  size_t count;
};

// Adds everybody whom the text fits at one level.
static void look_up(struct found *f, enum level level, char *taken)
{
  const struct people *p = f->people;
  size_t low = 0, high = p->count;
  struct key wanted = {taken, level, 0};
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (by_text(&p->keys[middle], &wanted) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  size_t before = (size_t)-1;
  for (; low < p->count && p->keys[low].level == level &&
         strcmp(p->keys[low].text, taken) == 0;
       low++) {
    size_t student = p->keys[low].student;
    if (student == before || (f->count && student == f->student))
      continue;
    before = student;
    if (f->count++ == 0)
      f->student = student;
    buf_addf(f->claims, "%s'%s'", f->claims->len ? " and " : "",
             p->roster->students[student].id);
  }
  free(taken);
}

static void suggest(const struct people *p, const char *who, struct buf *ret)
{
  const char **ids = xcalloc(p->roster->count + 1, sizeof(*ids));
  for (size_t i = 0; i < p->roster->count; i++)
    ids[i] = p->roster->students[i].id;
  const char *near = nearest_name(who, ids, p->roster->count);
  buf_addf(ret,
           "nobody in the roster is '%s' by id, name, e-mail or a further "
           "column",
           who);
  if (near)
    buf_addf(ret, " (did you mean '%s'?)", near);
  free(ids);
}

const struct student *people_find(const struct people *p, const char *who,
                                  const char *account, struct buf *ret_problem)
{
  struct buf claims = BUF_INIT;
  struct found f = {.people = p, .claims = &claims};
  size_t len = strlen(who);
  for (enum level level = BY_ID; level < BY_NAME && f.count == 0; level++)
    look_up(&f, level, lower(who, len));
  if (f.count == 0)
    look_up(&f, BY_NAME, fold(who, len, false));
  // A platform's number must not contradict the name; a column that holds it
  // for several students holds something else.
  if (account) {
    struct buf others = BUF_INIT;
    struct found by_account = {.people = p, .claims = &others};
    look_up(&by_account, BY_COLUMN, lower(account, strlen(account)));
    if (by_account.count == 1)
      look_up(&f, BY_COLUMN, lower(account, strlen(account)));
    buf_release(&others);
  }
  if (f.count > 1)
    buf_addf(ret_problem, "it fits more than one student: %s",
             buf_str(&claims));
  if (f.count == 0)
    suggest(p, who, ret_problem);
  buf_release(&claims);
  return f.count == 1 ? &p->roster->students[f.student] : NULL;
}
