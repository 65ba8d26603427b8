// Repositories on disk, judged by git itself.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/base/file.h"
#include "labgen/repo/repo.h"
#include "labgen/run/child.h"

// Runs git in a folder; its exit status, and what it printed in *out.
static int git(const char *folder, struct buf *out, const char *const *args)
{
  const char *argv[24] = {"git", "-C", folder};
  size_t n = 3;
  for (; *args; args++)
    argv[n++] = *args;
  const char *env[] = {"PATH=/usr/bin:/bin",
                       "HOME=/nonexistent",
                       "GIT_CONFIG_NOSYSTEM=1",
                       "GIT_AUTHOR_NAME=A",
                       "GIT_AUTHOR_EMAIL=a@example.org",
                       "GIT_COMMITTER_NAME=A",
                       "GIT_COMMITTER_EMAIL=a@example.org",
                       "GIT_CONFIG_COUNT=1",
                       "GIT_CONFIG_KEY_0=safe.directory",
                       "GIT_CONFIG_VALUE_0=*",
                       NULL};
  struct child_spec spec = {.argv = argv, .env = env, .merge_stderr = true};
  struct child_result result = {0};
  struct error err = {0};
  cr_assert_eq(child_run(&spec, &result, &err), 0, "%s", err.message);
  if (out) {
    buf_truncate(out, 0);
    buf_adds(out, buf_str(&result.out));
  }
  int status = result.status;
  if (status)
    cr_log_info("git: %s", buf_str(&result.out));
  child_result_release(&result);
  return status;
}
#define GIT(folder, out, ...) \
  git(folder, out, (const char *const[]){__VA_ARGS__, NULL})

static const struct commit_words words = {.author = "Course staff",
                                          .email = "staff@example.org",
                                          .date = {true, 1767225600, 60},
                                          .message = "Start"};

static void put(struct tree *t, const char *path, const char *text)
{
  cr_assert_eq(tree_put(t, path, text, strlen(text), false, NULL), 0);
}

struct fixture {
  char *dir, *path;
  struct objects *objects;
  struct tree tree, other;
  struct repo_branch branches[2];
  struct repo_plan plan;
};

static void set_up(struct fixture *f)
{
  struct error err = {0};
  *f = (struct fixture){0};
  cr_assert_eq(file_make_temp_dir(NULL, "test-repo-", &f->dir, NULL), 0);
  f->path = path_join(f->dir, "repo");
  cr_assert_eq(objects_open(&f->objects, NULL), 0);
  put(&f->tree, "Makefile", "all:\n");
  put(&f->tree, "kernel/kalloc.c", "int x;\n");
  put(&f->tree, "kernel.h", "// sorts before kernel/ in git\n");
  put(&f->tree, "user/a/b.c", "");
  cr_assert_eq(tree_put(&f->tree, "run.sh", "#!/bin/sh\n", 10, true, NULL), 0);
  cr_assert_eq(objects_commit(f->objects, &f->tree, NULL, &words,
                              &f->branches[0].commit, &err),
               0, "%s", err.message);
  tree_copy(&f->other, &f->tree);
  put(&f->other, "kernel/kalloc.c", "int y;\n");
  cr_assert_eq(objects_commit(f->objects, &f->other, &f->branches[0].commit,
                              &words, &f->branches[1].commit, &err),
               0, "%s", err.message);
  f->branches[0].name = "base";
  f->branches[1].name = "work";
  f->plan = (struct repo_plan){f->branches, 2, 1, &f->other};
}

static void write_repo(struct fixture *f)
{
  struct error err = {0};
  cr_assert_eq(repo_write(f->path, f->objects, &f->plan, &err), 0, "%s",
               err.message);
}

static void tear_down(struct fixture *f)
{
  tree_release(&f->tree);
  tree_release(&f->other);
  objects_close(f->objects);
  cr_assert_eq(file_remove_tree(f->dir, NULL), 0);
  free(f->dir);
  free(f->path);
}

