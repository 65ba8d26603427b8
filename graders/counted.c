// Puts the plugin, or counters in the kernel, to use in a boot. Locks that are
// counted are shown, never judged; what the student's code did to the console is
// a check's to judge.

#include "graders/counted.h"

#include <inttypes.h>
#include <stdlib.h>

#include "graders/locks.h"
#include "graders/watch/report.h"
#include "graders/writers.h"
#include "labgen/base/alloc.h"

char *counted_kernel(const struct stock *stock, const struct kernel_pair *pair)
{
  char *plugin = NULL, *kernel = NULL;

  // A tree whose locks cannot be counted so is booted as it is.
  if (plugin_find(&plugin, NULL) == 0 ||
      kernel_counted(stock, pair, &kernel, NULL) != 0)
    kernel = xstrdup(pair->plain);
  free(plugin);
  return kernel;
}

void counted_open_inside(const struct binary *kernel, struct counted *ret)
{
  const struct object_symbol *s = object_find(kernel, "count_report");
  bool fits = s != NULL && s->size_bytes == sizeof(struct count_report);

  *ret = (struct counted){.counters_at = fits ? s->value : 0};
}

int counted_open(const char *folder, const struct binary *kernel,
                 const struct texts *devices, struct counted *ret,
                 struct error *err)
{
  struct counted c = {.plugged = true};
  char *plugin = NULL;

  if (plugin_find(&plugin, NULL) != 0) {
    counted_open_inside(kernel, ret);
    return 0;
  }
  int rc = plugin_channel_open(folder, "plugin", &c.channel, err);
  if (rc == 0) {
    c.plugin = realpath(plugin, NULL);
    struct plugin_spec spec = {.plugin = c.plugin ? c.plugin : plugin,
                               .kernel = kernel,
                               .devices = devices,
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
  return c->plugged && plugin_channel_read(&c->channel, NULL) == 0 &&
         c->channel.report.circle_len > 0;
}

// ---- counters in the kernel ------------------------------------------------------

static struct plugin_interval *interval_of(struct plugin_report *r,
                                           unsigned number)
{
  while (r->interval_count <= number) {
    GROW(r->intervals, r->interval_count, r->interval_room);
    r->intervals[r->interval_count] =
        (struct plugin_interval){.number = r->interval_count + 1};
    r->interval_count++;
  }
  return &r->intervals[number];
}

static void add_row(struct plugin_report *r, unsigned hart,
                    const struct count_row *row)
{
  struct plugin_interval *in = interval_of(r, row->interval);

  GROW(in->locks, in->lock_count, in->lock_room);
  in->locks[in->lock_count++] = (struct lock_use){.lock = row->lock,
                                                  .hart = hart,
                                                  .acquired = row->acquired,
                                                  .contended = row->contended,
                                                  .spins = row->spins,
                                                  .longest = row->longest};
}

// Makes c->from_kernel of the guest's memory. Numbers of intervals are the
// guest's: no more are believed than rows can hold.
static void read_counters(struct counted *c, const struct guest *guest)
{
  struct count_report *memory = xcalloc(1, sizeof *memory);
  struct plugin_report *r = &c->from_kernel;

  plugin_report_release(r);
  if (guest_copy(guest, c->counters_at, sizeof *memory, memory) == 0 &&
      memory->interval < COUNT_ROWS) {
    for (unsigned i = 0; i <= memory->interval; i++)
      interval_of(r, i)->complete = i < memory->interval;
    for (unsigned hart = 0; hart < WATCH_CPUS; hart++) {
      for (size_t i = 0; i < COUNT_ROWS; i++) {
        const struct count_row *row = &memory->harts[hart].rows[i];
        if (row->lock != 0 && row->interval <= memory->interval)
          add_row(r, hart, row);
      }
      r->intervals[memory->interval].lost += memory->harts[hart].lost;
    }
  }
  free(memory);
}

// ---- what was counted ------------------------------------------------------------

const struct plugin_interval *counted_intervals(struct counted *c,
                                                const struct guest *guest,
                                                size_t *ret_count)
{
  struct plugin_report *r = &c->channel.report;

  if (c->plugged) {
    plugin_channel_read(&c->channel, NULL);
  } else {
    r = &c->from_kernel;
    if (c->counters_at != 0)
      read_counters(c, guest);
  }
  *ret_count = r->interval_count;
  return r->intervals;
}

void counted_report(struct counted *c, const struct binary *kernel,
                    const struct guest *guest, struct buf *ret)
{
  size_t count;
  const struct plugin_interval *in = counted_intervals(c, guest, &count);

  for (size_t i = 0; i < count; i++) {
    struct lock_names names = {0};
    if (!in[i].complete)
      continue;
    lock_names_read(&in[i], kernel, guest, &names);
    buf_addf(ret, "interval %" PRIu64 "\n", in[i].number);
    locks_print(&in[i], &names, ret);
    lock_names_release(&names);
  }
}

void counted_tampering(struct counted *c, const struct binary *kernel,
                       const char *kernel_path, const struct stock *stock,
                       uint64_t bytes, struct buf *ret)
{
  if (c->plugged && plugin_channel_read(&c->channel, NULL) == 0)
    writers_tell(&c->channel.report, kernel, kernel_path, stock, bytes, ret);
}

void counted_close(struct counted *c)
{
  if (c->plugged)
    plugin_channel_close(&c->channel);
  plugin_report_release(&c->from_kernel);
  free(c->plugin);
  buf_release(&c->argument);
  *c = (struct counted){0};
}
