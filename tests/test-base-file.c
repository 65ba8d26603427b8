// labgen/base/file: files that are whole or not there, and hostile trees.
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"

static char *base;

static void make_base(void)
{
  cr_assert_eq(file_make_temp_dir(NULL, "test-file", &base, NULL), 0);
}

static void remove_base(void)
{
  struct error err = {0};
  cr_assert_eq(file_remove_tree(base, &err), 0, "%s", err.message);
  cr_assert_not(file_exists(base));
  free(base);
}

TestSuite(file, .init = make_base, .fini = remove_base);

// A path below `base`, valid for eight more calls.
static const char *at(const char *name)
{
  static char paths[8][1024];
  static size_t next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", base, name);
  return path;
}

static void put(const char *name, const char *text)
{
  cr_assert_eq(file_write(at(name), text, strlen(text), 0644, NULL), 0);
}

static void expect_content(const char *path, const char *text)
{
  struct buf b = BUF_INIT;
  cr_expect_eq(file_read(path, 1 << 20, &b, NULL), 0);
  cr_expect_str_eq(buf_str(&b), text);
  buf_release(&b);
}

static mode_t mode_of(const char *path)
{
  struct stat st;
  cr_assert_eq(lstat(path, &st), 0);
  return st.st_mode & 07777;
}

// How many entries a folder has.
static size_t entries(const char *dir)
{
  struct child_result r = {0};
  struct child_spec spec = {.argv =
                                (const char *const[]){"ls", "-A1", dir, NULL}};
  cr_assert_eq(child_run(&spec, &r, NULL), 0);
  size_t n = 0;
  for (size_t i = 0; i < r.out.len; i++)
    n += r.out.data[i] == '\n';
  child_result_release(&r);
  return n;
}

// --- Reading --------------------------------------------------------------------

Test(file, is_read_whole_up_to_the_limit)
{
  struct buf b = BUF_INIT;
  struct error err = {0};
  put("f", "12345678");
  buf_adds(&b, "old");
  cr_assert_eq(file_read(at("f"), 8, &b, &err), 0);
  cr_assert_str_eq(buf_str(&b), "12345678");
  cr_assert_eq(file_read(at("f"), 7, &b, &err), LG_ELIMIT);
  cr_assert_str_eq(buf_str(&b), "12345678", "untouched on failure");
  cr_assert_not_null(strstr(err.message, "larger than 7 bytes"));
  buf_release(&b);
  error_release(&err);
}

Test(file, that_is_empty_reads_as_an_empty_text)
{
  struct buf b = BUF_INIT;
  put("f", "");
  cr_assert_eq(file_read(at("f"), 0, &b, NULL), 0);
  cr_assert_eq(b.len, 0);
  cr_assert_not_null(b.data);
  buf_release(&b);
}

Test(file, that_is_missing_is_not_found)
{
  struct buf b = BUF_INIT;
  struct error err = {0};
  cr_assert_eq(file_read(at("none"), 9, &b, &err), LG_ENOTFOUND);
  cr_assert_not_null(strstr(err.message, "none: No such file"));
  put("f", "");
  cr_assert_eq(file_read(at("f/below"), 9, &b, NULL), LG_ENOTFOUND);
  cr_assert_null(b.data);
  error_release(&err);
}

Test(file, that_is_no_file_is_not_read)
{
  struct buf b = BUF_INIT;
  struct error err = {0};
  cr_assert_eq(file_read(base, 9, &b, &err), LG_EINPUT);
  cr_assert_eq(mkfifo(at("fifo"), 0600), 0);
  cr_assert_eq(file_read(at("fifo"), 9, &b, &err), LG_EINPUT);
  cr_assert_eq(file_read("/dev/zero", 9, &b, &err), LG_EINPUT);
  cr_assert_not_null(strstr(err.message, "fifo: not a regular file"));
  error_release(&err);
}

Test(file, whose_size_is_not_known_is_read_to_its_end)
{
  struct buf b = BUF_INIT;
  cr_assert_eq(file_read("/proc/self/status", 1 << 20, &b, NULL), 0);
  cr_assert_gt(b.len, 100);
  cr_assert_eq(file_read("/proc/self/status", 50, &b, NULL), LG_ELIMIT);
  buf_release(&b);
}

// --- Writing --------------------------------------------------------------------

