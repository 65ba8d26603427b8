// Measures lock traffic for a student. It judges nothing: what waits depends on
// the host, and is shown beside the start's figures of the same minute.

#include "graders/lockrun.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graders/boot.h"
#include "graders/counted.h"
#include "graders/guest.h"
#include "graders/kernel.h"
#include "graders/locks.h"
#include "graders/pregrade.h"
#include "graders/splice.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

enum { STEP_MS = 300000 };

// The interval that holds the program: the first ends at the Ctrl-P before it.
enum { MEASURED = 1 };

#define WAIT_LINE(text)                                          \
  {                                                              \
    .kind = BOOT_WAIT_LINE, .bytes = text, .timeout_ms = STEP_MS \
  }
#define TYPE(text)                   \
  {                                  \
    .kind = BOOT_SEND, .bytes = text \
  }
#define CTRL_P \
  TYPE(BOOT_CTRL_P), TYPE("echo after\n"), WAIT_LINE("after"), WAIT_LINE("$ ")

static const struct boot_step steps[] = {
    WAIT_LINE("$ "), CTRL_P, TYPE("kchurn\n"), WAIT_LINE("$ "), CTRL_P};

// One kernel and its measurement.
struct measuring {
  const struct public_lab *lab;
  void (*on_progress)(void *arg, const char *doing);
  void *arg;
  const char *doing, *title;
  const struct stock *stock;
  struct kernel_pair pair;
  struct binary kernel, object;
  struct guest guest;
  struct counted counted;
  char *folder;  // owned
};

static void on_round(void *arg, struct boot *boot)
{
  struct measuring *m = arg;

  m->on_progress(m->arg, m->doing);
  if (counted_circle(&m->counted))
    boot_stop(boot, "harts wait for each other in a circle");
}

// ---- the tables ------------------------------------------------------------------

// Whether a lock lies in a variable that the student's file defines.
static bool is_of_file(const struct measuring *m, uint64_t lock)
{
  for (size_t i = 0; i < m->kernel.symbol_count; i++) {
    const struct object_symbol *s = &m->kernel.symbols[i];
    if (!s->defined || s->function || lock < s->value ||
        lock - s->value >= s->size_bytes)
      continue;
    for (size_t k = 0; k < m->object.symbol_count; k++) {
      const struct object_symbol *mine = &m->object.symbols[k];
      if (mine->defined && !mine->function && strcmp(mine->name, s->name) == 0)
        return true;
    }
  }
  return false;
}

// The number at the end of a name, or -1.
static long number_of(const char *name)
{
  const char *end = name + strlen(name), *at = end;

  while (at > name && isdigit((unsigned char)at[-1]))
    at--;
  return at < end ? strtol(at, NULL, 10) : -1;
}

struct totals {
  uint64_t acquired, remote, contended;
};

// One lock's row: acquisitions by each hart.
static void add_row(const struct measuring *m, const struct plugin_interval *in,
                    const struct lock_name *name, struct totals *totals,
                    struct buf *ret)
{
  uint64_t contended = 0, spins = 0;
  long owner = number_of(name->name);

  buf_addf(ret, "  %-8s", name->name);
  for (long hart = 0; hart < m->lab->facts.machine.harts; hart++) {
    uint64_t acquired = 0;
    for (size_t i = 0; i < in->lock_count; i++) {
      const struct lock_use *use = &in->locks[i];
      if (use->lock != name->lock || use->hart != (unsigned)hart)
        continue;
      acquired += use->acquired;
      contended += use->contended;
      spins += use->spins;
    }
    buf_addf(ret, " %10" PRIu64, acquired);
    totals->acquired += acquired;
    totals->remote += owner >= 0 && owner != hart ? acquired : 0;
  }
  totals->contended += contended;
  buf_addf(ret, " %10" PRIu64 " %10" PRIu64 "\n", contended, spins);
}

static void add_table(const struct measuring *m,
                      const struct plugin_interval *in, struct buf *ret)
{
  struct lock_names names = {0};
  struct totals totals = {0};

  lock_names_read(in, &m->kernel, &m->guest, &names);
  buf_addf(ret, "%s\n  %-8s", m->title, "lock");
  for (long hart = 0; hart < m->lab->facts.machine.harts; hart++)
    buf_addf(ret, "  by hart %ld", hart);
  buf_addf(ret, " %10s %10s\n", "contended", "spins");
  for (size_t i = 0; i < names.count; i++)
    if (is_of_file(m, names.names[i].lock))
      add_row(m, in, &names.names[i], &totals, ret);
  double all = totals.acquired > 0 ? (double)totals.acquired : 1;
  buf_addf(ret,
           "  %" PRIu64 " acquisitions, %" PRIu64
           " (%.2f %%) of another CPU's list; %" PRIu64 " (%.2f %%) waited\n",
           totals.acquired, totals.remote, 100.0 * (double)totals.remote / all,
           totals.contended, 100.0 * (double)totals.contended / all);
  lock_names_release(&names);
}

