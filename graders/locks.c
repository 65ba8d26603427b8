// Gives locks their names and adds up what harts did with them. It judges
// nothing: which counts are too high is the rubric's to say.
#include "graders/locks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"

// Where struct spinlock, {uint locked; char *name; struct cpu *cpu}, has the
// pointer to its name.
enum { NAME_OFFSET = 8 };

// ---- names ------------------------------------------------------------------

// Reads the name that a lock in guest memory has; false when it has none, or
// one that cannot be shown.
static bool read_name(const struct guest *guest, uint64_t lock,
                      char ret[LOCK_NAME_BYTES])
{
  uint8_t bytes[8];
  uint64_t at = 0;

  if (!guest ||
      guest_copy(guest, lock + NAME_OFFSET, sizeof(bytes), bytes) != 0)
    return false;
  for (int i = 7; i >= 0; i--)
    at = at << 8 | bytes[i];
  for (size_t len = 0; len < LOCK_NAME_BYTES; len++) {
    if (guest_copy(guest, at + len, 1, &ret[len]) != 0)
      return false;
    if (ret[len] == 0)
      return len > 0;
    if (ret[len] == ' ')
      ret[len] = '_';  // a name is one word of a line
    if (ret[len] < '!' || ret[len] > '~' || ret[len] == '[')
      return false;
  }
  return false;
}

// The variable of the kernel that an address lies in, or NULL.
static const struct object_symbol *variable_at(const struct binary *kernel,
                                               uint64_t address)
{
  for (size_t i = 0; i < kernel->symbol_count; i++) {
    const struct object_symbol *s = &kernel->symbols[i];
    if (s->defined && !s->function && address >= s->value &&
        address - s->value < s->size_bytes)
      return s;
  }
  return NULL;
}

static void name_by_place(const struct binary *kernel, uint64_t lock,
                          char ret[LOCK_NAME_BYTES])
{
  enum { SYMBOL_MAX = LOCK_NAME_BYTES - 14 };
  const struct object_symbol *s = variable_at(kernel, lock);
  uint64_t offset = s ? lock - s->value : 0;

  if (s && offset == 0)
    snprintf(ret, LOCK_NAME_BYTES, "[%.*s]", SYMBOL_MAX, s->name);
  else if (s)
    snprintf(ret, LOCK_NAME_BYTES, "[%.*s+0x%x]", SYMBOL_MAX, s->name,
             (unsigned)offset);
  else
    snprintf(ret, LOCK_NAME_BYTES, "[0x%" PRIx64 "]", lock);
}

static int by_lock(const void *a, const void *b)
{
  const struct lock_name *x = a, *y = b;

  return (x->lock > y->lock) - (x->lock < y->lock);
}

void lock_names_read(const struct plugin_interval *interval,
                     const struct binary *kernel, const struct guest *guest,
                     struct lock_names *ret)
{
  struct lock_names n = {0};

  for (size_t i = 0; i < interval->lock_count; i++) {
    GROW(n.names, n.count, n.room);
    n.names[n.count++] = (struct lock_name){.lock = interval->locks[i].lock};
  }
  if (n.count > 0)
    qsort(n.names, n.count, sizeof(*n.names), by_lock);
  size_t kept = 0;
  for (size_t i = 0; i < n.count; i++)
    if (i == 0 || n.names[i].lock != n.names[kept - 1].lock)
      n.names[kept++] = n.names[i];
  n.count = kept;
  for (size_t i = 0; i < n.count; i++)
    if (!read_name(guest, n.names[i].lock, n.names[i].name))
      name_by_place(kernel, n.names[i].lock, n.names[i].name);
  *ret = n;
}

void lock_names_release(struct lock_names *n)
{
  free(n->names);
  *n = (struct lock_names){0};
}

const char *lock_names_find(const struct lock_names *n, uint64_t lock)
{
  struct lock_name key = {.lock = lock}, *found = NULL;

  if (n->count > 0)
    found = bsearch(&key, n->names, n->count, sizeof(*n->names), by_lock);
  return found ? found->name : "[unknown]";
}

// ---- the report -------------------------------------------------------------

// A line of the report. `hart` is -1 for all harts.
struct sum {
  const char *name;
  int hart;
  struct lock_use use;
};

static void add_use(struct sum *to, const struct lock_use *use)
{
  to->use.acquired += use->acquired;
  to->use.contended += use->contended;
  to->use.spins += use->spins;
  if (use->longest > to->use.longest)
    to->use.longest = use->longest;
}

// Lines for all harts first, then the most acquired, then by name and hart.
static int by_line(const void *a, const void *b)
{
  const struct sum *x = a, *y = b;

  if ((x->hart < 0) != (y->hart < 0))
    return (x->hart >= 0) - (y->hart >= 0);
  if (x->use.acquired != y->use.acquired)
    return x->use.acquired < y->use.acquired ? 1 : -1;
  int names = strcmp(x->name, y->name);
  return names != 0 ? names : x->hart - y->hart;
}

static int by_name_and_hart(const void *a, const void *b)
{
  const struct sum *x = a, *y = b;
  int names = strcmp(x->name, y->name);

  return names != 0 ? names : x->hart - y->hart;
}

void locks_print(const struct plugin_interval *interval,
                 const struct lock_names *n, struct buf *ret)
{
  size_t count = 0, kept = 0;
  struct sum *sums = xcalloc(2 * interval->lock_count + 1, sizeof(*sums));

  // Each use counts in a line of its hart and in one of all harts.
  for (size_t i = 0; i < interval->lock_count; i++) {
    const struct lock_use *use = &interval->locks[i];
    const char *name = lock_names_find(n, use->lock);
    sums[count++] = (struct sum){name, -1, *use};
    sums[count++] = (struct sum){name, (int)use->hart, *use};
  }
  qsort(sums, count, sizeof(*sums), by_name_and_hart);
  for (size_t i = 0; i < count; i++) {
    if (kept > 0 && by_name_and_hart(&sums[i], &sums[kept - 1]) == 0)
      add_use(&sums[kept - 1], &sums[i].use);
    else
      sums[kept++] = sums[i];
  }
  qsort(sums, kept, sizeof(*sums), by_line);
  for (size_t i = 0; i < kept; i++) {
    const struct sum *s = &sums[i];
    if (s->hart < 0)
      buf_addf(ret, "LS %s", s->name);
    else
      buf_addf(ret, "LSH hart %d %s", s->hart, s->name);
    buf_addf(ret, " acq %" PRIu64 " contended %" PRIu64 " spins %" PRIu64,
             s->use.acquired, s->use.contended, s->use.spins);
    if (s->hart < 0)
      buf_addf(ret, " maxspins %" PRIu64, s->use.longest);
    buf_addc(ret, '\n');
  }
  free(sums);
}

void locks_traffic(const struct plugin_interval *interval,
                   const struct lock_names *n, const char *prefix,
                   struct lock_traffic *ret)
{
  struct lock_traffic t = {0};
  size_t len = strlen(prefix);

  for (size_t i = 0; i < interval->lock_count; i++) {
    const struct lock_use *use = &interval->locks[i];
    const char *name = lock_names_find(n, use->lock);
    if (strncmp(name, prefix, len) != 0)
      continue;
    char *rest;
    unsigned long cpu = strtoul(name + len, &rest, 10);
    if (name[len] < '0' || name[len] > '9' || *rest != 0)
      t.shared += use->acquired;
    else if (cpu != use->hart)
      t.remote += use->acquired;
    t.acquired += use->acquired;
    t.contended += use->contended;
    t.spins += use->spins;
  }
  *ret = t;
}
