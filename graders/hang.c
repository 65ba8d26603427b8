// Runs gdb-multiarch in batch mode with the script hang.py, which knows only
// what every kernel of this family has: acquire(lk), struct spinlock, cpus[],
// proc[]. No symbol of the student's is assumed.

#include "graders/hang.h"

#include <stdlib.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/argv.h"
#include "labgen/run/child.h"

enum { GDB_MS = 10000, GDB_BYTES = 1 << 20 };

void hang_report(const char *kernel, const char *socket, struct buf *ret)
{
  const char *data = NULL;
  struct argv argv = {0};
  struct child_result result = {0};
  struct error err = {0};

  if (data_dir(&data, &err) != 0) {
    buf_addf(ret, "no report on the hang: %s\n", err.message);
    error_release(&err);
    return;
  }
  argv_add_all(&argv, (const char *const[]){"gdb-multiarch", "-q", "-nx",
                                            "-batch", NULL});
  argv_add_all(&argv, (const char *const[]){
                          "-ex", "set confirm off", "-ex", "set pagination off",
                          "-ex", "set architecture riscv:rv64", NULL});
  argv_add(&argv, "-ex");
  argv_addf(&argv, "target remote %s", socket);
  argv_add(&argv, "-x");
  argv_addf(&argv, "%s/graders/hang.py", data);
  argv_add(&argv, kernel);
  struct child_spec spec = {
      .argv = argv_list(&argv),
      .deadline_ms = clock_ms() + GDB_MS,
      .max_output_bytes = GDB_BYTES,
  };
  if (child_run(&spec, &result, &err) != 0) {
    buf_addf(ret, "no report on the hang: %s\n", err.message);
  } else {
    // What gdb says itself comes before the script's first line.
    const char *report = strstr(buf_str(&result.out), "== hang ==\n");
    if (report != NULL)
      buf_adds(ret, report + sizeof "== hang ==\n" - 1);
    else
      buf_addf(ret, "no report on the hang: gdb said\n%s",
               buf_str(&result.err));
  }
  error_release(&err);
  child_result_release(&result);
  argv_release(&argv);
}
