// `labgen public`: what students may have of a lab, for an installation on
// their machines.
#include <getopt.h>
#include <stdio.h>

#include "graders/public.h"
#include "labgen/cmd.h"

extern const struct command cmd_public;

static int public(int argc, char **argv)
{
  const char *lab_file = NULL;
  int option;
  opterr = 0;
  optind = 1;
  while ((option = getopt(argc, argv, ":c:")) != -1) {
    if (option != 'c')
      return command_misused(
          &cmd_public, option == ':' ? "%s needs a value" : "unknown option %s",
          argv[optind - 1]);
    lab_file = optarg;
  }
  if (argc - optind != 1)
    return command_misused(&cmd_public, "say the folder to write to");

  struct public_lab lab = {0};
  struct error err = {0};
  int rc = public_find(lab_file, &lab, &err);
  rc = rc ? rc : public_write(&lab, argv[optind], &err);
  if (rc == 0)
    printf("%s: what students may have of '%s', %zu checks\n", argv[optind],
           lab.facts.title, lab.facts.rubric.checks.count);
  public_release(&lab);
  return rc ? command_failed(&err) : 0;
}

const struct command cmd_public = {
    .name = "public",
    .summary = "Write what students may have of a lab, for pregrade.",
    .usage = "[-c LABFILE] FOLDER",
    .help =
        "  -c LABFILE   the lab file (labgen's own)\n"
        "\n"
        "FOLDER gets the tree that students start from, the visible checks "
        "and\n"
        "what they need; no solution, no bug, no hidden check. With "
        "LABGEN_DATA\n"
        "set to it, pregrade, explore and doctor work without the course.\n",
    .run = public,
};