Test(file, is_written_with_its_mode_whatever_the_umask_is)
{
  umask(0077);
  put("f", "text");
  cr_expect_eq(mode_of(at("f")), 0644);
  cr_assert_eq(file_write(at("f"), "#!", 2, 0755, NULL), 0);
  cr_expect_eq(mode_of(at("f")), 0755);
  expect_content(at("f"), "#!");
  cr_assert_eq(file_write_atomic(at("g"), "a\0b", 3, 0640, NULL), 0);
  cr_expect_eq(mode_of(at("g")), 0640);
  cr_assert_eq(file_write_atomic(at("f"), "new", 3, 0600, NULL), 0);
  cr_expect_eq(mode_of(at("f")), 0600);
  expect_content(at("f"), "new");
  cr_expect_eq(entries(base), 2);
}

Test(file, cannot_be_written_where_there_is_no_folder)
{
  struct error err = {0};
  cr_expect_eq(file_write(at("no/f"), "x", 1, 0644, &err), LG_EIO);
  cr_expect_eq(file_write_atomic(at("no/f"), "x", 1, 0644, &err), LG_EIO);
  cr_expect_not_null(strstr(err.message, "No such file or directory"));
  error_release(&err);
}

Test(file, with_the_longest_name_is_written_atomically)
{
  char name[256];
  memset(name, 'n', 255);
  name[255] = '\0';
  cr_assert_eq(file_write_atomic(at(name), "x", 1, 0644, NULL), 0);
  expect_content(at(name), "x");
}

Test(file, written_atomically_in_the_working_directory)
{
  cr_assert_eq(chdir(base), 0);
  cr_assert_eq(file_write_atomic("here", "x", 1, 0644, NULL), 0);
  expect_content(at("here"), "x");
}

// Fills the disk by way of a limit on the size of files, which writes feel as
// they feel a full disk.
Test(file, is_the_old_one_when_writing_fails)
{
  struct error err = {0};
  char *big = xcalloc(1, 100000);
  put("f", "old");
  struct rlimit limit = {5000, 5000};
  signal(SIGXFSZ, SIG_IGN);
  cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  cr_assert_eq(file_write_atomic(at("f"), big, 100000, 0644, &err), LG_EIO);
  cr_expect_not_null(strstr(err.message, "cannot write"));
  expect_content(at("f"), "old");
  cr_expect_eq(entries(base), 1, "no temporary file is left");
  free(big);
  error_release(&err);
}

Test(file, does_not_take_the_place_of_a_folder)
{
  struct error err = {0};
  cr_assert_eq(file_mkdirs(at("d/e"), &err), 0);
  cr_assert_eq(file_write_atomic(at("d"), "x", 1, 0644, &err), LG_EIO);
  cr_expect(file_exists(at("d/e")));
  cr_expect_eq(entries(base), 1);
  error_release(&err);
}

// Writes to a file of /proc.
static bool tell_kernel(const char *path, const char *text)
{
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  bool done = fd >= 0 && write(fd, text, strlen(text)) > 0;
  close(fd);
  return done;
}

// In a process of its own: what a full file system of one megabyte, mounted on
// `base`, does to an atomic write. Exits with 77 where that cannot be mounted.
static _Noreturn void write_on_full_disk(void)
{
  char *users = xasprintf("0 %d 1", (int)geteuid());
  char *groups = xasprintf("0 %d 1", (int)getegid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
      !tell_kernel("/proc/self/setgroups", "deny") ||
      !tell_kernel("/proc/self/uid_map", users) ||
      !tell_kernel("/proc/self/gid_map", groups) ||
      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("none", base, "tmpfs", 0, "size=1m") != 0)
    _exit(77);
  size_t len = 600000;
  char *bytes = xcalloc(1, len);
  struct error err = {0};
  struct buf b = BUF_INIT;
  if (file_write_atomic(at("f"), "old", 3, 0644, &err) != 0 ||
      file_write_atomic(at("g"), bytes, len, 0644, &err) != 0)
    _exit(1);
  if (file_write_atomic(at("f"), bytes, len, 0644, &err) != LG_EIO ||
      !strstr(err.message, "No space left on device"))
    _exit(2);
  if (file_read(at("f"), 9, &b, NULL) != 0 || strcmp(buf_str(&b), "old") != 0)
    _exit(3);
  // There is room again, so the temporary file is gone.
  if (unlink(at("g")) != 0 ||
      file_write_atomic(at("f"), bytes, len, 0644, NULL) != 0)
    _exit(4);
  _exit(0);
}

