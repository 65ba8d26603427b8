// labgen/run/child: what is started, how it ends, and that nothing stays.
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "labgen/base/file.h"
#include "labgen/run/argv.h"
#include "labgen/run/child.h"

#define SHELL(script) ((const char *const[]){"/bin/sh", "-c", script, NULL})

// Runs one child that must start.
static struct child_result run(struct child_spec spec)
{
  struct error err = {0};
  struct child_result result = {0};
  int rc = child_run(&spec, &result, &err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
  return result;
}

static struct child_result run_shell(const char *script)
{
  return run((struct child_spec){.argv = SHELL(script)});
}

static bool alive(pid_t pid)
{
  return kill(pid, 0) == 0 || errno != ESRCH;
}

// Whether the process is gone within a few seconds. A killed process whose
// parent died first is reaped by init, at a time of init's choosing, so a zombie
// counts as gone.
static bool gone(pid_t pid)
{
  for (int i = 0; i < 500 && alive(pid); i++) {
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1 && state == 'Z') {
      fclose(f);
      return true;
    }
    if (f)
      fclose(f);
    usleep(10000);
  }
  return !alive(pid);
}

Test(child, output_and_status_come_back)
{
  struct child_result r = run_shell("echo out; echo err >&2; exit 3");
  cr_assert_eq(r.end, CHILD_EXITED);
  cr_assert_eq(r.status, 3);
  cr_assert_eq(r.signal, 0);
  cr_assert_str_eq(buf_str(&r.out), "out\n");
  cr_assert_str_eq(buf_str(&r.err), "err\n");
  cr_assert_not(r.lost_output);
  child_result_release(&r);
}

Test(child, a_signal_is_not_an_exit)
{
  struct child_result r = run_shell("kill -SEGV $$");
  cr_assert_eq(r.end, CHILD_SIGNALLED);
  cr_assert_eq(r.signal, SIGSEGV);
  cr_assert_eq(r.status, -1);
  child_result_release(&r);
}

Test(child, every_end_has_words)
{
  struct buf b = BUF_INIT;
  struct child_result r = {.end = CHILD_EXITED, .status = 7};
  child_result_describe(&r, &b);
  buf_addc(&b, '\n');
  r = (struct child_result){.end = CHILD_SIGNALLED, .signal = SIGKILL};
  child_result_describe(&r, &b);
  buf_addc(&b, '\n');
  r = (struct child_result){0};
  child_result_describe(&r, &b);
  cr_assert_str_eq(buf_str(&b),
                   "exited with status 7\n"
                   "was killed by signal 9 (Killed)\n"
                   "was not started");
  buf_release(&b);
}

Test(child, a_missing_program_is_not_started)
{
  struct error err = {0};
  struct child_result r = {0};
  struct child_spec spec = {.argv =
                                (const char *const[]){"no-such-program", NULL}};
  cr_assert_eq(child_run(&spec, &r, &err), LG_EHARNESS);
  cr_assert_eq(r.end, CHILD_NOT_STARTED);
  cr_assert_str_eq(err.message,
                   "cannot start no-such-program: no such program in PATH");
  error_release(&err);
}

Test(child, what_cannot_be_executed_is_not_started)
{
  struct error err = {0};
  struct child *child = NULL;
  struct child_spec spec = {.argv = (const char *const[]){"/etc", NULL}};
  cr_assert_eq(child_start(&spec, &child, &err), LG_EHARNESS);
  cr_assert_null(child);
  cr_assert_str_eq(err.message,
                   "cannot start /etc: executing it: Permission denied");
  error_release(&err);
  cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "nothing is left to reap");
  cr_assert_eq(errno, ECHILD);
}

Test(child, a_missing_folder_is_not_started)
{
  struct error err = {0};
  struct child_result r = {0};
  struct child_spec spec = {.argv = SHELL(":"), .dir = "/nowhere"};
  cr_assert_eq(child_run(&spec, &r, &err), LG_EHARNESS);
  cr_assert_str_eq(err.message,
                   "cannot start /bin/sh: entering its folder /nowhere: "
                   "No such file or directory");
  error_release(&err);
}

Test(child, runs_in_the_folder_it_is_given)
{
  struct child_result r =
      run((struct child_spec){.argv = SHELL("pwd"), .dir = "/usr/bin"});
  cr_assert_str_eq(buf_str(&r.out), "/usr/bin\n");
  child_result_release(&r);
}

