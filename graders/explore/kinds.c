// The table of findings and notes, by number and by name.
#include "graders/explore/kinds.h"

#include <string.h>

static const struct {
  const char *name, *words;
  bool finding;
} kinds[] = {
#define ROW(number, name, finding, words) {name, words, finding},
    EX_KINDS(ROW)
#undef ROW
};

const char *ex_kind_name(enum ex_kind kind)
{
  return kinds[kind].name;
}

const char *ex_kind_words(enum ex_kind kind)
{
  return kinds[kind].words;
}

bool ex_kind_is_finding(enum ex_kind kind)
{
  return kinds[kind].finding;
}

int ex_kind_find(const char *name)
{
  for (int i = 0; i < EX_KIND_COUNT; i++) {
    if (strcmp(kinds[i].name, name) == 0)
      return i;
  }
  return -1;
}
