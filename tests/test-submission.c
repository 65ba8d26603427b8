// What was handed in, read: real archives and real repositories, honest and
// hostile. Each hostile one is refused by its reason, and touches nothing.
#include <archive.h>
#include <archive_entry.h>
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graders/submission.h"
#include "graders/unpack.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/repo/student.h"
#include "labgen/run/child.h"

#define KALLOC "kernel/kalloc.c"

static char *dir, *scratch;
static struct course course;

static void set_up(void)
{
  struct error err = {0};
  const char *data;
  cr_assert_eq(file_make_temp_dir(NULL, "test-submission-", &dir, NULL), 0);
  scratch = path_join(dir, "scratch");
  cr_assert_eq(file_mkdirs(scratch, NULL), 0);
  cr_assert_eq(data_dir(&data, NULL), 0);
  char *lab = path_join(data, "config.yaml");
  cr_assert_eq(course_load(lab, true, &course, &err), 0, "%s", err.message);
  free(lab);
}

static void tear_down(void)
{
  course_release(&course);
  file_remove_tree(dir, NULL);
  free(dir);
  free(scratch);
}

TestSuite(submission, .init = set_up, .fini = tear_down);

static char *place(const char *name)
{
  return path_join(dir, name);
}

static void put(const char *name, const char *text)
{
  char *path = place(name), *slash = strrchr(path, '/');
  *slash = '\0';
  cr_assert_eq(file_mkdirs(path, NULL), 0);
  *slash = '/';
  cr_assert_eq(file_write(path, text, strlen(text), 0644, NULL), 0);
  free(path);
}

// Reads what is at ada* below the test's folder as the work of ada.
static int read_work(const char *name, struct submission *ret,
                     struct error *err)
{
  struct intake in = {0};
  char *path = place(name);
  const char *paths[] = {path};
  struct intake_spec spec = {.paths = paths,
                             .path_count = 1,
                             .roster = &course.roster,
                             .files = course.lab.submission.files,
                             .scratch = scratch};
  cr_assert_eq(intake_scan(&spec, &in, err), 0, "%s", err->message);
  cr_assert_eq(in.claim_count, 1, "%s",
               in.count && in.entries[0].problem ? in.entries[0].problem : "?");
  struct submission_spec reading = {&in, &in.claims[0], &course, scratch};
  int rc = submission_read(&reading, ret, err);
  intake_release(&in);
  free(path);
  return rc;
}

static struct submission good(const char *name)
{
  struct submission s = {0};
  struct error err = {0};
  int rc = read_work(name, &s, &err);
  cr_assert_eq(rc, 0, "%s", err.message);
  return s;
}

static const char *text_of(const struct submission *s, const char *path)
{
  const struct tree_file *f = tree_find(&s->tree, path);
  return f ? f->content->bytes : "";
}

// It is refused, and the message holds `why`.
static void refused(const char *name, const char *why)
{
  struct submission s = {0};
  struct error err = {0};
  int rc = read_work(name, &s, &err);
  cr_assert_eq(rc, LG_EREFUSED, "%s: %d %s", name, rc,
               err.message ? err.message : "");
  cr_assert(strstr(err.message, why), "%s: %s", name, err.message);
  cr_assert_eq(s.tree.count, 0);
  error_release(&err);
}

// --- archives ---------------------------------------------------------------

struct packing {
  struct archive *a;
  char *path;
};

static struct packing pack_begin(const char *name)
{
  struct packing p = {archive_write_new(), place(name)};
  const char *plain = strstr(name, ".zst") ? "x.tar" : name;
  cr_assert_eq(archive_write_set_format_filter_by_ext(p.a, plain), ARCHIVE_OK);
  if (plain != name)
    cr_assert_eq(archive_write_add_filter_zstd(p.a), ARCHIVE_OK);
  cr_assert_eq(archive_write_open_filename(p.a, p.path), ARCHIVE_OK);
  return p;
}

