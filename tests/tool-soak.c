// usage: tool-soak KERNEL [LINE...]
// Boots a kernel many times, one boot after the other, and counts what goes
// wrong; for a machine that has nothing else to do. Each LINE is
//
//   HARTS x BOOTS: COMMAND; COMMAND; ...
//
// with COMMAND as typed at the shell, or "100 * COMMAND" for as many times in
// the same boot. Without lines it does what docs/kernel-coverage.md promises.
// A boot fails when it hangs, panics or loses a command, when a line says
// FAILED, or when kalloctest counts another number of free pages than it did
// first in the same boot. The exit status is 1 if any boot failed.
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/boot.h"
#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"

#define COMMAND_MS 600000

static const char *const usual[] = {
    // what is built on the allocator
    "3 x 20: kalloctest; usertests -q; kalloctest",
    "1 x 5: kalloctest; usertests -q; kalloctest",
    "2 x 5: kalloctest; usertests -q; kalloctest",
    "8 x 5: kalloctest; usertests -q; kalloctest",
    // the kernel
    "1 x 20: kalloctest; kalloctest; kchurn",
    "2 x 20: kalloctest; kalloctest; kchurn",
    "3 x 20: kalloctest; kalloctest; kchurn",
    "8 x 5: kalloctest; kalloctest; kchurn",
    // no page is lost over a hundred runs
    "3 x 1: 100 * kalloctest",
};

struct plan {
  unsigned harts, boots;
  struct boot_step *steps;
  size_t step_count, step_room;
  size_t kalloctests, usertests;  // how often these run in a boot
};

static void add_step(struct plan *plan, enum boot_step_kind kind,
                     const char *bytes, int64_t timeout_ms)
{
  GROW(plan->steps, plan->step_count, plan->step_room);
  plan->steps[plan->step_count++] = (struct boot_step){
      .kind = kind, .bytes = xstrdup(bytes), .timeout_ms = timeout_ms};
}

// Adds "COMMAND" or "N * COMMAND", which is the text up to `end`.
static void add_command(struct plan *plan, const char *text, const char *end)
{
  unsigned long times = 1;
  char *behind;

  while (isspace((unsigned char)*text))
    text++;
  if (isdigit((unsigned char)*text)) {
    times = strtoul(text, &behind, 10);
    text = behind + strspn(behind, " *");
  }
  char *command = xasprintf("%.*s\n", (int)(end - text), text);
  for (unsigned long i = 0; i < times; i++) {
    plan->kalloctests += strncmp(command, "kalloctest", 10) == 0;
    plan->usertests += strncmp(command, "usertests", 9) == 0;
    add_step(plan, BOOT_SEND, command, 0);
    add_step(plan, BOOT_WAIT_LINE, "$ ", COMMAND_MS);
  }
  free(command);
}

static bool read_plan(const char *line, struct plan *ret_plan)
{
  struct plan plan = {0};
  const char *at = strchr(line, ':');

  if (!at || sscanf(line, "%u x %u", &plan.harts, &plan.boots) != 2)
    return false;
  add_step(&plan, BOOT_WAIT_LINE, "$ ", COMMAND_MS);
  for (at++; *at; at += *at == ';') {
    const char *end = at + strcspn(at, ";");
    add_command(&plan, at, end);
    at = end;
  }
  *ret_plan = plan;
  return true;
}

static void release_plan(struct plan *plan)
{
  for (size_t i = 0; i < plan->step_count; i++)
    free((char *)plan->steps[i].bytes);
  free(plan->steps);
}

static size_t times_in(const char *text, const char *words)
{
  size_t n = 0;

  for (; (text = strstr(text, words)); text += strlen(words))
    n++;
  return n;
}

// Whether the numbers of free pages before and after each kalloctest are all
// the same; *ret_pages is the first.
static bool same_pages(const char *text, unsigned long *ret_pages)
{
  static const char words[] = "kalloctest: free pages ";
  unsigned long first = 0, before, after;

  for (; (text = strstr(text, words)); text += sizeof(words) - 1) {
    if (sscanf(text + sizeof(words) - 1, "%lu before, %lu after", &before,
               &after) != 2)
      return false;
    first = first ? first : before;
    if (before != first || after != first)
      return false;
  }
  *ret_pages = first;
  return true;
}

// What was wrong with a boot; NULL if nothing.
static const char *fault_of(const struct plan *plan, const struct boot *boot)
{
  const char *text = buf_str(&boot_console(boot)->text);
  unsigned long pages;

  if (boot_verdict(boot) != BOOT_COMPLETED)
    return boot_verdict_words(boot_verdict(boot));
  if (strstr(text, "FAILED"))
    return "has a line with FAILED";
  if (times_in(text, "kalloctest: ALL OK\n") != plan->kalloctests)
    return "lacks a kalloctest: ALL OK";
  if (times_in(text, "ALL TESTS PASSED\n") != plan->usertests)
    return "lacks an ALL TESTS PASSED";
  if (!same_pages(text, &pages))
    return "has other free pages than before";
  return NULL;
}

// One boot. Returns 0 if it passed, 1 if it failed, 3 if there was none.
static int soak(const char *kernel, const struct plan *plan, const char *line)
{
  struct error err = {0};
  struct boot *boot = NULL;
  int rc = boot_run(&(struct boot_spec){.kernel = kernel,
                                        .harts = plan->harts,
                                        .steps = plan->steps,
                                        .step_count = plan->step_count,
                                        .max_output_bytes = 64 << 20},
                    &boot, &err);
  if (rc) {
    fprintf(stderr, "tool-soak: %s\n", err.message);
    error_release(&err);
    return 3;
  }
  const char *fault = fault_of(plan, boot);
  unsigned long pages = 0;
  same_pages(buf_str(&boot_console(boot)->text), &pages);
  printf("%6.1f s, %lu free pages%s%s\n", (double)boot_time_ms(boot) / 1000,
         pages, fault ? ": FAILED: it " : "", fault ? fault : "");
  if (fault)
    printf("--- %s: %s\n%s\n---\n", line, boot_detail(boot),
           buf_str(&boot_console(boot)->text));
  fflush(stdout);
  boot_release(boot);
  return fault ? 1 : 0;
}

int main(int argc, char **argv)
{
  size_t count = argc > 2 ? (size_t)argc - 2 : sizeof(usual) / sizeof(usual[0]);
  unsigned failed = 0, boots = 0;

  if (argc < 2) {
    fputs("usage: tool-soak KERNEL [\"HARTS x BOOTS: COMMAND; ...\"]...\n",
          stderr);
    return 2;
  }
  for (size_t i = 0; i < count; i++) {
    const char *line = argc > 2 ? argv[2 + i] : usual[i];
    struct plan plan;
    if (!read_plan(line, &plan)) {
      fprintf(stderr,
              "tool-soak: '%s' is not of the form HARTS x BOOTS: "
              "COMMAND; ...\n",
              line);
      return 2;
    }
    printf("%s\n", line);
    for (unsigned boot = 0; boot < plan.boots; boot++) {
      int rc = soak(argv[1], &plan, line);
      if (rc == 3)
        return 3;
      failed += rc;
      boots++;
    }
    release_plan(&plan);
  }
  printf("%u boots, %u failed\n", boots, failed);
  return failed ? 1 : 0;
}
