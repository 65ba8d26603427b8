// Reads trees out of repositories and applies diffs, through libgit2. Links and
// submodules are refused: a lab's tree is files.
#include "labgen/repo/source.h"

#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/repo/internal.h"

struct reading {
  git_repository *repo;
  struct tree *tree;
  struct error *err;
  int rc;
};

static int read_entry(const char *root, const git_tree_entry *entry, void *arg)
{
  struct reading *r = arg;
  git_filemode_t mode = git_tree_entry_filemode(entry);
  git_blob *blob = NULL;
  if (mode == GIT_FILEMODE_TREE)
    return 0;
  char *path = xasprintf("%s%s", root, git_tree_entry_name(entry));
  if (mode != GIT_FILEMODE_BLOB && mode != GIT_FILEMODE_BLOB_EXECUTABLE)
    r->rc = error_set(r->err, LG_EREFUSED,
                      "%s is a link or a submodule, which no lab tree can hold",
                      path);
  else if (git_blob_lookup(&blob, r->repo, git_tree_entry_id(entry)))
    r->rc = git_failed(r->err, LG_EIO, path);
  else
    r->rc = tree_put(r->tree, path, git_blob_rawcontent(blob),
                     (size_t)git_blob_rawsize(blob),
                     mode == GIT_FILEMODE_BLOB_EXECUTABLE, r->err);
  git_blob_free(blob);
  free(path);
  return r->rc ? -1 : 0;
}

int source_git(const char *repository, const char *commit, struct tree *tree,
               struct error *err)
{
  git_object *object = NULL;
  struct tree work = {0};
  struct reading r = {.tree = &work, .err = err};
  char *what = xasprintf("%s: commit '%s'", repository, commit);
  int rc = 0;
  git_libgit2_init();
  git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
  if (git_repository_open_ext(&r.repo, repository,
                              GIT_REPOSITORY_OPEN_NO_SEARCH, NULL))
    rc = git_failed(err, LG_ENOTFOUND, repository);
  else if (git_revparse_single(&object, r.repo, commit))
    rc = git_failed(err, LG_ENOTFOUND, what);
  git_object *top = NULL;
  if (rc == 0 && git_object_peel(&top, object, GIT_OBJECT_TREE))
    rc = git_failed(err, LG_ENOTFOUND, what);
  tree_copy(&work, tree);
  if (rc == 0 &&
      git_tree_walk((git_tree *)top, GIT_TREEWALK_PRE, read_entry, &r))
    rc = r.rc ? r.rc : git_failed(err, LG_EIO, what);
  if (rc == 0) {
    tree_release(tree);
    *tree = work;
  } else {
    tree_release(&work);
  }
  git_object_free(top);
  git_object_free(object);
  git_repository_free(r.repo);
  git_libgit2_shutdown();
  free(what);
  return rc;
}

// --- diffs -----------------------------------------------------------------

// Makes *tree what the index says; contents that did not change are kept.
static int take_index(struct objects *o, git_index *index, struct tree *tree,
                      struct error *err)
{
  struct tree out = {0};
  int rc = 0;
  for (size_t i = 0; i < git_index_entrycount(index) && rc == 0; i++) {
    const git_index_entry *e = git_index_get_byindex(index, i);
    git_blob *blob = NULL;
    if (git_blob_lookup(&blob, objects_repository(o), &e->id))
      rc = git_failed(err, LG_EHARNESS, e->path);
    else
      rc = tree_put(&out, e->path, git_blob_rawcontent(blob),
                    (size_t)git_blob_rawsize(blob),
                    e->mode == GIT_FILEMODE_BLOB_EXECUTABLE, err);
    git_blob_free(blob);
  }
  if (rc) {
    tree_release(&out);
    return rc;
  }
  tree_release(tree);
  *tree = out;
  return 0;
}

// The path in a "--- " or "+++ " line without its first part, as patch -p1
// takes it; empty for /dev/null.
static void path_of(const char *line, struct buf *ret)
{
  const char *path = line + 4;
  size_t len = strcspn(path, "\t\r\n");
  const char *slash = memchr(path, '/', len);
  buf_truncate(ret, 0);
  if (slash && !(len == 9 && memcmp(path, "/dev/null", 9) == 0))
    buf_add(ret, slash + 1, (size_t)(path + len - slash - 1));
}

static const char *next_line(const char *line)
{
  line += strcspn(line, "\n");
  return *line ? line + 1 : line;
}