Test(repo, git_finds_it_sound_clean_and_on_its_branch)
{
  struct fixture f;
  struct buf out = BUF_INIT;
  set_up(&f);
  write_repo(&f);
  cr_expect_eq(GIT(f.path, &out, "fsck", "--strict", "--full"), 0);
  cr_expect_null(strstr(buf_str(&out), "dangling"), "%s", buf_str(&out));
  cr_expect_eq(GIT(f.path, &out, "status", "--porcelain", "--ignored"), 0);
  cr_expect_str_eq(buf_str(&out), "");
  cr_expect_eq(GIT(f.path, &out, "symbolic-ref", "HEAD"), 0);
  cr_expect_str_eq(buf_str(&out), "refs/heads/work\n");
  cr_expect_eq(GIT(f.path, &out, "ls-files", "-s", "run.sh"), 0);
  cr_expect_eq(strncmp(buf_str(&out), "100755 ", 7), 0);
  buf_release(&out);
  tear_down(&f);
}

Test(repo, commit_ids_are_pinned)
{
  struct fixture f;
  char hex[OBJECT_HEX_BYTES];
  set_up(&f);
  object_hex(&f.branches[0].commit, hex);
  cr_expect_str_eq(hex, "2f787a275705471e0f7da23b9d01e5895d88e080");
  object_hex(&f.branches[1].commit, hex);
  cr_expect_str_eq(hex, "9610a7106f9adcba81208c2b71efe4c5dfa1116a");
  tear_down(&f);
}

Test(repo, git_itself_makes_the_same_tree)
{
  struct fixture f;
  struct buf out = BUF_INIT;
  char hex[OBJECT_HEX_BYTES];
  set_up(&f);
  cr_assert_eq(tree_write(&f.tree, f.path, NULL), 0);
  cr_assert_eq(GIT(f.path, NULL, "init", "-q"), 0);
  cr_assert_eq(GIT(f.path, NULL, "add", "-A"), 0);
  cr_assert_eq(GIT(f.path, NULL, "-c", "user.name=Course staff", "-c",
                   "user.email=staff@example.org", "write-tree"),
               0);
  cr_assert_eq(GIT(f.path, &out, "write-tree"), 0);
  char *tree = xstrndup(buf_str(&out), 40);
  object_hex(&f.branches[0].commit, hex);
  write_repo(&f);  // over it: same objects, one more pack
  char *spec = xasprintf("%s^{tree}", hex);
  cr_assert_eq(GIT(f.path, &out, "rev-parse", spec), 0);
  cr_expect_eq(strncmp(buf_str(&out), tree, 40), 0);
  free(tree);
  free(spec);
  buf_release(&out);
  tear_down(&f);
}

Test(repo, it_can_be_cloned_committed_to_and_pushed_to)
{
  struct fixture f;
  struct buf out = BUF_INIT;
  set_up(&f);
  write_repo(&f);
  char *clone = path_join(f.dir, "clone");
  cr_expect_eq(GIT(f.dir, NULL, "clone", "-q", "repo", "clone"), 0);
  char *file = path_join(clone, "kernel/kalloc.c");
  cr_assert_eq(file_write(file, "int z;\n", 7, 0644, NULL), 0);
  cr_expect_eq(GIT(clone, NULL, "commit", "-qam", "mine"), 0);
  cr_expect_eq(GIT(clone, NULL, "push", "-q", "origin", "HEAD:refs/heads/new"),
               0);
  cr_expect_eq(GIT(f.path, &out, "log", "-1", "--format=%s", "new"), 0);
  cr_expect_str_eq(buf_str(&out), "mine\n");
  free(file);
  free(clone);
  buf_release(&out);
  tear_down(&f);
}

Test(repo, the_same_plan_gives_the_same_bytes)
{
  struct fixture f;
  struct tree a = {0}, b = {0};
  set_up(&f);
  write_repo(&f);
  char *git_dir = path_join(f.path, ".git"), *again = path_join(f.dir, "again");
  char *again_git = path_join(again, ".git");
  struct objects *fresh;
  cr_assert_eq(objects_open(&fresh, NULL), 0);
  // The other way round: the second commit's objects first.
  struct object_id ignored;
  cr_assert_eq(objects_commit(fresh, &f.other, NULL, &words, &ignored, NULL),
               0);
  cr_assert_eq(objects_commit(fresh, &f.tree, NULL, &words, &ignored, NULL), 0);
  cr_assert_eq(
      objects_commit(fresh, &f.other, &ignored, &words, &ignored, NULL), 0);
  cr_assert_eq(repo_write(again, fresh, &f.plan, NULL), 0);
  cr_assert_eq(tree_add_folder(&a, git_dir, "x/", NULL), 0);
  cr_assert_eq(tree_add_folder(&b, again_git, "x/", NULL), 0);
  cr_expect_eq(a.count, 6, "HEAD, config, index, packed-refs, pack, idx");
  cr_expect(tree_equal(&a, &b));
  tree_release(&a);
  tree_release(&b);
  objects_close(fresh);
  free(git_dir);
  free(again);
  free(again_git);
  tear_down(&f);
}