Test(file, is_the_old_one_on_a_full_disk)
{
  int status;
  pid_t pid = fork();
  if (pid == 0)
    write_on_full_disk();
  cr_assert_eq(waitpid(pid, &status, 0), pid);
  cr_assert(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77)
    cr_skip_test("no mounts here");
  cr_assert_eq(WEXITSTATUS(status), 0);
}

// --- Folders and paths ----------------------------------------------------------

Test(file, folders_are_made_as_deep_as_needed)
{
  struct error err = {0};
  cr_assert_eq(file_mkdirs(at("a/b//c/"), &err), 0);
  cr_assert_eq(file_mkdirs(at("a/b/c"), &err), 0, "again");
  cr_assert_eq(chdir(at("a")), 0);
  cr_assert_eq(file_mkdirs("x/y", &err), 0);
  cr_assert(file_exists(at("a/x/y")));
  cr_assert_eq(symlink("a", at("link")), 0);
  cr_assert_eq(file_mkdirs(at("link/z"), &err), 0);
  cr_assert(file_exists(at("a/z")));
}

Test(file, a_file_in_the_way_of_a_folder_is_an_error)
{
  struct error err = {0};
  put("f", "");
  cr_assert_eq(file_mkdirs(at("f"), &err), LG_EIO);
  cr_assert_eq(file_mkdirs(at("f/d"), &err), LG_EIO);
  cr_expect_not_null(strstr(err.message, "/f: Not a directory\n"));
  error_release(&err);
}

Test(file, temporary_folders_are_new_and_private)
{
  char *a = NULL, *b = NULL;
  struct error err = {0};
  cr_assert_eq(file_make_temp_dir(base, "x", &a, &err), 0);
  cr_assert_eq(file_make_temp_dir(base, "x", &b, &err), 0);
  cr_assert_str_neq(a, b);
  cr_assert_eq(strncmp(a, at("x-"), strlen(at("x-"))), 0);
  cr_assert_eq(mode_of(a), 0700);
  setenv("TMPDIR", a, 1);
  free(b);
  cr_assert_eq(file_make_temp_dir(NULL, "y", &b, &err), 0);
  cr_assert_eq(strncmp(b, a, strlen(a)), 0);
  free(b);
  b = NULL;
  cr_assert_eq(file_make_temp_dir(at("none"), "x", &b, &err), LG_EIO);
  cr_assert_null(b);
  error_release(&err);
  free(a);
}