Test(child, has_only_the_environment_it_is_given)
{
  struct child_result r = run((struct child_spec){
      .argv = (const char *const[]){"env", NULL},
      .env = (const char *const[]){"PATH=/usr/bin", "A=b c", NULL}});
  cr_assert_str_eq(buf_str(&r.out), "PATH=/usr/bin\nA=b c\n");
  child_result_release(&r);

  setenv("LABGEN_SECRET", "x", 1);
  r = run((struct child_spec){.argv = (const char *const[]){"env", NULL}});
  cr_assert_null(strstr(buf_str(&r.out), "LABGEN_SECRET"));
  cr_assert_not_null(strstr(buf_str(&r.out), "LC_ALL=C\n"));
  child_result_release(&r);
}

Test(child, is_searched_in_its_own_path)
{
  struct error err = {0};
  struct child_result r = {0};
  struct child_spec spec = {
      .argv = (const char *const[]){"env", NULL},
      .env = (const char *const[]){"PATH=/nowhere::/etc", NULL}};
  cr_assert_eq(child_run(&spec, &r, &err), LG_EHARNESS);
  error_release(&err);
}

Test(child, inherits_no_file_and_no_signal_state)
{
  cr_assert_eq(dup2(STDERR_FILENO, 77), 77);  // without FD_CLOEXEC
  signal(SIGINT, SIG_IGN);
  signal(SIGCHLD, SIG_IGN);
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sigprocmask(SIG_BLOCK, &usr1, NULL);
  struct child_result r = run_shell(
      "grep -E 'SigBlk|SigIgn' /proc/self/status; test -e /proc/$$/fd/77");
  // Signals 32 and 33 are the C library's own, and nobody else can set them.
  uint64_t blocked = 1, ignored = 1, own = 3ull << 31;
  cr_assert_eq(
      sscanf(buf_str(&r.out), "SigBlk: %lx SigIgn: %lx", &blocked, &ignored),
      2);
  cr_assert_eq(blocked & ~own, 0);
  cr_assert_eq(ignored & ~own, 0);
  cr_assert_eq(r.status, 1);
  child_result_release(&r);
}

Test(child, leads_a_session_of_its_own)
{
  // Fields of proc(5)'s stat: group, session, terminal.
  struct child_result r =
      run_shell("echo $$ $$ 0; cut -d' ' -f5-7 /proc/$$/stat");
  const char *ids = buf_str(&r.out);
  size_t len = strcspn(ids, "\n");
  cr_assert_eq(strncmp(ids, ids + len + 1, len), 0, "%s", ids);
  child_result_release(&r);
}

Test(child, no_input_is_end_of_file)
{
  struct child_result r = run_shell("cat; echo done");
  cr_assert_str_eq(buf_str(&r.out), "done\n");
  child_result_release(&r);
}

Test(child, a_large_input_passes_through_while_output_flows)
{
  size_t len = 3 << 20;
  char *bytes = malloc(len);
  for (size_t i = 0; i < len; i++)
    bytes[i] = (char)(i * 2654435761u >> 13);
  struct child_result r =
      run((struct child_spec){.argv = (const char *const[]){"cat", NULL},
                              .input = bytes,
                              .input_len = len});
  cr_assert_eq(r.end, CHILD_EXITED);
  cr_assert_eq(r.out.len, len);
  cr_assert_eq(memcmp(r.out.data, bytes, len), 0);
  free(bytes);
  child_result_release(&r);
}

Test(child, input_that_nobody_reads_is_no_failure)
{
  size_t len = 1 << 20;
  char *bytes = calloc(len, 1);
  struct child_result r =
      run((struct child_spec){.argv = SHELL("exec <&-; sleep 0.1; exit 5"),
                              .input = bytes,
                              .input_len = len});
  cr_assert_eq(r.end, CHILD_EXITED);
  cr_assert_eq(r.status, 5);
  free(bytes);
  child_result_release(&r);
}

Test(child, streams_can_be_merged)
{
  struct child_result r = run((struct child_spec){
      .argv = SHELL("echo a; echo b >&2; echo c"), .merge_stderr = true});
  cr_assert_str_eq(buf_str(&r.out), "a\nb\nc\n");
  cr_assert_eq(r.err.len, 0);
  child_result_release(&r);
}

Test(child, is_done_when_it_ends_not_when_its_output_ends)
{
  // The sleeper keeps the output open, and must not outlive its group.
  int64_t start = clock_ms();
  struct child_result r = run_shell("sleep 300 & echo $!");
  cr_assert_eq(r.end, CHILD_EXITED);
  cr_assert_lt(clock_ms() - start, 100000);
  cr_assert(gone(atoi(buf_str(&r.out))));
  child_result_release(&r);
}

