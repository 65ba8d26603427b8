// usage: tool-coverage KERNEL PLUGIN OUT [COMMAND]
// Boots a kernel with coverage-plugin.c, runs a command (usertests), and prints
// which lines of the kernel were reached: a figure for each file, and one for
// each function that calls kalloc or kfree, with the lines that were not. OUT
// is a scratch file. A line counts as reached when an instruction at which the
// compiler says that it begins has run; code that it has merged with other code
// counts with the line that it was merged into.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graders/boot.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

#define BOOT_MS 900000

// Names are borrowed from the kernel's DWARF.
struct line {
  const char *file;
  int number;
  bool reached;
};

struct function {
  const char *file, *name;
  int first_line;
};

struct coverage {
  uint64_t *ran;  // addresses, ascending
  size_t ran_count;
  struct line *lines;  // by file and number once sorted
  size_t line_count, line_room;
  struct function *functions;
  size_t function_count, function_room;
  const char *callers[256];  // functions that call kalloc or kfree
  size_t caller_count;
};

// ---- running it -----------------------------------------------------------------

static int run_kernel(char **argv, struct error *err)
{
  char *plugin = xasprintf("%s,out=%s", argv[2], argv[3]);
  char *command = xasprintf("%s\n", argv[4] ? argv[4] : "usertests");
  const struct boot_step steps[] = {
      {BOOT_WAIT_LINE, "$ ", 0, 0},
      {BOOT_SEND, command, 0, 0},
      {BOOT_WAIT_LINE, "$ ", 0, 0},
  };
  struct boot *boot = NULL;
  int rc = boot_run(&(struct boot_spec){.kernel = argv[1],
                                        .plugin = plugin,
                                        .steps = steps,
                                        .step_count = 3,
                                        .timeout_ms = BOOT_MS},
                    &boot, err);
  if (rc == 0 && boot_verdict(boot) != BOOT_COMPLETED)
    rc = error_set(err, LG_EHARNESS, "the boot %s: %s",
                   boot_verdict_words(boot_verdict(boot)), boot_detail(boot));
  if (rc == 0 && !argv[4] &&
      !strstr(buf_str(&boot_console(boot)->text), "ALL TESTS PASSED"))
    rc = error_set(err, LG_EHARNESS, "usertests did not pass");
  boot_release(boot);
  free(plugin);
  free(command);
  return rc;
}

