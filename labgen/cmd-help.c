// `labgen help` and `labgen help COMMAND`.
#include <getopt.h>
#include <stdio.h>

#include "labgen/cmd.h"

static int help(int argc, char **argv)
{
  if (argc > 2)
    return command_misused(&cmd_help, "one command at a time");
  if (argc == 2) {
    const struct command *command = command_find(argv[1]);
    if (!command)
      return command_misused(&cmd_help, "there is no command '%s'", argv[1]);
    command_help(command);
    return 0;
  }
  puts(
      "usage: labgen COMMAND [ARGUMENT]...\n"
      "       labgen --help | --version\n"
      "\n"
      "Generates and grades labs on a RISC-V teaching kernel.\n"
      "\n"
      "Commands ('labgen COMMAND --help' says more):");
#define ROW(c) printf("  %-10s %s\n", cmd_##c.name, cmd_##c.summary);
  LABGEN_COMMANDS(ROW)
#undef ROW
  puts(
      "\n"
      "Exit status: 0 done and passed; 1 a person must look at something, "
      "such\n"
      "as a failed check; 2 the command line or the lab file is wrong; 3 the\n"
      "tool or its host failed, run it again.");
  return 0;
}

const struct command cmd_help = {
    .name = "help",
    .summary = "Say what labgen or one of its commands does.",
    .usage = "[COMMAND]",
    .help = "",
    .run = help,
};
