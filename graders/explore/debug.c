// Reads DWARF through libdw (elfutils).
//
// Deliberately of the code under test alone: glue.c is compiled without
// debugging information, so every variable here is the student's.
#include "graders/explore/debug.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "labgen/base/alloc.h"

enum { DEPTH_MOST = 4, MEMBERS_MOST = 200 };

static bool attr_number(Dwarf_Die *die, unsigned name, Dwarf_Word *ret)
{
  Dwarf_Attribute attr;
  return dwarf_attr_integrate(die, name, &attr) &&
         dwarf_formudata(&attr, ret) == 0;
}

// The type of a variable or member without typedefs and qualifiers.
static bool type_of(Dwarf_Die *die, Dwarf_Die *ret)
{
  Dwarf_Attribute attr;
  Dwarf_Die type;
  return dwarf_attr_integrate(die, DW_AT_type, &attr) &&
         dwarf_formref_die(&attr, &type) && dwarf_peel_type(&type, ret) == 0;
}

// Elements in the first dimension of an array type.
static size_t array_count(Dwarf_Die *array)
{
  Dwarf_Die range;
  Dwarf_Word v;
  if (dwarf_child(array, &range) != 0)
    return 1;
  if (attr_number(&range, DW_AT_count, &v))
    return v;
  return attr_number(&range, DW_AT_upper_bound, &v) ? v + 1 : 1;
}

static void add_member(struct debug_variable *v, const char *name,
                       size_t offset, size_t bytes)
{
  if (v->members >= MEMBERS_MOST)
    return;
  v->member = xreallocarray(v->member, v->members + 1, sizeof *v->member);
  v->member[v->members++] = (struct debug_member){xstrdup(name), offset, bytes};
}

// Adds the parts of a type, structs opened up.
static void add_members(struct debug_variable *v, Dwarf_Die *type,
                        const char *prefix, size_t offset, int depth)
{
  Dwarf_Word bytes;
  if (dwarf_aggregate_size(type, &bytes) != 0)
    bytes = 8;
  int tag = dwarf_tag(type);
  if ((tag != DW_TAG_structure_type && tag != DW_TAG_union_type) ||
      depth == DEPTH_MOST) {
    add_member(v, prefix, offset, bytes);
    return;
  }
  Dwarf_Die part;
  if (dwarf_child(type, &part) != 0)
    return;
  do {
    Dwarf_Die part_type;
    Dwarf_Word at = 0;
    if (dwarf_tag(&part) != DW_TAG_member || !type_of(&part, &part_type))
      continue;
    attr_number(&part, DW_AT_data_member_location, &at);
    const char *own = dwarf_diename(&part);
    char *name =
        xasprintf("%s%s%s", prefix, *prefix && own ? "." : "", own ? own : "");
    add_members(v, &part_type, name, offset + at, depth + 1);
    free(name);
  } while (dwarf_siblingof(&part, &part) == 0);
}

static void add_variable(struct debug *d, Dwarf_Die *die)
{
  Dwarf_Attribute attr;
  Dwarf_Op *op;
  size_t ops;
  Dwarf_Die type;
  Dwarf_Word bytes;
  if (!dwarf_attr_integrate(die, DW_AT_location, &attr) ||
      dwarf_getlocation(&attr, &op, &ops) != 0 || ops != 1 ||
      op[0].atom != DW_OP_addr || !type_of(die, &type) ||
      dwarf_aggregate_size(&type, &bytes) != 0 || bytes == 0)
    return;
  const char *name = dwarf_diename(die);
  struct debug_variable v = {
      .name = xstrdup(name ? name : "?"),
      .at = op[0].number,
      .bytes = bytes,
      .elements = 1,
      .stride_bytes = bytes,
  };
  if (dwarf_tag(&type) == DW_TAG_array_type) {
    Dwarf_Die element;
    v.elements = array_count(&type);
    if (v.elements == 0 || !type_of(&type, &element))
      v.elements = 1;
    v.stride_bytes = bytes / v.elements;
    if (v.elements > 1)
      type = element;
  }
  add_members(&v, &type, "", 0, 0);
  d->variable =
      xreallocarray(d->variable, d->variables + 1, sizeof *d->variable);
  d->variable[d->variables++] = v;
}

