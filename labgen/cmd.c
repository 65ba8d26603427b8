// The table of commands, and what all of them say the same way.
#include "labgen/cmd.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/base/file.h"
#include "labgen/lab/schema.h"

static const struct command *const commands[] = {
#define ROW(c) &cmd_##c,
    LABGEN_COMMANDS(ROW)
#undef ROW
};

const struct command *command_find(const char *name)
{
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    if (strcmp(commands[i]->name, name) == 0)
      return commands[i];
  }
  return NULL;
}

int command_misused(const struct command *command, const char *fmt, ...)
{
  char *said = NULL;
  struct buf text = BUF_INIT;
  va_list args;
  va_start(args, fmt);
  if (vasprintf(&said, fmt, args) < 0)
    abort();
  va_end(args);
  buf_add_terminal(&text, said, strlen(said));
  fprintf(stderr, "labgen %s: %s\nTry 'labgen %s --help'.\n", command->name,
          buf_str(&text), command->name);
  buf_release(&text);
  free(said);
  return error_exit_status(LG_EUSAGE);
}

int command_failed(struct error *err)
{
  int status = error_exit_status(err->code);
  const char *line = err->message ? err->message : error_name(err->code);
  while (*line) {
    size_t len = strcspn(line, "\n");
    struct buf text = BUF_INIT;
    buf_add_terminal(&text, line, len);
    fprintf(stderr, "labgen: %s\n", buf_str(&text));
    buf_release(&text);
    line += len + (line[len] == '\n');
  }
  error_release(err);
  return status;
}

char *command_lab_file(const char *given)
{
  static const char here[] = "config.yaml";
  const char *data;
  char *shipped;

  if (given != NULL)
    return xstrdup(given);
  if (file_exists(here) || data_dir(&data, NULL) != 0)
    return xstrdup(here);
  shipped = path_join(data, here);
  if (!file_exists(shipped)) {
    free(shipped);
    return xstrdup(here);
  }
  fprintf(stderr,
          "labgen: no config.yaml here, so this is the demo's, %s; -c names "
          "another\n",
          shipped);
  return shipped;
}

int command_check_student(const struct roster *roster, const char *id,
                          struct error *err)
{
  const char *near = NULL;
  if (roster_find(roster, id))
    return 0;
  const char **ids = xcalloc(roster->count + 1, sizeof(*ids));
  for (size_t i = 0; i < roster->count; i++) {
    ids[i] = roster->students[i].id;
    if (strcasecmp(ids[i], id) == 0)
      near = ids[i];
  }
  if (!near)
    near = nearest_name(id, ids, roster->count);
  free(ids);
  return error_set(err, LG_EUSAGE, "no student '%s' in %s%s%s%s", id,
                   roster->path, near ? " (did you mean '" : "",
                   near ? near : "", near ? "'?)" : "");
}

void command_help(const struct command *command)
{
  printf("usage: labgen %s%s%s\n\n%s\n", command->name,
         *command->usage ? " " : "", command->usage, command->summary);
  if (*command->help)
    printf("\n%s", command->help);
}
