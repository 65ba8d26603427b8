// `labgen doctor`: what this machine has of what labgen needs, and how to mend
// what is missing.
#include <stdio.h>
#include <string.h>

#include "graders/doctor.h"
#include "labgen/cmd.h"

extern const struct command cmd_doctor;

static void print_escaped(const char *before, const char *text)
{
  struct buf b = BUF_INIT;
  buf_add_terminal(&b, text, strlen(text));
  printf("%s%s\n", before, buf_str(&b));
  buf_release(&b);
}

static void print_part(const struct part_result *r, bool apt)
{
  printf("%-15s  %-13s  ", part_state_word(r->state), r->name);
  print_escaped("", buf_str(&r->seen));
  if (r->state == PART_THERE)
    return;
  printf("  it %s; without it: %s\n", r->purpose, r->without);
  if (r->mend.len > 0)
    print_escaped("  mend: ", buf_str(&r->mend));
  else if (r->package && apt)
    printf("  mend: sudo apt-get install %s\n", r->package);
  else if (r->upstream)
    printf("  mend: install %s with your system's package manager\n",
           r->upstream);
}

// One command for all packages that are missing.
static void print_packages(const struct part_result *results, size_t count)
{
  struct buf names = BUF_INIT;
  for (size_t i = 0; i < count; i++) {
    if (results[i].state != PART_THERE && results[i].package &&
        results[i].mend.len == 0)
      buf_addf(&names, " %s", results[i].package);
  }
  if (names.len > 0)
    printf(
        "\nAll that is missing, in one go:\n"
        "  sudo apt-get update && sudo apt-get install%s\n",
        buf_str(&names));
  buf_release(&names);
}

static int doctor(int argc, char **argv)
{
  struct part_result *results;
  size_t count, missing = 0;
  bool apt = doctor_has_apt();
  if (argc > 1)
    return command_misused(&cmd_doctor, "it takes nothing, not '%s'", argv[1]);
  doctor_look(&results, &count);
  for (size_t i = 0; i < count; i++) {
    print_part(&results[i], apt);
    missing += results[i].state == PART_MISSING;
  }
  if (apt)
    print_packages(results, count);
  if (missing == 0)
    puts("\nNothing that labgen needs is missing.");
  part_results_release(results, count);
  return missing > 0 ? error_exit_status(LG_EREFUSED) : 0;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "Say what this machine lacks, and how to mend it.",
    .usage = "",
    .help =
        "Looks for compiler, linker, QEMU and its plugin, gdb, sandbox, "
        "cores,\n"
        "memory and disk, and tries each. Exit status 1 when something is\n"
        "missing that a command needs.\n",
    .run = doctor,
};
