// Puts the plugin to use in a boot. What it counts is shown, never judged.

#include "graders/counted.h"

#include <inttypes.h>
#include <stdlib.h>

#include "graders/locks.h"

int counted_open(const char *folder, const struct binary *kernel,
                 struct counted *ret, struct error *err)
{
  struct counted c = {.on = true};
  char *plugin = NULL;

  if (plugin_find(&plugin, NULL) != 0) {
    *ret = (struct counted){0};
    return 0;
  }
  int rc = plugin_channel_open(folder, "plugin", &c.channel, err);
  if (rc == 0) {
    c.plugin = realpath(plugin, NULL);
    struct plugin_spec spec = {.plugin = c.plugin ? c.plugin : plugin,
                               .kernel = kernel,
                               .out = c.channel.path};
    if (plugin_argument(&spec, &c.argument, NULL) != 0)
      counted_close(&c);
    *ret = c;
  }
  free(plugin);
  return rc;
}

bool counted_circle(struct counted *c)
{
  // A plugin that cannot be understood counts as one that is not there.
  return c->on && plugin_channel_read(&c->channel, NULL) == 0 &&
         c->channel.report.circle_len > 0;
}

void counted_report(struct counted *c, const struct binary *kernel,
                    const struct guest *guest, struct buf *ret)
{
  if (!c->on)
    return;
  plugin_channel_read(&c->channel, NULL);
  for (size_t i = 0; i < c->channel.report.interval_count; i++) {
    const struct plugin_interval *interval = &c->channel.report.intervals[i];
    struct lock_names names = {0};
    if (!interval->complete)
      continue;
    lock_names_read(interval, kernel, guest, &names);
    buf_addf(ret, "interval %" PRIu64 "\n", interval->number);
    locks_print(interval, &names, ret);
    lock_names_release(&names);
  }
}

void counted_close(struct counted *c)
{
  if (c->on)
    plugin_channel_close(&c->channel);
  free(c->plugin);
  buf_release(&c->argument);
  *c = (struct counted){0};
}
