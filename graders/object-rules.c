// Holds a student's object, and the student's part of a course's, to the rules.
// What the code does when it runs is not judged here: the watchers see that.

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graders/object.h"
#include "labgen/base/alloc.h"

#define RULES(member, doc_) \
  FIELD(struct object_rules, member, FIELD_TEXTS, .doc = doc_)

static const struct field rules_fields[] = {
    RULES(definitions, "functions that the file must define"),
    RULES(references, "names of the kernel that it may use"),
    RULES(outside, "of these, not to be used by the functions it must define"),
    RULES(spliced, "functions of a course's file that a submission may bring"),
    RULES(sections, "sections it may have; NAME* is any that begins so"),
    RULES(devices, "addresses it must not hold, as FIRST-LAST"),
    FIELD_END,
};

const struct schema object_rules_schema = {
    .name = "object rules",
    .doc = "What a student's compiled file may be.",
    .size = sizeof(struct object_rules),
    .fields = rules_fields,
};

// ---- the rules -----------------------------------------------------------------

static bool listed(const struct texts *names, const char *name)
{
  for (size_t i = 0; i < names->count; i++) {
    size_t len = strlen(names->items[i]);
    bool beginning = len > 0 && names->items[i][len - 1] == '*';
    if (beginning ? strncmp(names->items[i], name, len - 1) == 0
                  : strcmp(names->items[i], name) == 0)
      return true;
  }
  return false;
}

static void check_sections(const struct binary *o,
                           const struct object_rules *rules, struct buf *b)
{
  for (size_t i = 0; i < o->section_count; i++) {
    const struct object_section *s = &o->sections[i];
    if (s->allocated && s->size_bytes > 0 && !listed(&rules->sections, s->name))
      buf_addf(b, "puts code or data into section %s\n", s->name);
  }
}

static int by_name(const void *key, const void *element)
{
  return strcmp(key, *(const char *const *)element);
}

static void check_symbols(const struct binary *o,
                          const struct object_rules *rules,
                          const char *const *reserved, size_t count,
                          struct buf *b)
{
  for (size_t i = 0; i < rules->definitions.count; i++)
    if (object_find(o, rules->definitions.items[i]) == NULL)
      buf_addf(b, "does not define %s\n", rules->definitions.items[i]);

  for (size_t i = 0; i < o->symbol_count; i++) {
    const struct object_symbol *s = &o->symbols[i];
    if (!s->global || *s->name == '\0')
      continue;
    if (!s->defined && !listed(&rules->references, s->name))
      buf_addf(b, "uses %s, which is not the allocator's to use\n", s->name);
    if (s->defined && !listed(&rules->definitions, s->name) && count > 0 &&
        bsearch(s->name, reserved, count, sizeof *reserved, by_name))
      buf_addf(b, "defines %s, a name of the rest of the kernel\n", s->name);
  }
}

// The function that a place in a section belongs to, or NULL.
static const struct object_symbol *owner(const struct binary *o, size_t section,
                                         uint64_t offset)
{
  for (size_t i = 0; i < o->symbol_count; i++) {
    const struct object_symbol *s = &o->symbols[i];
    if (s->function && s->defined && s->section == section &&
        offset >= s->value && offset - s->value < s->size_bytes)
      return s;
  }
  return NULL;
}

static const struct object_symbol *function_named(const struct binary *o,
                                                  const char *name)
{
  for (size_t i = 0; i < o->symbol_count; i++)
    if (o->symbols[i].function && o->symbols[i].defined &&
        strcmp(o->symbols[i].name, name) == 0)
      return &o->symbols[i];
  return NULL;
}

// Follows calls from one function and reports those of a name that only
// functions beside the allocator's own may use.
static void follow(const struct binary *o, const struct object_rules *rules,
                   const struct object_symbol *from, bool *seen, struct buf *b)
{
  if (seen[from - o->symbols])
    return;
  seen[from - o->symbols] = true;
  for (size_t i = 0; i < o->relocation_count; i++) {
    const struct object_relocation *r = &o->relocations[i];
    if (owner(o, r->section, r->offset) != from)
      continue;
    if (listed(&rules->outside, r->symbol))
      buf_addf(b, "%s() uses %s, which is for the Ctrl-P line only\n",
               from->name, r->symbol);
    const struct object_symbol *to = function_named(o, r->symbol);
    if (to != NULL)
      follow(o, rules, to, seen, b);
  }
}

static void check_outside(const struct binary *o,
                          const struct object_rules *rules, struct buf *b)
{
  bool *seen = xcalloc(o->symbol_count + 1, sizeof *seen);

  for (size_t i = 0; i < rules->definitions.count; i++) {
    const struct object_symbol *s = object_find(o, rules->definitions.items[i]);
    if (s != NULL)
      follow(o, rules, s, seen, b);
  }
  free(seen);
}

// ---- the code ------------------------------------------------------------------