// Variables of a scope and of those inside it (static locals).
static void walk(struct debug *d, Dwarf_Die *scope, int depth)
{
  Dwarf_Die die;
  if (depth > 16 || dwarf_child(scope, &die) != 0)
    return;
  do {
    switch (dwarf_tag(&die)) {
    case DW_TAG_variable:
      add_variable(d, &die);
      break;
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
      walk(d, &die, depth + 1);
      break;
    default:
      break;
    }
  } while (dwarf_siblingof(&die, &die) == 0);
}

int debug_open(const char *path, struct debug *ret, struct error *err)
{
  struct debug d = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
  if (d.fd < 0)
    return error_errno(err, LG_EHARNESS, "cannot open %s", path);
  Dwarf *dw = dwarf_begin(d.fd, DWARF_C_READ);
  if (!dw) {
    close(d.fd);
    return error_set(err, LG_EHARNESS, "%s: no debugging information: %s", path,
                     dwarf_errmsg(-1));
  }
  d.session = dw;
  Dwarf_CU *cu = NULL;
  Dwarf_Die die;
  while (dwarf_get_units(dw, cu, &cu, NULL, NULL, &die, NULL) == 0)
    walk(&d, &die, 0);
  *ret = d;
  return 0;
}

void debug_close(struct debug *d)
{
  for (size_t i = 0; i < d->variables; i++) {
    struct debug_variable *v = &d->variable[i];
    for (size_t m = 0; m < v->members; m++)
      free(v->member[m].name);
    free(v->member);
    free(v->name);
  }
  free(d->variable);
  if (d->session) {
    dwarf_end(d->session);
    close(d->fd);
  }
  *d = (struct debug){0};
}

struct debug_place debug_find(const struct debug *d, uintptr_t at)
{
  struct debug_place place = {"?", "", 0};
  Dwarf_Die cu, *scopes;
  if (!d->session || !dwarf_addrdie(d->session, at, &cu))
    return place;
  Dwarf_Line *line = dwarf_getsrc_die(&cu, at);
  if (line) {
    const char *file = dwarf_linesrc(line, NULL, NULL);
    place.file = file ? file : "";
    dwarf_lineno(line, &place.line);
  }
  int count = dwarf_getscopes(&cu, at, &scopes);
  for (int i = 0; i < count; i++) {
    int tag = dwarf_tag(&scopes[i]);
    const char *name = dwarf_diename(&scopes[i]);
    if ((tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) &&
        name) {
      place.function = name;
      break;
    }
  }
  if (count > 0)
    free(scopes);
  return place;
}

const struct debug_variable *debug_variable_at(const struct debug *d,
                                               uintptr_t at)
{
  for (size_t i = 0; i < d->variables; i++) {
    if (at - d->variable[i].at < d->variable[i].bytes)
      return &d->variable[i];
  }
  return NULL;
}

bool debug_name(const struct debug *d, uintptr_t at, struct buf *to)
{
  const struct debug_variable *v = debug_variable_at(d, at);
  if (!v)
    return false;
  size_t off = at - v->at;
  buf_adds(to, v->name);
  if (v->elements > 1)
    buf_addf(to, "[%zu]", off / v->stride_bytes);
  off %= v->stride_bytes;
  for (size_t m = 0; m < v->members; m++) {
    const struct debug_member *part = &v->member[m];
    if (off - part->offset >= part->bytes)
      continue;
    if (*part->name)
      buf_addf(to, ".%s", part->name);
    off -= part->offset;
    break;
  }
  if (off > 0)
    buf_addf(to, "+%zu", off);
  return true;
}