// Copies a diff, with the header of git's own diffs put before each file that
// has none: libgit2 reads no others.
static void add_headers(const char *diff, struct buf *ret)
{
  struct buf old = BUF_INIT, new = BUF_INIT;
  bool headed = false;  // a header of git's stands before this line
  for (const char *line = diff; *line; line = next_line(line)) {
    const char *second = next_line(line);
    headed = headed || strncmp(line, "diff --git ", 11) == 0;
    if (strncmp(line, "--- ", 4) == 0 && strncmp(second, "+++ ", 4) == 0 &&
        strncmp(next_line(second), "@@ -", 4) == 0) {
      path_of(line, &old);
      path_of(second, &new);
      if (!headed) {
        const char *path = buf_str(new.len ? &new : &old);
        buf_addf(ret, "diff --git a/%s b/%s\n", path, path);
        if (!old.len || !new.len)
          buf_addf(ret, "%s file mode 100644\n", old.len ? "deleted" : "new");
        buf_addf(ret, old.len ? "--- a/%s\n" : "--- /dev/null%s\n",
                 buf_str(&old));
        buf_addf(ret, new.len ? "+++ b/%s\n" : "+++ /dev/null%s\n",
                 buf_str(&new));
        line = second;
        continue;
      }
      headed = false;
    }
    buf_add(ret, line, (size_t)(second - line));
  }
  buf_release(&old);
  buf_release(&new);
}

// What was being applied last, for the message when it does not fit.
struct applying {
  const char *file;
  char hunk[160];
};

static int note_file(const git_diff_delta *delta, void *arg)
{
  struct applying *a = arg;
  a->file = delta->new_file.path;
  a->hunk[0] = '\0';
  return 0;
}

static int note_hunk(const git_diff_hunk *hunk, void *arg)
{
  struct applying *a = arg;
  snprintf(a->hunk, sizeof(a->hunk), "%.*s", (int)strcspn(hunk->header, "\n"),
           hunk->header);
  return 0;
}

static int misfit(const char *path, const struct applying *a, struct error *err)
{
  const git_error *e = git_error_last();
  return error_set(err, LG_EINPUT,
                   "%s: %s: %s%s%s; make the diff anew from the tree that it "
                   "is for",
                   path, a->file ? a->file : "the diff", a->hunk,
                   a->hunk[0] ? ": " : "", e ? e->message : "it does not fit");
}

int source_patch(struct objects *o, struct tree *tree, const char *path,
                 const char *diff, struct error *err)
{
  git_diff *parsed = NULL;
  git_tree *before = NULL;
  git_index *after = NULL;
  git_oid id;
  struct buf headed = BUF_INIT;
  struct applying last = {0};
  git_apply_options options;
  int rc = 0;
  git_apply_options_init(&options, GIT_APPLY_OPTIONS_VERSION);
  options.delta_cb = note_file;
  options.hunk_cb = note_hunk;
  options.payload = &last;
  add_headers(diff, &headed);
  if (git_diff_from_buffer(&parsed, buf_str(&headed), headed.len))
    rc = git_failed(err, LG_EINPUT, path);
  else if (git_diff_num_deltas(parsed) == 0)
    rc = error_set(err, LG_EINPUT,
                   "%s: this is no unified diff, or it changes "
                   "nothing",
                   path);
  else if (objects_write_tree(o, tree, &id) ||
           git_tree_lookup(&before, objects_repository(o), &id))
    rc = git_failed(err, LG_EHARNESS, path);
  else if (git_apply_to_tree(&after, objects_repository(o), before, parsed,
                             &options))
    rc = misfit(path, &last, err);
  else
    rc = take_index(o, after, tree, err);
  git_index_free(after);
  git_tree_free(before);
  git_diff_free(parsed);
  buf_release(&headed);
  return rc;
}

struct hunks {
  struct changed_lines *runs;
  size_t count, room;
};

static int add_hunk(const git_diff_delta *delta, const git_diff_hunk *hunk,
                    void *arg)
{
  struct hunks *h = arg;
  (void)delta;
  GROW(h->runs, h->count, h->room);
  // A hunk that only takes lines away names the line before them.
  h->runs[h->count++] =
      (struct changed_lines){(size_t)hunk->new_start + (hunk->new_lines == 0),
                             (size_t)hunk->new_lines};
  return 0;
}

int source_diff(const struct content *old, const struct content *new,
                struct changed_lines **ret, size_t *ret_count,
                struct error *err)
{
  struct hunks h = {0};
  git_diff_options options;
  git_libgit2_init();
  git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
  options.context_lines = 0;
  options.interhunk_lines = 0;
  options.flags = GIT_DIFF_MINIMAL;
  int rc = git_diff_buffers(old->bytes, old->len, NULL, new->bytes, new->len,
                            NULL, &options, NULL, NULL, add_hunk, NULL, &h);
  if (rc) {
    rc = git_failed(err, LG_EHARNESS, "comparing two texts");
    free(h.runs);
  } else {
    *ret = h.runs;
    *ret_count = h.count;
  }
  git_libgit2_shutdown();
  return rc;
}