static void pack_end(struct packing *p)
{
  cr_assert_eq(archive_write_close(p->a), ARCHIVE_OK);
  archive_write_free(p->a);
  free(p->path);
}

static void pack_entry(struct packing *p, const char *path, mode_t type,
                       const char *link, const char *bytes, size_t len)
{
  struct archive_entry *e = archive_entry_new();
  archive_entry_set_pathname(e, path);
  archive_entry_set_filetype(e, type);
  archive_entry_set_perm(e, 0755);
  archive_entry_set_size(e, (la_int64_t)len);
  if (link && type == AE_IFLNK)
    archive_entry_set_symlink(e, link);
  else if (link)
    archive_entry_set_hardlink(e, link);
  cr_assert_eq(archive_write_header(p->a, e), ARCHIVE_OK, "%s",
               archive_error_string(p->a));
  if (len)
    cr_assert_eq(archive_write_data(p->a, bytes, len), (la_ssize_t)len);
  archive_entry_free(e);
}

static void pack_file(struct packing *p, const char *path, const char *text)
{
  pack_entry(p, path, AE_IFREG, NULL, text, strlen(text));
}

static void pack_honest(const char *name)
{
  struct packing p = pack_begin(name);
  pack_entry(&p, "lab/", AE_IFDIR, NULL, NULL, 0);
  pack_file(&p, "lab/kernel/kalloc.c", "int k;\n");
  pack_file(&p, "lab/kernel/kalloc.o", "object");
  pack_end(&p);
}

Test(submission, every_kind_of_archive_is_read)
{
  static const char *const names[] = {"ada.tar", "ada.tar.gz", "ada.tar.xz",
                                      "ada.tar.zst", "ada.zip"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    pack_honest(names[i]);
    struct submission s = good(names[i]);
    cr_assert_str_eq(text_of(&s, KALLOC), "int k;\n", "%s", names[i]);
    cr_assert_eq(s.tree.count, 1, "%s", names[i]);
    submission_release(&s);
    char *unpacked = path_join(scratch, "unpacked");
    cr_assert_eq(file_remove_tree(unpacked, NULL), 0);
    free(unpacked);
  }
}

static void hostile(const char *path, mode_t type, const char *link,
                    const char *why)
{
  struct packing p = pack_begin("ada.tar");
  pack_file(&p, "kernel/kalloc.c", "int k;\n");
  pack_entry(&p, path, type, link, NULL, 0);
  pack_end(&p);
  refused("ada.tar", why);
}

Test(submission, a_symbolic_link_in_an_archive)
{
  hostile("kernel/x.c", AE_IFLNK, "/etc/passwd", "is a link");
}

Test(submission, a_hard_link_in_an_archive)
{
  hostile("kernel/x.c", AE_IFREG, "/etc/passwd", "is a link");
}

Test(submission, a_device_in_an_archive)
{
  hostile("kernel/x.c", AE_IFCHR, NULL, "is a device");
}

Test(submission, a_pipe_in_an_archive)
{
  hostile("kernel/x.c", AE_IFIFO, NULL, "is a device, a pipe");
}

Test(submission, an_absolute_path_in_an_archive)
{
  hostile("/tmp/labgen-test-escaped", AE_IFREG, NULL, "is an absolute path");
  cr_assert_not(file_exists("/tmp/labgen-test-escaped"));
}

Test(submission, a_path_that_leads_out_of_an_archive)
{
  hostile("kernel/../../../escaped", AE_IFREG, NULL, "leads out");
  char *escaped = place("escaped");
  cr_assert_not(file_exists(escaped));
  free(escaped);
}

Test(submission, control_characters_in_a_name_in_an_archive)
{
  hostile("kernel/\x1b[31mred.c", AE_IFREG, NULL, "\\x1b[31mred.c");
}

Test(submission, one_file_twice_in_an_archive)
{
  hostile("kernel/kalloc.c", AE_IFREG, NULL, "is there twice");
}