// Instructions that have no place in an allocator, by how they begin.
static const struct {
  const char *start;
  const char *problem;
} forbidden[] = {
    {"csr", "touches a control register itself"},
    {"rdtime", "reads the clock"},
    {"rdcycle", "reads a counter"},
    {"rdinstret", "reads a counter"},
    {"ecall", "makes an environment call"},
    {"ebreak", "has a breakpoint"},
    {"mret", "returns from a trap"},
    {"sret", "returns from a trap"},
    {"wfi", "waits for an interrupt"},
    {"sfence", "changes the page tables' cache"},
};

static bool starts(const char *s, const char *with)
{
  return strncmp(s, with, strlen(with)) == 0;
}

// Reading whether interrupts are on is no harm, however it is written.
static bool harmless_read(const char *operation, const char *operands)
{
  size_t register_len = strcspn(operands, ",");
  return starts(operation, "csrr\t") &&
         strcmp(operands + register_len, ",sstatus") == 0;
}

static bool has_operand(const char *operands, const char *name)
{
  size_t len = strlen(name);
  for (const char *at = operands; (at = strstr(at, name)) != NULL; at += len) {
    bool begins = at == operands || strchr(",( \t", at[-1]) != NULL;
    if (begins && (at[len] == '\0' || strchr(",) \t", at[len]) != NULL))
      return true;
  }
  return false;
}

static bool is_device(const struct texts *devices, uint64_t address)
{
  for (size_t i = 0; i < devices->count; i++) {
    char *rest;
    uint64_t first = strtoull(devices->items[i], &rest, 0);
    uint64_t last = *rest == '-' ? strtoull(rest + 1, NULL, 0) : first;
    if (address >= first && address <= last)
      return true;
  }
  return false;
}

// One instruction: `operation` is "mnemonic\toperands".
static void check_instruction(const char *function, const char *operation,
                              const struct object_rules *rules, struct buf *b)
{
  const char *tab = strchr(operation, '\t');
  const char *operands = tab != NULL ? tab + 1 : "";

  for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
    if (starts(operation, forbidden[i].start) &&
        !harmless_read(operation, operands))
      buf_addf(b, "%s() %s (%.*s %s)\n", function, forbidden[i].problem,
               (int)strcspn(operation, "\t"), operation, operands);
  if (has_operand(operands, "tp"))
    buf_addf(b, "%s() uses tp itself in place of cpuid() (%.*s %s)\n", function,
             (int)strcspn(operation, "\t"), operation, operands);
  if (starts(operation, "lui\t")) {
    uint64_t page = strtoull(operands + strcspn(operands, ",") + 1, NULL, 0);
    if (is_device(&rules->devices, page << 12))
      buf_addf(b, "%s() holds a device's address (0x%" PRIx64 ")\n", function,
               page << 12);
  }
}

// Walks objdump's lines: "ADDRESS <FUNCTION>:", or a label within one, and
// "ADDRESS:\tBYTES\tMNEMONIC\tOPERANDS". `wanted` says whose code is looked at; NULL: all.
static void check_code(const char *disassembly,
                       const struct object_rules *rules,
                       bool (*wanted)(const void *arg, const char *function),
                       const void *arg, struct buf *b)
{
  char function[64] = "?";

  for (const char *line = disassembly; *line != '\0';) {
    size_t len = strcspn(line, "\n");
    char *text = xstrndup(line, len);
    char *open = strchr(text, '<'), *tab = strchr(text, '\t');
    if (tab == NULL && open != NULL && len > 2 &&
        strcmp(text + len - 2, ">:") == 0) {
      if (open[1] != '.')
        snprintf(function, sizeof function, "%.*s", (int)strcspn(open + 1, ">"),
                 open + 1);
    } else if (tab != NULL && (tab = strchr(tab + 1, '\t')) != NULL &&
               (wanted == NULL || wanted(arg, function))) {
      char *comment = strstr(tab, " # ");
      if (comment != NULL)
        *comment = '\0';
      check_instruction(function, tab + 1, rules, b);
    }
    free(text);
    line += len + (line[len] == '\n');
  }
}

void object_check(const struct binary *o, const struct object_rules *rules,
                  const char *const *reserved, size_t reserved_count,
                  const char *disassembly, struct buf *ret_problems)
{
  check_sections(o, rules, ret_problems);
  check_symbols(o, rules, reserved, reserved_count, ret_problems);
  check_outside(o, rules, ret_problems);
  check_code(disassembly, rules, NULL, NULL, ret_problems);
}

// ---- a student's functions in a course's file ------------------------------------

// Who refers to what, in code and data that are there when the kernel runs.
struct use {
  const struct object_symbol *from;  // function; NULL: none
  const char *symbol;
};

struct uses {
  struct use *items;  // owned
  size_t count;
};

// Of labels and sections, which are the compiler's, nothing can be said.
static struct uses uses_of(const struct binary *o)
{
  struct uses u = {xcalloc(o->relocation_count + 1, sizeof *u.items), 0};

  for (size_t i = 0; i < o->relocation_count; i++) {
    const struct object_relocation *r = &o->relocations[i];
    if (o->sections[r->section].allocated && strchr(".", *r->symbol) == NULL)
      u.items[u.count++] =
          (struct use){owner(o, r->section, r->offset), r->symbol};
  }
  return u;
}

