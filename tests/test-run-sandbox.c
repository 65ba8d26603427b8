// labgen/run/sandbox: what a sandboxed command really reaches.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "labgen/base/file.h"
#include "labgen/run/child.h"
#include "labgen/run/sandbox.h"

static char *base;

// Where the host forbids namespaces there is nothing to test.
static void need_namespaces(void)
{
  struct child_result r = {0};
  const char *const argv[] = {
      "bwrap", "--unshare-user", "--unshare-net", "--ro-bind", "/", "/", "true",
      NULL};
  struct child_spec spec = {.argv = argv};
  if (child_run(&spec, &r, NULL) == 0 && r.status != 0)
    cr_skip_test("bubblewrap is not allowed here: %s", buf_str(&r.err));
  child_result_release(&r);
}

static void make_base(void)
{
  need_namespaces();
  cr_assert_eq(file_make_temp_dir(NULL, "test-sandbox", &base, NULL), 0);
}

static void remove_base(void)
{
  file_remove_tree(base, NULL);
  free(base);
}

TestSuite(sandbox, .init = make_base, .fini = remove_base);

static char *put(const char *name, const char *text)
{
  char *path = path_join(base, name);
  cr_assert_eq(file_write(path, text, strlen(text), 0644, NULL), 0);
  return path;
}