Test(submission, a_file_that_is_a_folder_too_in_an_archive)
{
  hostile("kernel/kalloc.c/x", AE_IFREG, NULL, "file and a folder at once");
}

Test(submission, a_bomb_by_depth)
{
  struct buf path = BUF_INIT;
  for (int i = 0; i < 200; i++)
    buf_adds(&path, "d/");
  buf_adds(&path, "x");
  hostile(buf_str(&path), AE_IFREG, NULL, "too many folders deep");
  buf_release(&path);
}

Test(submission, a_bomb_by_count)
{
  struct packing p = pack_begin("ada.tar.gz");
  for (int i = 0; i < 20001; i++) {
    char name[40];
    snprintf(name, sizeof(name), "kernel/%d.c", i);
    pack_file(&p, name, "");
  }
  pack_end(&p);
  refused("ada.tar.gz", "one file too many");
}

static void pack_zeros(const char *name, size_t mib)
{
  struct packing p = pack_begin(name);
  char *zeros = xcalloc(mib, 1 << 20);
  pack_entry(&p, "kernel/zeros", AE_IFREG, NULL, zeros, mib << 20);
  pack_end(&p);
  free(zeros);
}

Test(submission, a_bomb_by_ratio)
{
  pack_zeros("ada.tar.xz", 40);
  refused("ada.tar.xz", "far more than it is packed to");
}

Test(submission, a_bomb_by_ratio_in_a_zip)
{
  pack_zeros("ada.zip", 40);
  refused("ada.zip", "far more than it is packed to");
}

Test(submission, a_bomb_by_size)
{
  pack_zeros("ada.tar", 257);
  refused("ada.tar", "larger than may be unpacked");
}

Test(submission, an_archive_that_is_cut_short)
{
  static const char *const names[] = {"ada.tar", "ada.tar.gz", "ada.tar.xz",
                                      "ada.tar.zst", "ada.zip"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    struct buf noise = BUF_INIT;
    struct packing p = pack_begin(names[i]);
    for (unsigned k = 1, n = 0; n < 40000; n++, k = k * 1103515245 + 12345)
      buf_addc(&noise, (char)(k >> 16));
    pack_file(&p, "kernel/kalloc.c", "int k;\n");
    pack_entry(&p, "kernel/noise.c", AE_IFREG, NULL, noise.data, noise.len);
    pack_end(&p);
    buf_release(&noise);
    char *path = place(names[i]);
    cr_assert_eq(truncate(path, 20000), 0);
    refused(names[i], "damaged, cut short");
    free(path);
    char *unpacked = path_join(scratch, "unpacked");
    cr_assert_eq(file_remove_tree(unpacked, NULL), 0);
    free(unpacked);
  }
}

Test(submission, an_archive_that_is_none)
{
  put("ada.zip", "This is no archive at all.\n");
  refused("ada.zip", "no archive");
  put("ada.zip", "");
  refused("ada.zip", "no archive");
}

// --- folders ----------------------------------------------------------------

Test(submission, a_link_in_a_folder)
{
  put("ada/kernel/kalloc.c", "int k;\n");
  char *link = place("ada/kernel/secret.c");
  cr_assert_eq(symlink("/etc/passwd", link), 0);
  refused("ada", "'kernel/secret.c' is a symbolic link");
  free(link);
}

Test(submission, a_pipe_in_a_folder)
{
  put("ada/kernel/kalloc.c", "int k;\n");
  char *fifo = place("ada/kernel/pipe");
  cr_assert_eq(mkfifo(fifo, 0644), 0);
  refused("ada", "is a device, a pipe");
  free(fifo);
}

Test(submission, control_characters_in_a_name_in_a_folder)
{
  put("ada/kernel/kalloc.c", "int k;\n");
  put("ada/kernel/a\nb.c", "");
  refused("ada", "control character");
}

