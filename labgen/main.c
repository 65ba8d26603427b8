// The program: finds the command and runs it.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graders/plugin.h"
#include "labgen/cmd.h"
#include "labgen/run/child.h"

// The plugin is built for the QEMU that is installed, so it has a version of
// its own.
static void print_version(void)
{
  char *plugin = NULL;
  struct error err = {0};

  puts("labgen " LABGEN_VERSION);
  if (plugin_find(&plugin, &err) == 0)
    printf("QEMU plugin: interface version %d\n", plugin_api(plugin));
  else
    puts("QEMU plugin: none");
  free(plugin);
  error_release(&err);
}

static int dispatch(int argc, char **argv)
{
  if (argc < 2) {
    fputs("labgen: no command; try 'labgen --help'\n", stderr);
    return error_exit_status(LG_EUSAGE);
  }
  if (strcmp(argv[1], "--version") == 0) {
    print_version();
    return 0;
  }
  if (strcmp(argv[1], "--help") == 0)
    return cmd_help.run(1, argv + 1);

  const struct command *command = command_find(argv[1]);
  if (!command) {
    struct error err = {0};
    error_set(&err, LG_EUSAGE, "there is no command '%s'; try 'labgen --help'",
              argv[1]);
    return command_failed(&err);
  }
  for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (strcmp(argv[i], "--help") == 0) {
      command_help(command);
      return 0;
    }
  }
  return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
  int status = dispatch(argc, argv);
  // What a full disk swallowed was not done.
  errno = 0;
  if (fflush(stdout) != 0 || ferror(stdout)) {
    fprintf(stderr, "labgen: cannot write the output: %s\n",
            strerror(errno ? errno : EIO));
    return error_exit_status(LG_EIO);
  }
  child_raise_signal();
  return status;
}