Test(child, that_closes_its_output_is_still_waited_for)
{
  struct child_result r = run_shell("exec >&- 2>&-; sleep 0.2; exit 4");
  cr_assert_eq(r.end, CHILD_EXITED);
  cr_assert_eq(r.status, 4);
  child_result_release(&r);
}

Test(child, that_got_away_does_not_hold_the_pipe)
{
  // setsid leaves the group; labgen only promises not to wait for it.
  struct child_result r = run_shell(
      "export F=$(mktemp -u);"
      "setsid sh -c 'echo $$; : >$F; exec sleep 300' &"
      "while [ ! -e $F ]; do sleep 0.05; done; rm $F");
  pid_t pid = atoi(buf_str(&r.out));
  cr_assert_eq(r.end, CHILD_EXITED);
  cr_assert_gt(pid, 1);
  cr_assert(alive(pid));
  kill(pid, SIGKILL);
  child_result_release(&r);
}

Test(child, is_ended_at_its_deadline)
{
  struct child_result r = run((struct child_spec){
      .argv = SHELL("exec sleep 300"), .deadline_ms = clock_ms() + 200});
  cr_assert_eq(r.end, CHILD_TIMED_OUT);
  cr_assert_eq(r.signal, SIGTERM);
  cr_assert_eq(r.status, -1);
  child_result_release(&r);
}

// Starts a child and stops it once it has written something, by which it says
// that it is ready. The caller releases it.
static struct child *stop_when_ready(const struct child_spec *spec)
{
  struct child *child = NULL;
  cr_assert_eq(child_start(spec, &child, NULL), 0);
  while (child_result_of(child)->out.len == 0) {
    cr_assert_not(child_ended(child));
    cr_assert_eq(children_poll(&child, 1, 0, NULL), 0);
  }
  child_stop(child);
  while (!child_ended(child))
    cr_assert_eq(children_poll(&child, 1, 0, NULL), 0);
  cr_assert_eq(child_result_of(child)->end, CHILD_STOPPED);
  return child;
}

Test(child, is_ended_with_its_whole_group)
{
  struct child_spec spec = {
      .argv = SHELL("sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; "
                    "done' & wait"),
      .grace_ms = 200};
  struct child *child = stop_when_ready(&spec);
  pid_t grandchild = atoi(buf_str(&child_result_of(child)->out));
  cr_assert_gt(grandchild, 1);
  cr_assert(gone(grandchild));
  child_release(child);
}

Test(child, that_ignores_term_is_killed_after_the_grace)
{
  struct child_spec spec = {
      .argv = SHELL("trap '' TERM; echo ready; while :; do sleep 1; done"),
      .grace_ms = 200};
  struct child *child = stop_when_ready(&spec);
  cr_assert_eq(child_result_of(child)->signal, SIGKILL);
  child_release(child);
}

Test(child, has_its_last_words_after_term)
{
  struct child_spec spec = {
      .argv = SHELL("trap 'echo last; exit 0' TERM; echo first;"
                    "while :; do sleep 0.05; done"),
      .grace_ms = 60000};
  struct child *child = stop_when_ready(&spec);
  cr_assert_eq(child_result_of(child)->status, 0);
  cr_assert_str_eq(buf_str(&child_result_of(child)->out), "first\nlast\n");
  child_release(child);
}

Test(child, that_is_stopped_ends_at_its_deadline_too)
{
  struct child_result r = run((struct child_spec){
      .argv = SHELL("kill -STOP $$"), .deadline_ms = clock_ms() + 300});
  cr_assert_eq(r.end, CHILD_TIMED_OUT);
  cr_assert_eq(r.signal, SIGTERM);
  child_result_release(&r);
}

Test(child, may_start_with_term_ignored)
{
  struct child_result r =
      run((struct child_spec){.argv = SHELL("sleep 60"),
                              .ignore_term = true,
                              .deadline_ms = clock_ms() + 300,
                              .grace_ms = 200});
  cr_assert_eq(r.end, CHILD_TIMED_OUT);
  cr_assert_eq(r.signal, SIGKILL);
  child_result_release(&r);
}

Test(child, output_is_capped)
{
  struct child_result r = run((struct child_spec){
      .argv = (const char *const[]){"yes", NULL}, .max_output_bytes = 100000});
  cr_assert_eq(r.end, CHILD_CAPPED);
  cr_assert(r.lost_output);
  cr_assert_eq(r.out.len, 100000);
  child_result_release(&r);
}