Test(submission, kalloc_alone_in_a_folder_is_put_in_its_place)
{
  put("ada/kalloc.c", "int k;\n");
  struct submission s = good("ada");
  cr_assert_str_eq(text_of(&s, KALLOC), "int k;\n");
  cr_assert(strstr(buf_str(&s.notes), "kalloc.c: taken for kernel/kalloc.c"));
  submission_release(&s);
}

Test(submission, single_files_make_one_submission)
{
  put("work/demoada_90001_7_kalloc-1.c", "int k;\n");
  put("work/demoada_90001_8_proc.c", "int p;\n");
  put("work/demoada_90001_9_report.pdf", "%PDF");
  struct submission s = good("work");
  cr_assert_str_eq(text_of(&s, KALLOC), "int k;\n");
  cr_assert_str_eq(text_of(&s, "kernel/proc.c"), "int p;\n");
  cr_assert_eq(s.tree.count, 2);
  cr_assert(strstr(buf_str(&s.notes), "report.pdf: no file of this lab"));
  submission_release(&s);
}

// --- repositories -----------------------------------------------------------

// Runs git, with a home and an identity of its own, in ada/.
static void git(const char *first, ...)
{
  const char *argv[24] = {"git", "-C"};
  char *folder = place("ada");
  size_t n = 2;
  va_list args;
  argv[n++] = folder;
  va_start(args, first);
  for (const char *a = first; a; a = va_arg(args, const char *))
    argv[n++] = a;
  va_end(args);
  const char *env[] = {"PATH=/usr/bin:/bin",
                       "HOME=/nonexistent",
                       "GIT_CONFIG_NOSYSTEM=1",
                       "GIT_AUTHOR_NAME=A",
                       "GIT_AUTHOR_EMAIL=a@example.org",
                       "GIT_COMMITTER_NAME=A",
                       "GIT_COMMITTER_EMAIL=a@example.org",
                       "GIT_COMMITTER_DATE=1740000000 +0100",
                       "GIT_CONFIG_COUNT=3",
                       "GIT_CONFIG_KEY_0=safe.directory",
                       "GIT_CONFIG_VALUE_0=*",
                       "GIT_CONFIG_KEY_1=protocol.file.allow",
                       "GIT_CONFIG_VALUE_1=always",
                       "GIT_CONFIG_KEY_2=gc.auto",
                       "GIT_CONFIG_VALUE_2=0",
                       NULL};
  struct child_spec spec = {.argv = argv, .env = env, .merge_stderr = true};
  struct child_result result = {0};
  struct error err = {0};
  cr_assert_eq(child_run(&spec, &result, &err), 0, "%s", err.message);
  cr_assert_eq(result.status, 0, "git %s: %s", first, buf_str(&result.out));
  child_result_release(&result);
  free(folder);
}
#define GIT(...) git(__VA_ARGS__, (const char *)NULL)

// The repository that labgen hands out to ada.
static void hand_out(void)
{
  struct student_work w = {0};
  struct repo_plan plan = {0};
  struct error err = {0};
  char *path = place("ada");
  cr_assert_eq(
      student_make(&course, roster_find(&course.roster, "ada"), &w, &err), 0,
      "%s", err.message);
  student_lab_plan(&course, &w, &plan);
  cr_assert_eq(repo_write(path, course.objects, &plan, &err), 0, "%s",
               err.message);
  free((void *)plan.branches);
  student_release(&w);
  free(path);
}

static void work_and_commit(void)
{
  hand_out();
  put("ada/kernel/kalloc.c", "int mine;\n");
  GIT("commit", "-qam", "My kalloc");
}

Test(submission, a_repository_is_read_with_its_start_and_time)
{
  work_and_commit();
  struct submission s = good("ada");
  cr_assert_str_eq(text_of(&s, KALLOC), "int mine;\n");
  cr_assert(s.repository);
  cr_assert_str_eq(s.branch, course.lab.start.branch);
  cr_assert_eq(s.history.start, course.start - 1);
  cr_assert_geq(s.history.commits, 2);
  cr_assert(s.handed_in.set);
  cr_assert_eq(s.handed_in.seconds, 1740000000);
  cr_assert_eq(s.handed_in.offset_minutes, 60);
  cr_assert_str_eq(buf_str(&s.notes), "");
  submission_release(&s);
}

