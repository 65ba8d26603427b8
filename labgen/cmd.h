// What a command of labgen is. Each one lives in labgen/cmd-NAME.c.
#ifndef LABGEN_CMD_H
#define LABGEN_CMD_H

#include "labgen/base/error.h"
#include "labgen/lab/roster.h"

struct command {
  const char *name;     // as typed
  const char *summary;  // a few words, for the list of commands
  const char *usage;    // what follows the name: "[OPTION]... KALLOC.C"
  const char *help;     // lines that explain the options, "" for none

  // argv[0] is the command's name. Returns the exit status. `--help` never
  // gets here.
  int (*run)(int argc, char **argv);
};

// Every command: to add one, write labgen/cmd-NAME.c that defines
// `const struct command cmd_NAME`, and give it a line here.
#define LABGEN_COMMANDS(X) \
  X(help)                  \
  X(build)                 \
  X(show)                  \
  X(explore)               \
  X(verify)                \
  X(grade)                 \
  X(doctor)                \
  X(public)                \
  X(pregrade)

#define LABGEN_DECLARE(name) extern const struct command cmd_##name;
LABGEN_COMMANDS(LABGEN_DECLARE)
#undef LABGEN_DECLARE

// Says on standard error what is wrong with the command line, and where help
// is. Returns the exit status, 2.
int command_misused(const struct command *command, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

// Prints each line of the error's message on standard error, escaped for a
// terminal, releases it, and returns its exit status.
int command_failed(struct error *err);

// The lab file that staff's commands read: `given` (-c), or where that is NULL
// config.yaml in the current folder, or where there is none the demo's that
// labgen came with, which is said on standard error. The caller owns the result.
char *command_lab_file(const char *given);

// LG_EUSAGE, with a suggestion, when the roster has no student of that id.
int command_check_student(const struct roster *roster, const char *id,
                          struct error *err);

// Prints the command's help on standard output.
void command_help(const struct command *command);

// The command of that name; NULL when there is none.
const struct command *command_find(const char *name);

#endif