Test(repo, objects_that_no_branch_reaches_stay_out)
{
  struct fixture f;
  struct buf out = BUF_INIT;
  set_up(&f);
  f.plan = (struct repo_plan){f.branches, 1, 0, &f.tree};
  write_repo(&f);
  cr_expect_eq(GIT(f.path, &out, "cat-file", "--batch-all-objects",
                   "--batch-check=%(objecttype)"),
               0);
  size_t lines = 0;
  for (const char *p = buf_str(&out); *p; p++)
    lines += *p == '\n';
  cr_expect_eq(lines, 10, "5 blobs, 4 trees, 1 commit; found %zu", lines);
  char hex[OBJECT_HEX_BYTES];
  object_hex(&f.branches[1].commit, hex);
  cr_expect_neq(GIT(f.path, NULL, "cat-file", "-e", hex), 0);
  buf_release(&out);
  tear_down(&f);
}

Test(repo, rolled_back_objects_are_forgotten_and_can_be_made_again)
{
  struct fixture f;
  set_up(&f);
  size_t mark = objects_mark(f.objects);
  struct object_id first, again;
  for (int i = 0; i < 600; i++) {  // enough for the table to grow between
    char text[32];
    snprintf(text, sizeof(text), "int n%d;\n", i);
    put(&f.other, "kernel/kalloc.c", text);
    cr_assert_eq(
        objects_commit(f.objects, &f.other, NULL, &words, &again, NULL), 0);
    if (i == 0)
      first = again;
  }
  objects_rollback(f.objects, mark);
  cr_expect_eq(objects_mark(f.objects), mark);
  struct object *all;
  size_t count;
  cr_expect_eq(objects_reach(f.objects, &first, 1, &all, &count, NULL),
               LG_EHARNESS);
  put(&f.other, "kernel/kalloc.c", "int n0;\n");
  cr_assert_eq(objects_commit(f.objects, &f.other, NULL, &words, &again, NULL),
               0);
  cr_expect_eq(memcmp(&first, &again, sizeof(first)), 0);
  cr_assert_eq(objects_reach(f.objects, &again, 1, &all, &count, NULL), 0);
  cr_expect_eq(count, 10);
  free(all);
  tear_down(&f);
}

Test(repo, a_look_tells_absent_current_untouched_and_changed_apart)
{
  struct fixture f;
  set_up(&f);
  cr_expect_eq(repo_look(f.path, &f.plan), REPO_ABSENT);
  write_repo(&f);
  cr_expect_eq(repo_look(f.path, &f.plan), REPO_CURRENT);
  struct repo_plan newer = f.plan;
  struct repo_branch branches[] = {f.branches[0], f.branches[1]};
  branches[1].commit = f.branches[0].commit;
  newer.branches = branches;
  cr_expect_eq(repo_look(f.path, &newer), REPO_UNTOUCHED);
  char *file = path_join(f.path, "kernel/kalloc.c");
  cr_assert_eq(file_write(file, "mine", 4, 0644, NULL), 0);
  cr_expect_eq(repo_look(f.path, &newer), REPO_CHANGED, "edited file");
  cr_assert_eq(file_write(file, "int y;\n", 7, 0644, NULL), 0);
  cr_expect_eq(repo_look(f.path, &newer), REPO_UNTOUCHED);
  char *extra = path_join(f.path, "notes.txt");
  cr_assert_eq(file_write(extra, "mine", 4, 0644, NULL), 0);
  cr_expect_eq(repo_look(f.path, &newer), REPO_CHANGED, "untracked file");
  cr_assert_eq(file_remove_tree(extra, NULL), 0);
  cr_expect_eq(GIT(f.path, NULL, "commit", "-q", "--allow-empty", "-m", "x"),
               0);
  cr_expect_eq(repo_look(f.path, &newer), REPO_CHANGED, "a commit");
  cr_expect_eq(repo_look(f.path, &f.plan), REPO_CURRENT);
  free(file);
  free(extra);
  tear_down(&f);
}