Test(child, output_up_to_the_cap_is_fine)
{
  struct child_result r = run((struct child_spec){
      .argv = SHELL("printf 12345; printf 678 >&2"), .max_output_bytes = 8});
  cr_assert_eq(r.end, CHILD_EXITED);
  cr_assert_not(r.lost_output);
  child_result_release(&r);

  r = run((struct child_spec){
      .argv = SHELL("printf 12345; printf 6789 >&2; exit 0"),
      .max_output_bytes = 8});
  cr_assert(r.lost_output);
  cr_assert_eq(r.out.len + r.err.len, 8);
  child_result_release(&r);
}

Test(child, cpu_time_is_limited)
{
  struct child_result r = run((struct child_spec){
      .argv = SHELL("while :; do :; done"), .limits = {.cpu_s = 1}});
  cr_assert_eq(r.end, CHILD_SIGNALLED);
  cr_assert_eq(r.signal, SIGXCPU);
  cr_assert_gt(r.user_us + r.system_us, 100000);
  child_result_release(&r);
}

Test(child, file_size_is_limited)
{
  struct error err = {0};
  char *dir = NULL;
  file_make_temp_dir(NULL, "test-child", &dir, &err);
  struct child_result r = run(
      (struct child_spec){.argv = SHELL("exec head -c 100000 /dev/zero > big"),
                          .dir = dir,
                          .limits = {.file_bytes = 5000}});
  cr_assert_eq(r.end, CHILD_SIGNALLED);
  cr_assert_eq(r.signal, SIGXFSZ);
  struct buf text = BUF_INIT;
  char *path = path_join(dir, "big");
  cr_assert_eq(file_read(path, 1 << 20, &text, &err), 0);
  cr_assert_eq(text.len, 5000);
  free(path);
  buf_release(&text);
  child_result_release(&r);
  cr_assert_eq(file_remove_tree(dir, &err), 0);
  free(dir);
}

Test(child, address_space_and_core_and_processes_are_limited)
{
  struct child_result r = run((struct child_spec){
      .argv = SHELL("ulimit -v; ulimit -c; ulimit -p"),
      .limits = {.address_space_bytes = 512 << 20, .processes = 1234}});
  cr_assert_str_eq(buf_str(&r.out), "524288\n0\n1234\n", "%s", buf_str(&r.err));
  child_result_release(&r);
}

Test(child, cpu_time_of_descendants_is_counted)
{
  struct child_result r =
      run_shell("sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'");
  cr_assert_gt(r.user_us + r.system_us, 0);
  cr_assert_gt(r.wall_ms, 0);
  child_result_release(&r);
}

// --- Talking to a running child -----------------------------------------------

struct talk {
  struct child *child;
  struct buf heard;
  int answers;
};

static void answer(void *arg, enum child_stream stream, const char *bytes,
                   size_t len)
{
  struct talk *talk = arg;
  cr_assert_eq(stream, CHILD_STDOUT);
  buf_add(&talk->heard, bytes, len);
  while (memchr(bytes, '?', len)) {
    const char *at = memchr(bytes, '?', len);
    len -= (size_t)(at + 1 - bytes);
    bytes = at + 1;
    if (++talk->answers <= 2)
      child_write(talk->child, "yes\n", 4);
    else
      child_close_input(talk->child);
  }
}

Test(child, can_be_talked_to_while_it_runs)
{
  struct error err = {0};
  struct talk talk = {0};
  struct child_spec spec = {
      .argv = SHELL("for i in 1 2 3; do printf 'more?'; read x || echo eof;"
                    "echo $x; done"),
      .keep_input = true,
      .on_output = answer,
      .arg = &talk};
  cr_assert_eq(child_start(&spec, &talk.child, &err), 0);
  while (!child_ended(talk.child))
    cr_assert_eq(children_poll(&talk.child, 1, 0, &err), 0);
  cr_assert_str_eq(buf_str(&talk.heard), "more?yes\nmore?yes\nmore?eof\n\n");
  cr_assert_eq(child_result_of(talk.child)->end, CHILD_EXITED);
  cr_assert_eq(child_result_of(talk.child)->out.len, 0);
  child_release(talk.child);
  buf_release(&talk.heard);
}