Test(file, paths_are_joined_with_one_slash)
{
  static const struct {
    char dir[8], name[8], path[16];
  } rows[] = {
      {"a", "b", "a/b"}, {"a/", "b", "a/b"},    {"/", "b", "/b"},
      {"", "b", "b"},    {"a", "/b/c", "/b/c"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char *path = path_join(rows[i].dir, rows[i].name);
    cr_expect_str_eq(path, rows[i].path);
    free(path);
  }
}

// --- Trees ----------------------------------------------------------------------

struct visits {
  struct buf paths;
  size_t count, fail_at;
};

static int note_path(void *arg, const char *path, struct error *err)
{
  struct visits *v = arg;
  buf_addf(&v->paths, "%s\n", path);
  if (++v->count == v->fail_at)
    return error_set(err, LG_EINPUT, "enough at %s", path);
  return 0;
}

Test(file, a_walk_goes_in_byte_order_of_whole_paths)
{
  struct visits v = {0};
  struct error err = {0};
  file_mkdirs(at("a/deep/er"), NULL);
  file_mkdirs(at("empty"), NULL);
  static const char *const names[] = {"a/z", "a-b", "a.c",    "a/deep/er/x",
                                      "b",   "B",   ".hidden"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    put(names[i], "");
  cr_assert_eq(file_walk(base, note_path, &v, &err), 0);
  cr_expect_str_eq(buf_str(&v.paths),
                   ".hidden\nB\na-b\na.c\na/deep/er/x\na/z\nb\n");
  buf_release(&v.paths);
}

Test(file, a_visit_can_end_a_walk)
{
  struct visits v = {.fail_at = 2};
  struct error err = {0};
  put("a", "");
  put("b", "");
  put("c", "");
  cr_assert_eq(file_walk(base, note_path, &v, &err), LG_EINPUT);
  cr_expect_eq(v.count, 2);
  cr_expect_str_eq(err.message, "enough at b");
  error_release(&err);
  buf_release(&v.paths);
}

Test(file, a_walk_refuses_links_and_devices_before_any_visit)
{
  struct visits v = {0};
  struct error err = {0};
  put("a", "");
  file_mkdirs(at("d"), NULL);
  cr_assert_eq(symlink("/etc/passwd", at("d/link")), 0);
  cr_assert_eq(file_walk(base, note_path, &v, &err), LG_EREFUSED);
  cr_expect_not_null(strstr(err.message, "d/link is a symbolic link"));
  cr_assert_eq(unlink(at("d/link")), 0);
  cr_assert_eq(mkfifo(at("d/fifo"), 0600), 0);
  cr_assert_eq(file_walk(base, note_path, &v, &err), LG_EREFUSED);
  cr_expect_eq(v.count, 0);
  error_release(&err);
}

Test(file, a_walk_of_nothing_is_not_found)
{
  struct visits v = {0};
  cr_assert_eq(file_walk(at("none"), note_path, &v, NULL), LG_ENOTFOUND);
  put("f", "");
  cr_assert_eq(file_walk(at("f"), note_path, &v, NULL), LG_ENOTFOUND);
}

Test(file, removing_does_not_follow_links)
{
  struct error err = {0};
  file_mkdirs(at("kept"), NULL);
  put("kept/f", "x");
  file_mkdirs(at("gone/sub"), NULL);
  put("gone/sub/f", "");
  cr_assert_eq(symlink(at("kept"), at("gone/sub/link")), 0);
  cr_assert_eq(symlink(at("kept"), at("link")), 0);
  cr_assert_eq(file_remove_tree(at("gone"), &err), 0);
  cr_assert_eq(file_remove_tree(at("link"), &err), 0);
  cr_expect_not(file_exists(at("gone")));
  cr_expect_eq(entries(base), 1);
  expect_content(at("kept/f"), "x");
}

Test(file, removing_what_is_not_there_is_no_error)
{
  cr_assert_eq(file_remove_tree(at("none"), NULL), 0);
  cr_assert_eq(file_remove_tree(at("none/below"), NULL), 0);
}

Test(file, removing_opens_closed_folders)
{
  // Root may do anything; others may not look into a folder of mode 0.
  file_mkdirs(at("d/closed/inner"), NULL);
  put("d/closed/inner/f", "");
  cr_assert_eq(chmod(at("d/closed/inner"), 0), 0);
  cr_assert_eq(chmod(at("d/closed"), 0500), 0);
  cr_assert_eq(file_remove_tree(at("d"), NULL), 0);
  cr_expect_not(file_exists(at("d")));
}

Test(file, removing_goes_deeper_than_paths_can_be)
{
  struct error err = {0};
  char name[201];
  memset(name, 'd', 200);
  name[200] = '\0';
  cr_assert_eq(chdir(base), 0);
  for (int i = 0; i < 100; i++) {
    cr_assert_eq(mkdir(name, 0755), 0);
    cr_assert_eq(chdir(name), 0);
  }
  cr_assert_eq(file_write("f", "", 0, 0644, NULL), 0);
  cr_assert_eq(chdir(base), 0);
  cr_assert_eq(file_remove_tree(base, &err), 0, "%s", err.message);
  cr_assert_eq(mkdir(base, 0755), 0);
}

Test(file, what_cannot_be_removed_is_an_error)
{
  struct error err = {0};
  cr_assert_eq(file_remove_tree("/proc/self/net", &err), LG_EIO);
  cr_expect_not_null(strstr(err.message, "cannot remove /proc/self/net"));
  error_release(&err);
}

// --- Data -----------------------------------------------------------------------

Test(file, data_is_found_beside_the_program)
{
  const char *dir = NULL;
  struct error err = {0};
  unsetenv("LABGEN_DATA");
  cr_assert_eq(data_dir(&dir, &err), 0);
  char *here = realpath(".", NULL);  // tests run at the top of the tree
  cr_assert_str_eq(dir, here);
  free(here);
}

Test(file, data_is_where_the_environment_says)
{
  const char *dir = NULL;
  struct error err = {0};
  setenv("LABGEN_DATA", base, 1);
  cr_assert_eq(data_dir(&dir, &err), LG_ENOTFOUND);
  cr_assert_null(dir);
  cr_assert_not_null(strstr(err.message, "LABGEN_DATA"));
  file_mkdirs(at("templates"), NULL);
  file_mkdirs(at("graders"), NULL);
  cr_assert_eq(data_dir(&dir, NULL), 0);
  cr_assert_str_eq(dir, base);
  error_release(&err);
}
