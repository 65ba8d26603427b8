// The command line of bubblewrap, bwrap(1). It bounds what a command reaches,
// not how much it uses. Its --new-session is left out: child_start() has made a
// session without a terminal already, and the command must stay in the process
// group that TERM goes to.
#include "labgen/run/sandbox.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/run/child.h"

#define TMP_BYTES "268435456"

static bool is_inside(const char *path, const char *dir)
{
  size_t len = dir ? strlen(dir) : 0;
  return len && strncmp(path, dir, len) == 0 &&
         (path[len] == '/' || path[len] == '\0' || dir[len - 1] == '/');
}

static void bind(struct argv *a, const char *kind, const char *path)
{
  argv_add(a, kind);
  argv_add(a, path);
  argv_add(a, path);
}

// The system's folders: links into /usr on merged systems, else folders.
static void add_system(struct argv *a)
{
  static const char *const folders[] = {"/bin", "/sbin", "/lib", "/lib32",
                                        "/lib64"};
  // What the dynamic linker and Debian's alternative commands look up.
  static const char *const files[] = {"/etc/ld.so.cache", "/etc/alternatives"};
  bind(a, "--ro-bind", "/usr");
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    char target[256];
    ssize_t n = readlink(folders[i], target, sizeof target - 1);
    if (n > 0) {
      target[n] = '\0';
      argv_add(a, "--symlink");
      argv_add(a, target);
      argv_add(a, folders[i]);
    } else {
      bind(a, "--ro-bind-try", folders[i]);
    }
  }
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
    bind(a, "--ro-bind-try", files[i]);
}

void sandbox_argv(const struct sandbox *sandbox, const char *const *argv,
                  struct argv *ret_argv)
{
  static const char *const start[] = {"bwrap",
                                      "--unshare-all",
                                      "--die-with-parent",
                                      "--cap-drop",
                                      "ALL",
                                      "--proc",
                                      "/proc",
                                      "--dev",
                                      "/dev",
                                      "--size",
                                      TMP_BYTES,
                                      "--tmpfs",
                                      "/tmp",
                                      NULL};
  // Both are kept in memory, and would not be bounded.
  static const char *const end[] = {"--remount-ro", "/dev", "--remount-ro", "/",
                                    NULL};
  struct argv *a = ret_argv;
  if (sandbox->off) {
    argv_add_all(a, argv);
    return;
  }
  argv_add_all(a, start);
  add_system(a);

  // A mount hides what was mounted below it before, so outer ones go first.
  const char *const *shown = sandbox->read_only;
  for (size_t i = 0; shown && shown[i]; i++) {
    if (!is_inside(shown[i], sandbox->writable))
      bind(a, "--ro-bind", shown[i]);
  }
  if (sandbox->writable)
    bind(a, "--bind", sandbox->writable);
  for (size_t i = 0; shown && shown[i]; i++) {
    if (is_inside(shown[i], sandbox->writable))
      bind(a, "--ro-bind", shown[i]);
  }
  argv_add_all(a, end);
  argv_add(a, "--chdir");
  argv_add(a, sandbox->dir        ? sandbox->dir
              : sandbox->writable ? sandbox->writable
                                  : "/");
  argv_add(a, "--");
  argv_add_all(a, argv);
}

int sandbox_check(struct error *err)
{
  static const char *const nothing[] = {"true", NULL};
  struct argv argv = {0};
  struct child_result result = {0};
  sandbox_argv(&(struct sandbox){0}, nothing, &argv);
  struct child_spec spec = {.argv = argv_list(&argv),
                            .deadline_ms = clock_ms() + 30000,
                            .merge_stderr = true};
  int rc = child_run(&spec, &result, err);
  if (rc) {
    error_set(err, rc,
              "the sandbox needs bubblewrap; install it, or say --no-sandbox "
              "to run students' code without");
  } else if (result.end != CHILD_EXITED || result.status != 0) {
    struct buf how = BUF_INIT;
    child_result_describe(&result, &how);
    rc = error_set(err, LG_EHARNESS,
                   "the sandbox does not work here (bwrap %s: %.*s); allow "
                   "user namespaces, or say --no-sandbox to run students' code "
                   "without",
                   buf_str(&how), (int)strcspn(buf_str(&result.out), "\n"),
                   buf_str(&result.out));
    buf_release(&how);
  }
  child_result_release(&result);
  argv_release(&argv);
  return rc;
}
