// Child processes: started from an argv (never a shell), watched in one poll
// loop, and always ended.
//
// A child leads a session and a process group of its own, has no controlling
// terminal and no open file but its three streams, and dies when labgen dies.
// It is done when its process ends; whatever it leaves in its group is killed
// then. A grandchild that makes a group of its own gets away, unless a sandbox
// (sandbox.h) holds it.
#ifndef LABGEN_RUN_CHILD_H
#define LABGEN_RUN_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "labgen/base/buf.h"
#include "labgen/base/error.h"

// Milliseconds of a clock that only goes forward; all deadlines are in it.
int64_t clock_ms(void);

// Limits of setrlimit(2), each for every process of the child; 0 leaves what
// labgen itself has. `processes` counts all of the user's, and root is exempt.
// No child leaves a core file.
struct child_limits {
  uint64_t cpu_s;  // SIGXCPU, and SIGKILL one second later
  uint64_t address_space_bytes;
  uint64_t file_bytes;  // a larger file: SIGXFSZ
  uint64_t processes;
};

enum child_stream { CHILD_STDOUT, CHILD_STDERR };

struct child;

// What to start. Everything is borrowed until the child is released, except
// `argv`, `env`, `dir` and `input`, which are not looked at after the start.
struct child_spec {
  const char *const *argv;  // ends with NULL; argv[0] is searched in PATH
  // The whole environment, ends with NULL. NULL: labgen's PATH, HOME and
  // TMPDIR, and LC_ALL=C.
  const char *const *env;
  const char *dir;  // working directory; NULL: labgen's

  const void *input;  // first bytes of its standard input
  size_t input_len;
  bool keep_input;    // input stays open for child_write()
  bool merge_stderr;  // standard error goes where standard output goes

  int64_t deadline_ms;      // on clock_ms(); 0: none
  int64_t grace_ms;         // from TERM to KILL; 0: 2000
  size_t max_output_bytes;  // both streams together; 0: 16 MiB
  struct child_limits limits;
  // Starts with SIGTERM ignored: for a wrapper that must outlive the TERM to
  // its group, so that the program in it can end in order.
  bool ignore_term;

  // Takes the output as it comes, in place of the result's buffers. May call
  // child_write(), child_close_input() and child_stop().
  void (*on_output)(void *arg, enum child_stream stream, const char *bytes,
                    size_t len);
  void *arg;
};

#define CHILD_ENDS(X)                                   \
  X(CHILD_NOT_STARTED, "was not started")               \
  X(CHILD_RUNNING, "is running")                        \
  X(CHILD_EXITED, "ended by itself")                    \
  X(CHILD_SIGNALLED, "was killed by a signal")          \
  X(CHILD_TIMED_OUT, "was ended at its deadline")       \
  X(CHILD_CAPPED, "was ended for its amount of output") \
  X(CHILD_STOPPED, "was ended on request")

enum child_end {
#define LABGEN_ORDINAL(end, text) end,
  CHILD_ENDS(LABGEN_ORDINAL)
#undef LABGEN_ORDINAL
};

// How it went. A zeroed struct is "not started".
struct child_result {
  enum child_end end;
  int status;           // exit status; -1 unless it exited (whatever `end` is)
  int signal;           // that killed it; 0 unless one did
  struct buf out, err;  // what it wrote, when there was no on_output
  bool lost_output;     // it wrote more than max_output_bytes
  int64_t wall_ms;
  int64_t user_us, system_us;  // CPU time, with that of waited-for descendants
};

// Frees the buffers. Safe on a zeroed struct.
void child_result_release(struct child_result *result);

// Adds words such as "exited with status 2" or "was ended at its deadline".
void child_result_describe(const struct child_result *result, struct buf *b);

// Starts a child, which the caller owns (child_release()). LG_EHARNESS when it
// cannot be started: no such program, no such folder, no more processes.
int child_start(const struct child_spec *spec, struct child **ret_child,
                struct error *err);

// Waits until something happens to one of the children (an end, output,
// a deadline) or clock_ms() reaches `until_ms` (0: no such time), and deals
// with it. Children that have ended are skipped; with none left, it returns at
// once. LG_EHARNESS when SIGINT, SIGTERM or SIGHUP came meanwhile, or in an
// earlier call: all of them are ended then, and child_raise_signal() passes the
// signal on once the caller has tidied up.
int children_poll(struct child *const *children, size_t count, int64_t until_ms,
                  struct error *err);

// Raises the signal that ended a children_poll(), if one did.
void child_raise_signal(void);

bool child_ended(const struct child *child);

// The process, for looking at it in /proc or in tests.
pid_t child_pid(const struct child *child);

// How it went so far, or in the end; borrowed.
const struct child_result *child_result_of(const struct child *child);

// Queues bytes for standard input; the poll loop writes them. Bytes for a child
// that no longer reads are dropped.
void child_write(struct child *child, const void *bytes, size_t len);

// Closes standard input once the queue is written.
void child_close_input(struct child *child);

// Begins to end the child: TERM to its group, KILL after the grace. The poll
// loop sees to the end, which is CHILD_STOPPED.
void child_stop(struct child *child);

// Frees the child; a running one is killed and waited for. NULL is allowed.
void child_release(struct child *child);

// Starts one child and waits for its end. 0 when it was started, however it
// ended: *ret_result (owned by the caller) says how. LG_EHARNESS otherwise.
int child_run(const struct child_spec *spec, struct child_result *ret_result,
              struct error *err);

#endif