static int compare_addresses(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static int read_addresses(const char *path, struct coverage *c,
                          struct error *err)
{
  struct buf text = {0};
  size_t room = 0;
  int rc = file_read(path, 64 << 20, &text, err);
  if (rc)
    return rc;

  for (char *at = text.data, *end; at && *at; at = end + 1) {
    GROW(c->ran, c->ran_count, room);
    c->ran[c->ran_count++] = strtoull(at, &end, 16);
    if (*end != '\n')
      break;
  }
  qsort(c->ran, c->ran_count, sizeof(c->ran[0]), compare_addresses);
  buf_release(&text);
  return 0;
}

// ---- what the addresses are -----------------------------------------------------

static void add_lines(Dwarf_Die *unit, struct coverage *c)
{
  Dwarf_Lines *lines;
  size_t n;

  if (dwarf_getsrclines(unit, &lines, &n) != 0)
    return;
  for (size_t i = 0; i < n; i++) {
    Dwarf_Line *row = dwarf_onesrcline(lines, i);
    Dwarf_Addr address;
    bool begins, ends;
    int number;
    dwarf_linebeginstatement(row, &begins);
    dwarf_lineendsequence(row, &ends);
    dwarf_lineno(row, &number);
    dwarf_lineaddr(row, &address);
    if (!begins || ends || number == 0)
      continue;
    GROW(c->lines, c->line_count, c->line_room);
    c->lines[c->line_count++] = (struct line){
        .file = dwarf_linesrc(row, NULL, NULL),
        .number = number,
        .reached = bsearch(&address, c->ran, c->ran_count, sizeof(c->ran[0]),
                           compare_addresses) != NULL,
    };
  }
}

static bool is_caller(const struct coverage *c, const char *function)
{
  for (size_t i = 0; i < c->caller_count; i++)
    if (strcmp(c->callers[i], function) == 0)
      return true;
  return false;
}

// A function that has a body here.
static void add_function(Dwarf_Die *die, struct coverage *c)
{
  Dwarf_Attribute declaration;
  int first_line;
  const char *file = dwarf_decl_file(die);

  if (dwarf_attr(die, DW_AT_declaration, &declaration) || !file ||
      dwarf_decl_line(die, &first_line) != 0)
    return;
  GROW(c->functions, c->function_count, c->function_room);
  c->functions[c->function_count++] = (struct function){
      .file = file, .name = dwarf_diename(die), .first_line = first_line};
}

// The function that a line lies in: the last one that starts before it. Taken
// from the text and not from the code, which may be inlined elsewhere.
static const char *function_of(const struct coverage *c,
                               const struct line *line)
{
  const struct function *best = NULL;

  for (size_t i = 0; i < c->function_count; i++) {
    const struct function *f = &c->functions[i];
    if (f->first_line <= line->number && strcmp(f->file, line->file) == 0 &&
        (!best || f->first_line > best->first_line))
      best = f;
  }
  return best ? best->name : "";
}

// Looks for functions, and for calls of the allocator in them, below an entry;
// `function` is the one that the entry lies in.
static void add_callers(Dwarf_Die *die, const char *function,
                        struct coverage *c)
{
  Dwarf_Attribute attribute;
  Dwarf_Die child, callee;
  int tag = dwarf_tag(die);

  if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
    function = dwarf_diename(die);
  if (tag == DW_TAG_subprogram)
    add_function(die, c);
  if ((tag == DW_TAG_GNU_call_site || tag == DW_TAG_call_site) && function &&
      (dwarf_attr(die, DW_AT_abstract_origin, &attribute) ||
       dwarf_attr(die, DW_AT_call_origin, &attribute)) &&
      dwarf_formref_die(&attribute, &callee)) {
    const char *name = dwarf_diename(&callee);
    if (name && (strcmp(name, "kalloc") == 0 || strcmp(name, "kfree") == 0) &&
        !is_caller(c, function) && c->caller_count < 256)
      c->callers[c->caller_count++] = function;
  }
  if (dwarf_child(die, &child) == 0)
    do
      add_callers(&child, function, c);
    while (dwarf_siblingof(&child, &child) == 0);
}

// Several rows can be of one line: it is reached if one of them is.
static int compare_lines(const void *a, const void *b)
{
  const struct line *x = a, *y = b;
  int order = strcmp(x->file, y->file);
  return order ? order : x->number - y->number;
}

static void unite_lines(struct coverage *c)
{
  size_t kept = 0;

  qsort(c->lines, c->line_count, sizeof(c->lines[0]), compare_lines);
  for (size_t i = 0; i < c->line_count; i++) {
    if (kept > 0 && compare_lines(&c->lines[kept - 1], &c->lines[i]) == 0)
      c->lines[kept - 1].reached |= c->lines[i].reached;
    else
      c->lines[kept++] = c->lines[i];
  }
  c->line_count = kept;
}

// ---- what is printed ------------------------------------------------------------

struct sum {
  unsigned reached, all;
};

static void add(struct sum *sum, const struct line *line)
{
  sum->all++;
  sum->reached += line->reached;
}

static void print_sum(const char *name, struct sum sum)
{
  printf("%-24s %5u of %5u lines  %5.1f %%", name, sum.reached, sum.all,
         100.0 * sum.reached / (sum.all ? sum.all : 1));
}

static void print_files(const struct coverage *c)
{
  struct sum total = {0};

  for (size_t i = 0, next; i < c->line_count; i = next) {
    struct sum sum = {0};
    for (next = i; next < c->line_count &&
                   strcmp(c->lines[next].file, c->lines[i].file) == 0;
         next++) {
      add(&sum, &c->lines[next]);
      add(&total, &c->lines[next]);
    }
    print_sum(c->lines[i].file, sum);
    printf("%s", sum.reached < sum.all ? "  not:" : "");
    for (size_t j = i; j < next; j++)
      if (!c->lines[j].reached)
        printf(" %d", c->lines[j].number);
    printf("\n");
  }
  print_sum("kernel", total);
  printf("\n");
}

static void print_callers(const struct coverage *c)
{
  struct sum total = {0};

  for (size_t i = 0; i < c->caller_count; i++) {
    struct sum sum = {0};
    const char *file = "";
    for (size_t j = 0; j < c->line_count; j++) {
      if (strcmp(function_of(c, &c->lines[j]), c->callers[i]) != 0)
        continue;
      file = c->lines[j].file;
      add(&sum, &c->lines[j]);
      add(&total, &c->lines[j]);
    }
    print_sum(c->callers[i], sum);
    printf("  %s%s", file, sum.reached < sum.all ? "  not:" : "");
    for (size_t j = 0; j < c->line_count; j++)
      if (!c->lines[j].reached &&
          strcmp(function_of(c, &c->lines[j]), c->callers[i]) == 0)
        printf(" %d", c->lines[j].number);
    printf("\n");
  }
  print_sum("callers of kalloc, kfree", total);
  printf("\n");
}

static int explain(const char *kernel, struct coverage *c, struct error *err)
{
  int fd = open(kernel, O_RDONLY | O_CLOEXEC);
  Dwarf *dwarf = fd >= 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL;
  Dwarf_Off at = 0, next;
  size_t head;
  Dwarf_Die unit;

  if (!dwarf) {
    if (fd >= 0)
      close(fd);
    return error_set(err, LG_EIO, "%s: no debug information to read", kernel);
  }
  for (; dwarf_nextcu(dwarf, at, &next, &head, NULL, NULL, NULL) == 0;
       at = next) {
    if (!dwarf_offdie(dwarf, at + head, &unit))
      continue;
    add_lines(&unit, c);
    add_callers(&unit, NULL, c);
  }
  unite_lines(c);
  print_files(c);
  printf("\n");
  print_callers(c);
  dwarf_end(dwarf);
  close(fd);
  return 0;
}

int main(int argc, char **argv)
{
  struct coverage c = {0};
  struct error err = {0};

  if (argc < 4 || argc > 5) {
    fputs("usage: tool-coverage KERNEL PLUGIN OUT [COMMAND]\n", stderr);
    return 2;
  }
  int rc = run_kernel(argv, &err);
  if (rc == 0)
    rc = read_addresses(argv[3], &c, &err);
  if (rc == 0)
    rc = explain(argv[1], &c, &err);
  if (rc)
    fprintf(stderr, "tool-coverage: %s\n", err.message);
  free(c.ran);
  free(c.lines);
  free(c.functions);
  error_release(&err);
  return rc ? 1 : 0;
}