// Whether two names are the same but for what the compiler adds to parts and
// copies of functions (NAME.part.0) and to variables of functions (NAME.1).
static bool same_base(const char *a, const char *b)
{
  size_t len = strcspn(a, ".");
  return len == strcspn(b, ".") && strncmp(a, b, len) == 0;
}

static bool same_owner(const struct object_symbol *a,
                       const struct object_symbol *b)
{
  return a == NULL || b == NULL ? a == b : same_base(a->name, b->name);
}

static bool has_use(const struct uses *u, const struct use *wanted)
{
  for (size_t i = 0; i < u->count; i++)
    if (same_owner(u->items[i].from, wanted->from) &&
        same_base(u->items[i].symbol, wanted->symbol))
      return true;
  return false;
}

static bool defines_name(const struct binary *o, const char *name)
{
  for (size_t i = 0; i < o->symbol_count; i++)
    if (o->symbols[i].defined && same_base(o->symbols[i].name, name))
      return true;
  return false;
}

struct splice_check {
  const struct object_splice *s;
  const struct object_rules *rules;
  struct uses course, spliced;
};

static bool is_spliced(const struct object_rules *rules, const char *name)
{
  for (size_t i = 0; i < rules->spliced.count; i++)
    if (same_base(rules->spliced.items[i], name))
      return true;
  return false;
}

static bool is_students(const void *arg, const char *function)
{
  const struct splice_check *c = arg;
  return is_spliced(c->rules, function) ||
         !defines_name(c->s->course, function);
}

// What a compiler may call for an assignment or an initializer.
static bool is_compilers(const char *symbol)
{
  return strcmp(symbol, "memcpy") == 0 || strcmp(symbol, "memset") == 0 ||
         strcmp(symbol, "memmove") == 0 || strcmp(symbol, "memcmp") == 0;
}

// Whether a function of the student's may use a name. A function's own static
// variable is out of reach for all others.
static bool may_use(const struct splice_check *c, const char *symbol)
{
  const struct binary *spliced = c->s->spliced;
  bool variable_of_function =
      strchr(symbol, '.') != NULL && function_named(spliced, symbol) == NULL;

  if (variable_of_function || is_compilers(symbol) ||
      listed(&c->rules->outside, symbol) ||
      (is_students(c, symbol) && defines_name(spliced, symbol)))
    return true;
  for (size_t i = 0; i < c->course.count; i++) {
    const struct use *u = &c->course.items[i];
    if (u->from != NULL && is_spliced(c->rules, u->from->name) &&
        same_base(u->symbol, symbol))
      return true;
  }
  return object_find(c->s->student, symbol) != NULL &&
         !listed(&c->rules->definitions, symbol);
}

// Adds a line that is not there yet.
static void add_once(struct buf *b, char *line)
{
  if (strstr(buf_str(b), line) == NULL)
    buf_adds(b, line);
  free(line);
}

static void check_uses(const struct splice_check *c, struct buf *b)
{
  for (size_t i = 0; i < c->spliced.count; i++) {
    const struct use *u = &c->spliced.items[i];
    if (has_use(&c->course, u))
      continue;
    if (u->from != NULL && !is_students(c, u->from->name))
      add_once(
          b, xasprintf("changes %s(): it uses %s\n", u->from->name, u->symbol));
    else if (!may_use(c, u->symbol))
      add_once(b, xasprintf("%s%s uses %s; beside what was used there before, "
                            "only the allocator's own declarations are\n",
                            u->from ? u->from->name : "a table",
                            u->from ? "()" : "", u->symbol));
  }
  for (size_t i = 0; i < c->course.count; i++) {
    const struct use *u = &c->course.items[i];
    if (u->from != NULL && !is_spliced(c->rules, u->from->name) &&
        !has_use(&c->spliced, u))
      add_once(b, xasprintf("changes %s(): it no longer uses %s\n",
                            u->from->name, u->symbol));
  }
}

static void check_new_sections(const struct splice_check *c, struct buf *b)
{
  const struct binary *o = c->s->spliced, *course = c->s->course;

  for (size_t i = 0; i < o->section_count; i++) {
    const struct object_section *s = &o->sections[i];
    bool known = !s->allocated || s->size_bytes == 0 ||
                 listed(&c->rules->sections, s->name);
    for (size_t j = 0; j < course->section_count && !known; j++)
      known = strcmp(course->sections[j].name, s->name) == 0;
    if (!known)
      buf_addf(b, "puts code or data into section %s\n", s->name);
  }
}

void object_check_splice(const struct object_splice *s,
                         const struct object_rules *rules,
                         struct buf *ret_problems)
{
  struct splice_check c = {s, rules, uses_of(s->course), uses_of(s->spliced)};

  check_new_sections(&c, ret_problems);
  check_uses(&c, ret_problems);
  check_code(s->disassembly, rules, is_students, &c, ret_problems);
  free(c.course.items);
  free(c.spliced.items);
}