Test(child, several_run_in_one_loop)
{
  enum { COUNT = 4 };
  struct error err = {0};
  struct child *children[COUNT] = {0};
  for (int i = 0; i < COUNT; i++) {
    char script[64];
    snprintf(script, sizeof script, "sleep %s%d; echo %d; exit %d",
             i == 3 ? "30" : "0.", i, i, i);
    struct child_spec spec = {.argv = SHELL(script)};
    cr_assert_eq(child_start(&spec, &children[i], &err), 0);
  }
  while (!child_ended(children[0]) || !child_ended(children[1]) ||
         !child_ended(children[2]))
    cr_assert_eq(children_poll(children, COUNT, 0, &err), 0);
  for (int i = 0; i < 3; i++) {
    cr_assert_eq(child_result_of(children[i])->status, i);
    cr_assert_eq(child_result_of(children[i])->out.data[0], '0' + i);
  }
  cr_assert_not(child_ended(children[3]));
  child_stop(children[3]);
  while (!child_ended(children[3]))
    children_poll(children, COUNT, 0, &err);
  cr_assert_eq(child_result_of(children[3])->end, CHILD_STOPPED);
  cr_assert_eq(child_result_of(children[3])->signal, SIGTERM);
  for (int i = 0; i < COUNT; i++)
    child_release(children[i]);
}

Test(child, a_poll_returns_at_its_own_time)
{
  struct error err = {0};
  struct child *child = NULL;
  struct child_spec spec = {.argv = SHELL("sleep 300")};
  cr_assert_eq(child_start(&spec, &child, &err), 0);
  int64_t until = clock_ms() + 50;
  cr_assert_eq(children_poll(&child, 1, until, &err), 0);
  cr_assert_geq(clock_ms(), until);
  cr_assert_not(child_ended(child));
  pid_t pid = child_pid(child);
  child_release(child);
  cr_assert_not(alive(pid));
}

// Starts a copy of this test that runs `labgen_part` and returns its pid.
static pid_t fork_part(void (*labgen_part)(int), int report)
{
  pid_t pid = fork();
  if (pid == 0) {
    // What was started in the background may ignore the user's signals.
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    labgen_part(report);
    _exit(0);
  }
  return pid;
}

static void start_sleeper_and_hang(int report)
{
  struct child *child = NULL;
  struct child_spec spec = {.argv = SHELL("exec sleep 300")};
  if (child_start(&spec, &child, NULL) != 0)
    _exit(1);
  pid_t pid = child_pid(child);
  if (write(report, &pid, sizeof pid) != sizeof pid)
    _exit(1);
  while (!child_ended(child) && children_poll(&child, 1, 0, NULL) == 0)
    continue;
  child_release(child);
  // Whatever is started while the caller unwinds ends as soon.
  if (child_run(&spec, &(struct child_result){0}, NULL) != LG_EHARNESS)
    _exit(1);
  child_raise_signal();
}

static void run_part_and_end_it(int sig)
{
  int report[2];
  pid_t sleeper = 0;
  int status;
  cr_assert_eq(pipe(report), 0);
  pid_t pid = fork_part(start_sleeper_and_hang, report[1]);
  cr_assert_eq(read(report[0], &sleeper, sizeof sleeper), sizeof sleeper);
  cr_assert(alive(sleeper));
  kill(pid, sig);
  cr_assert_eq(waitpid(pid, &status, 0), pid);
  cr_assert(WIFSIGNALED(status));
  cr_assert_eq(WTERMSIG(status), sig);
  cr_assert(gone(sleeper));
}

Test(child, dies_when_labgen_is_killed)
{
  run_part_and_end_it(SIGKILL);
}

Test(child, is_ended_in_order_when_the_user_interrupts)
{
  run_part_and_end_it(SIGINT);
  run_part_and_end_it(SIGTERM);
}

Test(child, can_be_waited_for_where_dead_children_are_ignored)
{
  signal(SIGCHLD, SIG_IGN);
  struct child_result r = run_shell("exit 6");
  cr_assert_eq(r.end, CHILD_EXITED);
  cr_assert_eq(r.status, 6);
  child_result_release(&r);
}

Test(child, starts_where_labgen_has_no_standard_streams)
{
  int saved[3];
  for (int i = 0; i < 3; i++) {
    saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
    close(i);
  }
  struct child_result r = {0};
  struct child_spec spec = {.argv = SHELL("cat; echo out; echo err >&2"),
                            .input = "in\n",
                            .input_len = 3};
  int rc = child_run(&spec, &r, NULL);
  for (int i = 0; i < 3; i++)
    dup2(saved[i], i);
  cr_assert_eq(rc, 0);
  cr_assert_str_eq(buf_str(&r.out), "in\nout\n");
  cr_assert_str_eq(buf_str(&r.err), "err\n");
  child_result_release(&r);
}