Test(submission, what_is_not_committed_is_used_and_said)
{
  work_and_commit();
  put("ada/kernel/kalloc.c", "int newer;\n");
  struct submission s = good("ada");
  cr_assert_str_eq(text_of(&s, KALLOC), "int newer;\n");
  cr_assert(strstr(buf_str(&s.notes), "kernel/kalloc.c: not committed"));
  submission_release(&s);
}

Test(submission, the_labs_branch_is_read_when_another_is_checked_out)
{
  work_and_commit();
  GIT("checkout", "-q", "--orphan", "other");
  put("ada/kernel/kalloc.c", "int other;\n");
  GIT("commit", "-qam", "Other");
  struct submission s = good("ada");
  cr_assert_str_eq(text_of(&s, KALLOC), "int mine;\n");
  submission_release(&s);
}

Test(submission, bare_and_packed_and_archived_repositories)
{
  work_and_commit();
  GIT("gc", "-q");
  struct submission s = good("ada");
  cr_assert_geq(s.history.commits, 2);
  submission_release(&s);
  char *bare = place("bare/ada.git");
  GIT("clone", "-q", "--bare", ".", bare);
  char *renamed = place("bare/ada");
  cr_assert_eq(rename(bare, renamed), 0);
  s = good("bare/ada");
  cr_assert_str_eq(text_of(&s, KALLOC), "int mine;\n");
  cr_assert_eq(s.history.start, course.start - 1);
  submission_release(&s);
  free(bare);
  free(renamed);
}

Test(submission, a_repository_of_another_owner_opens)
{
  if (geteuid() != 0)
    cr_skip_test("only root can give files away");
  work_and_commit();
  char *path = place("ada"), *inner = place("ada/.git");
  cr_assert_eq(chown(path, 12345, 12345), 0);
  cr_assert_eq(chown(inner, 12345, 12345), 0);
  struct submission s = good("ada");
  cr_assert_geq(s.history.commits, 2);
  submission_release(&s);
  free(path);
  free(inner);
}

Test(submission, a_shallow_clone_says_that_its_history_is_cut)
{
  work_and_commit();
  char *from = xasprintf("file://%s/ada", dir), *to = place("shallow/ada");
  GIT("clone", "-q", "--depth", "1", from, to);
  struct submission s = good("shallow/ada");
  cr_assert(s.history.cut);
  cr_assert_eq(s.history.start, FOREIGN_NO_START);
  cr_assert_str_eq(text_of(&s, KALLOC), "int mine;\n");
  submission_release(&s);
  free(from);
  free(to);
}

Test(submission, a_clone_of_the_clinic_brings_its_branches)
{
  struct student_work w = {0};
  struct repo_plan plan = {0};
  char *path = place("ada"), *to = place("clone/ada");
  cr_assert_eq(
      student_make(&course, roster_find(&course.roster, "ada"), &w, NULL), 0);
  student_clinic_plan(&w, &plan);
  cr_assert_eq(repo_write(path, course.objects, &plan, NULL), 0);
  GIT("clone", "-q", ".", to);
  struct submission s = good("clone/ada");
  cr_assert_eq(s.clinic_count, w.clinic_count);
  cr_assert_eq(s.clinic[1].number, 2);
  cr_assert(tree_equal(&s.clinic[1].tree, &w.clinic[1].tree));
  cr_assert_eq(s.tree.count, 0);
  submission_release(&s);
  free((void *)plan.branches);
  student_release(&w);
  free(path);
  free(to);
}

Test(submission, a_git_file_that_names_another_folder)
{
  put("ada/kernel/kalloc.c", "int k;\n");
  put("ada/.git", "gitdir: /somewhere/else\n");
  refused("ada", "names another folder");
}

