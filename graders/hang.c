// Runs gdb-multiarch in batch mode with the script hang.py, which knows only
// what every kernel of this family has: acquire(lk), struct spinlock, cpus[],
// proc[]. No symbol of the student's is assumed.

#include "graders/hang.h"

#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/argv.h"
#include "labgen/run/child.h"
#include "labgen/run/sandbox.h"

enum { GDB_MS = 10000, GDB_CPU_S = 10, GDB_BYTES = 1 << 20 };
// A kernel's debug information can ask for any amount.
#define GDB_ADDRESS_BYTES (2ull << 30)

static void gdb_argv(const char *kernel, const char *socket, const char *script,
                     struct argv *ret)
{
  static const char *const start[] = {
      "gdb-multiarch", "-q",
      "-nx",           "-batch",
      "-ex",           "set confirm off",
      "-ex",           "set pagination off",
      "-ex",           "set architecture riscv:rv64",
      "-ex",           NULL};
  argv_add_all(ret, start);
  argv_addf(ret, "target remote %s", socket);
  argv_add(ret, "-x");
  argv_add(ret, script);
  argv_add(ret, kernel);
}

// Adds the report, or why there is none.
static void add_result(const struct child_result *r, struct buf *ret)
{
  // What gdb says itself comes before the script's first line.
  static const char first[] = "== hang ==\n";
  const char *report = strstr(buf_str(&r->out), first);
  if (report != NULL)
    buf_adds(ret, report + sizeof first - 1);
  if (r->end == CHILD_EXITED && r->status == 0 && report != NULL)
    return;
  buf_adds(ret, report ? "the report on the hang is cut: "
                       : "no report on the hang: ");
  buf_adds(ret, "gdb-multiarch ");
  child_result_describe(r, ret);
  buf_addc(ret, '\n');
  buf_add(ret, buf_str(&r->err), r->err.len);
}

void hang_report(const char *kernel, const char *socket, bool sandbox,
                 struct buf *ret)
{
  const char *data = NULL;
  struct argv gdb = {0}, argv = {0};
  struct child_result result = {0};
  struct error err = {0};
  int rc = data_dir(&data, &err);

  if (rc == 0) {
    char *script = path_join(data, "graders/hang.py");
    const char *shown[] = {script, kernel, socket, NULL};
    struct sandbox box = {.off = !sandbox, .read_only = shown};
    gdb_argv(kernel, socket, script, &gdb);
    sandbox_argv(&box, argv_list(&gdb), &argv);
    struct child_spec spec = {
        .argv = argv_list(&argv),
        .deadline_ms = clock_ms() + GDB_MS,
        .max_output_bytes = GDB_BYTES,
        .limits = {.cpu_s = GDB_CPU_S,
                   .address_space_bytes = GDB_ADDRESS_BYTES,
                   .file_bytes = GDB_BYTES},
    };
    rc = child_run(&spec, &result, &err);
    free(script);
  }
  if (rc == 0)
    add_result(&result, ret);
  else
    buf_addf(ret, "no report on the hang: %s\n", err.message);
  error_release(&err);
  child_result_release(&result);
  argv_release(&gdb);
  argv_release(&argv);
}