static struct child_result run(struct sandbox sandbox, const char *script)
{
  struct error err = {0};
  struct child_result result = {0};
  struct argv argv = {0};
  const char *const command[] = {"/bin/sh", "-c", script, NULL};
  sandbox_argv(&sandbox, command, &argv);
  struct child_spec spec = {.argv = argv_list(&argv), .merge_stderr = true};
  int rc = child_run(&spec, &result, &err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
  argv_release(&argv);
  return result;
}

static void expect(struct sandbox sandbox, const char *script, int status,
                   const char *text)
{
  struct child_result r = run(sandbox, script);
  cr_expect_eq(r.end, CHILD_EXITED);
  cr_expect_eq(r.status, status, "%s: %s", script, buf_str(&r.out));
  cr_expect_not_null(strstr(buf_str(&r.out), text), "%s: %s", script,
                     buf_str(&r.out));
  child_result_release(&r);
}

// A child that has written something.
static struct child *start_until_output(const struct child_spec *spec)
{
  struct child *child = NULL;
  cr_assert_eq(child_start(spec, &child, NULL), 0);
  while (child_result_of(child)->out.len == 0) {
    cr_assert_not(child_ended(child));
    cr_assert_eq(children_poll(&child, 1, 0, NULL), 0);
  }
  return child;
}

Test(sandbox, works_here)
{
  struct error err = {0};
  int rc = sandbox_check(&err);
  cr_assert_eq(rc, 0, "%s", err.message ? err.message : "");
}

Test(sandbox, that_is_missing_says_what_to_do)
{
  struct error err = {0};
  setenv("PATH", "/nowhere", 1);
  cr_assert_eq(sandbox_check(&err), LG_EHARNESS);
  cr_assert_not_null(strstr(err.message, "cannot start bwrap"));
  cr_assert_not_null(strstr(err.message, "--no-sandbox"));
  error_release(&err);
}

Test(sandbox, that_is_forbidden_says_what_bwrap_said)
{
  struct error err = {0};
  char *bwrap = put("bwrap", "#!/bin/sh\necho No permissions >&2\nexit 1\n");
  cr_assert_eq(chmod(bwrap, 0755), 0);
  setenv("PATH", base, 1);
  cr_assert_eq(sandbox_check(&err), LG_EHARNESS);
  cr_assert_not_null(strstr(err.message, "status 1: No permissions)"));
  cr_assert_not_null(strstr(err.message, "--no-sandbox"));
  free(bwrap);
  error_release(&err);
}

Test(sandbox, shows_only_what_it_is_told_to)
{
  char *shown = put("shown", "seen"), *hidden = put("hidden", "unseen");
  const char *const list[] = {shown, NULL};
  struct sandbox s = {.read_only = list};
  char script[512];
  snprintf(script, sizeof script, "cat %s", shown);
  expect(s, script, 0, "seen");
  snprintf(script, sizeof script, "cat %s", hidden);
  expect(s, script, 1, "No such file");
  expect(s, "cat /etc/passwd", 1, "No such file");
  expect(s, "ls -A /root /home /var", 2, "No such file");
  snprintf(script, sizeof script, "cat /proc/%d/environ", (int)getpid());
  expect(s, script, 1, "No such file");
  free(shown);
  free(hidden);
}

Test(sandbox, writes_only_where_it_may)
{
  char *shown = put("shown", "old"), *out = path_join(base, "out");
  const char *const list[] = {shown, NULL};
  struct sandbox s = {.read_only = list, .writable = out};
  char script[512];
  cr_assert_eq(file_mkdirs(out, NULL), 0);
  expect(s, "pwd; echo new > made; cat made", 0, "new");
  char *made = path_join(out, "made");
  cr_assert(file_exists(made));
  snprintf(script, sizeof script, "echo x > %s", shown);
  expect(s, script, 2, "Read-only");
  expect(s, "echo x > /usr/x", 2, "Read-only");
  expect(s, "echo x > /x", 2, "Read-only");
  expect(s, "echo x > /dev/shm/x", 2, "Read-only");
  expect(s, "echo x > /tmp/sandbox-made; cat /tmp/sandbox-made", 0, "x");
  cr_assert_not(file_exists("/tmp/sandbox-made"));
  expect(s, "head -c 300000000 /dev/zero > /tmp/x", 1, "No space");
  free(made);
  free(shown);
  free(out);
}

Test(sandbox, can_protect_a_part_of_the_writable_folder)
{
  char *kept = put("kept", "old");
  const char *const list[] = {kept, NULL};
  struct sandbox s = {.read_only = list, .writable = base};
  expect(s, "echo x > other && echo x > kept", 2, "Read-only");
  free(kept);
}

Test(sandbox, has_no_network)
{
  // A server on this host's loopback, which is not the sandbox's.
  int server = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof at;
  cr_assert_eq(bind(server, (struct sockaddr *)&at, len), 0);
  cr_assert_eq(listen(server, 4), 0);
  cr_assert_eq(getsockname(server, (struct sockaddr *)&at, &len), 0);
  char script[512];
  snprintf(script, sizeof script,
           "python3 -c 'import socket;"
           "socket.create_connection((\"127.0.0.1\", %d), 5)'",
           ntohs(at.sin_port));
  expect((struct sandbox){.off = true}, script, 0, "");
  expect((struct sandbox){0}, script, 1, "Connection refused");
  expect((struct sandbox){0}, "tail -n +3 /proc/net/dev | grep -vc lo:", 1,
         "0");
  close(server);
}

Test(sandbox, has_no_privileges_and_no_terminal)
{
  expect((struct sandbox){0}, "grep CapEff /proc/self/status", 0,
         "0000000000000000");
  expect((struct sandbox){0}, "grep NoNewPrivs /proc/self/status", 0, "1");
  expect((struct sandbox){0}, "echo x > /dev/tty", 2, "/dev/tty");
}

Test(sandbox, off_is_the_command_itself)
{
  expect((struct sandbox){.off = true}, "test -e /etc/passwd; echo $?", 0, "0");
}

Test(sandbox, dies_with_everything_in_it)
{
  // The sleeper's group is not the sandbox's, but the namespace is.
  struct argv argv = {0};
  const char *const command[] = {
      "/bin/sh", "-c", "setsid sleep 299.125 & echo up; sleep 299", NULL};
  sandbox_argv(&(struct sandbox){0}, command, &argv);
  struct child_spec spec = {.argv = argv_list(&argv)};
  child_release(start_until_output(&spec));
  argv_release(&argv);
  struct child_result r = {0};
  const char *const look[] = {
      "/bin/sh", "-c",
      "for i in $(seq 100); do grep -qz 299[.]125 /proc/[0-9]*/cmdline "
      "2>/dev/null || exit 0; sleep 0.05; done; exit 1",
      NULL};
  spec = (struct child_spec){.argv = look};
  cr_assert_eq(child_run(&spec, &r, NULL), 0);
  cr_assert_eq(r.status, 0);
  child_result_release(&r);
}

Test(sandbox, lets_a_command_end_in_order_when_term_is_ignored_outside)
{
  // Shells cannot catch a signal that was ignored when they started; QEMU and
  // python can.
  struct argv argv = {0};
  const char *const command[] = {
      "python3", "-c",
      "import signal, sys, time\n"
      "signal.signal(signal.SIGTERM, lambda *a: (print('last'), sys.exit(0)))\n"
      "print('up', flush=True)\n"
      "time.sleep(300)",
      NULL};
  sandbox_argv(&(struct sandbox){0}, command, &argv);
  struct child_spec spec = {
      .argv = argv_list(&argv), .ignore_term = true, .grace_ms = 60000};
  struct child *child = start_until_output(&spec);
  child_stop(child);
  while (!child_ended(child))
    cr_assert_eq(children_poll(&child, 1, 0, NULL), 0);
  const struct child_result *r = child_result_of(child);
  cr_assert_eq(r->end, CHILD_STOPPED);
  cr_assert_eq(r->status, 0);
  cr_assert_str_eq(buf_str(&r->out), "up\nlast\n");
  child_release(child);
  argv_release(&argv);
}