// ---- one boot --------------------------------------------------------------------

static int boot_and_read(struct measuring *m, const char *kernel,
                         struct buf *ret, struct error *err)
{
  struct boot_spec spec = {
      .kernel = kernel,
      .harts = (unsigned)m->lab->facts.machine.harts,
      .memory_mib = (unsigned)m->lab->facts.machine.memory_mib,
      .steps = steps,
      .step_count = sizeof steps / sizeof *steps,
      .timeout_ms = STEP_MS,
      .plugin = m->counted.plugged ? buf_str(&m->counted.argument) : NULL,
      .extra = m->guest.args,
      .arg = m,
      .on_round = on_round,
      .round_ms = 100,
  };
  struct boot *boot = NULL;
  const struct plugin_interval *in = NULL;
  size_t count = 0;
  int rc = boot_run(&spec, &boot, err);

  if (rc == 0)
    in = counted_intervals(&m->counted, &m->guest, &count);
  if (rc == 0 && boot_verdict(boot) == BOOT_COMPLETED && count == 0)
    rc = error_set(err, LG_ENOTFOUND,
                   "no plugin for QEMU, and the locks of " LOCKS_FILE
                   " have no form that can be counted without");
  if (rc == 0 && (boot_verdict(boot) != BOOT_COMPLETED || count <= MEASURED))
    rc = error_set(err, LG_EREFUSED,
                   "%s: kchurn did not come to its end: the kernel %s: %s",
                   m->title, boot_verdict_words(boot_verdict(boot)),
                   boot_detail(boot));
  boot_release(boot);
  if (rc == 0)
    add_table(m, &in[MEASURED], ret);
  return rc;
}

static int measure(struct measuring *m, const struct tree *tree,
                   struct buf *ret, struct error *err)
{
  char *kernel = NULL;
  int rc = kernel_pair_build(m->stock, tree, &m->pair, err);

  if (rc == 0) {
    kernel = counted_kernel(m->stock, &m->pair);
    rc = object_read(kernel, &m->kernel, err);
  }
  rc = rc ? rc : object_read(m->pair.object, &m->object, err);
  rc = rc ? rc
          : guest_open((unsigned)m->lab->facts.machine.memory_mib, NULL,
                       &m->guest, err);
  rc = rc ? rc : file_make_temp_dir(NULL, "labgen-locks", &m->folder, err);
  rc = rc ? rc : counted_open(m->folder, &m->kernel, NULL, &m->counted, err);
  rc = rc ? rc : boot_and_read(m, kernel, ret, err);
  counted_close(&m->counted);
  guest_close(&m->guest);
  object_release(&m->kernel);
  object_release(&m->object);
  kernel_pair_release(&m->pair);
  if (m->folder != NULL)
    file_remove_tree(m->folder, NULL);
  free(m->folder);
  free(kernel);
  return rc;
}

// ---- both ------------------------------------------------------------------------

int lockrun_compare(const struct public_lab *lab, const char *dir,
                    void (*on_progress)(void *arg, const char *doing),
                    void *arg, struct buf *ret, struct error *err)
{
  struct measuring own = {.lab = lab,
                          .on_progress = on_progress,
                          .arg = arg,
                          .doing = "runs kchurn on your kernel",
                          .title = "Your kernel, kchurn:"};
  struct measuring start = own;
  struct stock stock = {0};
  struct tree student = {0}, tree = {0};
  struct buf text = BUF_INIT, notes = BUF_INIT;
  int rc = pregrade_read(lab, dir, &student, &notes, err);

  start.doing = "runs kchurn on the kernel that the lab started from";
  start.title = "\nThe kernel that the lab started from, kchurn:";
  own.stock = start.stock = &stock;
  rc = rc ? rc
          : splice(&lab->start, &student, &lab->facts.submission, &tree, &notes,
                   err);
  on_progress(arg, "compiles");
  rc = rc ? rc : pregrade_stock(lab, &stock, err);
  rc = rc ? rc : measure(&own, &tree, &text, err);
  rc = rc ? rc : measure(&start, &lab->start, &text, err);
  if (rc == 0)
    buf_add(ret, buf_str(&text), text.len);
  stock_close(&stock);
  tree_release(&student);
  tree_release(&tree);
  buf_release(&text);
  buf_release(&notes);
  return rc;
}
