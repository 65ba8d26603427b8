// What the QEMU plugin costs: kalloctest on the reference with and without it,
// in turns, on one hart and on three. With one hart the CPU time hardly depends
// on what else the host does; with three, harts spin while others are held up.
#include <stdio.h>
#include <stdlib.h>

#include "graders/boot.h"
#include "graders/object.h"
#include "graders/plugin.h"
#include "labgen/base/file.h"

#define KERNEL "build/kernel/reference/kernel/kernel"

enum { TURNS = 7, STEP_MS = 300000 };

struct cost {
  double wall_s, cpu_s;
};

static void on_round(void *channel, struct boot *boot)
{
  if (channel && plugin_channel_read(channel, NULL) != 0)
    boot_stop(boot, "the plugin's report cannot be read");
}

// Boots with the plugin if `argument` is not NULL.
static int measure(unsigned harts, const char *argument,
                   struct plugin_channel *channel, struct cost *ret,
                   struct error *err)
{
  static const struct boot_step steps[] = {
      {BOOT_WAIT_LINE, "$ ", 0, STEP_MS},
      {BOOT_SEND, "kalloctest\n", 0, 0},
      {BOOT_WAIT_LINE, "kalloctest: ALL OK", 0, STEP_MS},
  };
  struct boot_spec spec = {.kernel = KERNEL,
                           .harts = harts,
                           .steps = steps,
                           .step_count = sizeof(steps) / sizeof(steps[0]),
                           .plugin = argument,
                           .arg = argument ? channel : NULL,
                           .on_round = on_round};
  struct boot *boot = NULL;
  int rc = boot_run(&spec, &boot, err);

  if (rc == 0 && boot_verdict(boot) != BOOT_COMPLETED)
    rc = error_set(err, LG_EHARNESS, "the boot %s",
                   boot_verdict_words(boot_verdict(boot)));
  if (rc == 0) {
    const struct child_result *r = child_result_of(boot_child(boot));
    ret->wall_s = (double)r->wall_ms / 1e3;
    ret->cpu_s = (double)(r->user_us + r->system_us) / 1e6;
    if (argument)
      rc = plugin_channel_read(channel, err);
  }
  boot_release(boot);
  return rc;
}

static int by_size(const void *a, const void *b)
{
  const double *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

static double median(double v[TURNS])
{
  qsort(v, TURNS, sizeof(*v), by_size);
  return v[TURNS / 2];
}

static int compare(unsigned harts, const char *argument,
                   struct plugin_channel *channel, struct error *err)
{
  double wall[2][TURNS], cpu[2][TURNS];

  for (int i = 0; i < TURNS; i++) {
    for (int turn = 0; turn < 2; turn++) {
      int with = (i + turn) % 2;
      struct cost c;
      int rc = measure(harts, with ? argument : NULL, channel, &c, err);
      if (rc)
        return rc;
      wall[with][i] = c.wall_s;
      cpu[with][i] = c.cpu_s;
    }
  }
  double bare_wall = median(wall[0]), bare_cpu = median(cpu[0]);
  printf(
      "%u harts: wall %.2f s, with plugin %.3f times; "
      "CPU %.2f s, with plugin %.3f times\n",
      harts, bare_wall, median(wall[1]) / bare_wall, bare_cpu,
      median(cpu[1]) / bare_cpu);
  return 0;
}

int main(void)
{
  struct error err = {0};
  struct binary kernel = {0};
  struct plugin_channel channel = {0};
  struct buf argument = BUF_INIT;
  char *dir = NULL, *plugin = NULL;

  int rc = plugin_find(&plugin, &err);
  if (rc == 0)
    rc = object_read(KERNEL, &kernel, &err);
  if (rc == 0)
    rc = file_make_temp_dir(NULL, "bench-plugin-", &dir, &err);
  if (rc == 0)
    rc = plugin_channel_open(dir, "out", &channel, &err);
  if (rc == 0) {
    struct plugin_spec spec = {
        .plugin = plugin, .kernel = &kernel, .out = channel.path};
    rc = plugin_argument(&spec, &argument, &err);
  }
  for (unsigned harts = 1; rc == 0 && harts <= 3; harts += 2)
    rc = compare(harts, argument.data, &channel, &err);

  if (rc)
    fprintf(stderr, "bench-plugin: %s\n", err.message);
  plugin_channel_close(&channel);
  if (dir)
    file_remove_tree(dir, NULL);
  free(dir);
  free(plugin);
  object_release(&kernel);
  buf_release(&argument);
  error_release(&err);
  return rc ? 1 : 0;
}
