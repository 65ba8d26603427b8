// Reads /proc. What a process did with its time is not known here.

#include "graders/host-time.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_first_line(const char *path, char *ret, int size)
{
  FILE *file = fopen(path, "r");
  bool got = file != NULL && fgets(ret, size, file) != NULL;

  if (file != NULL)
    fclose(file);
  return got;
}

static void add_waiting(pid_t pid, struct host_time *ret)
{
  char path[300], line[128];
  unsigned long long ran_ns, waited_ns;

  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *tasks = opendir(path);
  for (struct dirent *e; tasks != NULL && (e = readdir(tasks)) != NULL;) {
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/schedstat", (int)pid,
             e->d_name);
    if (read_first_line(path, line, sizeof line) &&
        sscanf(line, "%llu %llu", &ran_ns, &waited_ns) == 2)
      ret->waited_s += (double)waited_ns / 1e9;
  }
  if (tasks != NULL)
    closedir(tasks);
}

static bool add_process(pid_t pid, struct host_time *ret)
{
  char path[64], line[1024];
  unsigned long user, system;

  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  const char *behind =
      read_first_line(path, line, sizeof line) ? strrchr(line, ')') : NULL;
  if (behind == NULL || sscanf(behind + 1,
                               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u"
                               " %*u %lu %lu",
                               &user, &system) != 2)
    return false;
  ret->cpu_s += (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
  add_waiting(pid, ret);
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
  FILE *file = fopen(path, "r");
  for (int child; file != NULL && fscanf(file, "%d", &child) == 1;)
    add_process(child, ret);
  if (file != NULL)
    fclose(file);
  return true;
}

void host_time_read(pid_t pid, struct host_time *ret)
{
  struct host_time time = {0};

  // When QEMU has ended, the sandbox round it lives on for a moment.
  if (!add_process(pid, &time))
    return;
  ret->cpu_s = time.cpu_s > ret->cpu_s ? time.cpu_s : ret->cpu_s;
  ret->waited_s = time.waited_s > ret->waited_s ? time.waited_s : ret->waited_s;
}