Test(submission, a_hook)
{
  work_and_commit();
  put("ada/.git/hooks/post-checkout", "#!/bin/sh\ntouch /tmp/labgen-hook\n");
  refused("ada", "hooks/post-checkout: a hook");
}

Test(submission, alternates)
{
  work_and_commit();
  put("ada/.git/objects/info/alternates", "/srv/other/objects\n");
  refused("ada", "alternates: it takes objects from another folder");
}

Test(submission, a_common_folder)
{
  work_and_commit();
  put("ada/.git/commondir", "/srv/other/.git\n");
  refused("ada", "part of another repository");
}

Test(submission, hostile_configuration)
{
  static const char *const configs[] = {
      "[core]\n\tfsmonitor = /tmp/x\n",
      "[core] sshCommand = x\n",
      "[include]\n\tpath = /etc/passwd\n",
      "[includeIf \"gitdir:/\"]\n\tpath = /etc/passwd\n",
      "[filter \"x\"]\n\tsmudge = /tmp/x\n",
      "[core]\n\tworktree = /\n",
      "[ CORE]\n[Core]\tHooksPath=/tmp\n",
      "[diff \"c\"]\n\ttextconv = /tmp/x\n"};
  work_and_commit();
  for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
    put("ada/.git/config", configs[i]);
    refused("ada", "can make git run a program or read other files");
  }
}

Test(submission, a_submodule)
{
  work_and_commit();
  char *commit = xstrdup("160000,0123456789abcdef0123456789abcdef01234567,sub");
  GIT("update-index", "--add", "--cacheinfo", commit);
  GIT("commit", "-qm", "Submodule");
  refused("ada", "sub: a submodule");
  free(commit);
}

Test(submission, a_link_in_a_commit)
{
  work_and_commit();
  char *link = place("ada/kernel/x.c");
  cr_assert_eq(symlink("/etc/passwd", link), 0);
  GIT("add", "-A");
  GIT("commit", "-qm", "Link");
  cr_assert_eq(unlink(link), 0);
  refused("ada", "kernel/x.c: a symbolic link");
  free(link);
}

Test(submission, a_repository_within_the_repository)
{
  work_and_commit();
  put("ada/kernel/sub/.git/HEAD", "ref: refs/heads/x\n");
  refused("ada", "is a repository within the submission");
}

// Ten folders of ten folders of ... , all the same: a few objects, 10^9 files.
Test(submission, a_bomb_of_trees)
{
  work_and_commit();
  char *script = xasprintf(
      "cd %s/ada && export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory "
      "GIT_CONFIG_VALUE_0='*' && b=$(echo x | git hash-object -w --stdin) && "
      "t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '100644 blob %%s\\tf%%s\\n' "
      "$b $i; done | git mktree) && for l in 1 2 3 4 5 6 7 8; do "
      "t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %%s\\td%%s\\n' "
      "$t $i; done | git mktree); done && c=$(echo m | git -c user.name=A -c "
      "user.email=a@b commit-tree $t) && git update-ref "
      "refs/heads/my-percpu-kalloc $c",
      dir);
  const char *argv[] = {"/bin/sh", "-c", script, NULL};
  struct child_spec spec = {.argv = argv, .merge_stderr = true};
  struct child_result result = {0};
  cr_assert_eq(child_run(&spec, &result, NULL), 0);
  cr_assert_eq(result.status, 0, "%s", buf_str(&result.out));
  child_result_release(&result);
  refused("ada", "more than 4000 files");
  free(script);
}

Test(submission, a_repository_without_its_objects)
{
  work_and_commit();
  char *objects = place("ada/.git/objects");
  cr_assert_eq(file_remove_tree(objects, NULL), 0);
  refused("ada", "is no git repository");
  cr_assert_eq(file_mkdirs(objects, NULL), 0);
  refused("ada", "cannot be read");
  free(objects);
}
