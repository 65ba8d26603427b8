// Lays out repositories by hand where git's own layout would vary: no times, no
// identities of this machine, no samples. It does not sync or rename; the
// caller makes a folder appear whole (publish.c).
#include "labgen/repo/repo.h"

#include <git2.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/buf.h"
#include "labgen/base/file.h"
#include "labgen/repo/pack.h"

static const char config_text[] =
    "[core]\n"
    "\trepositoryformatversion = 0\n"
    "\tfilemode = true\n"
    "\tbare = false\n";

// Every branch, as git writes them: sorted, so that it need not sort.
static void add_packed_refs(const struct repo_plan *plan, struct buf *b)
{
  buf_adds(b, "# pack-refs with: peeled fully-peeled sorted \n");
  for (size_t i = 0; i < plan->count; i++) {
    char hex[OBJECT_HEX_BYTES];
    object_hex(&plan->branches[i].commit, hex);
    buf_addf(b, "%s refs/heads/%s\n", hex, plan->branches[i].name);
  }
}

static int write_text(const char *folder, const char *name, const char *text,
                      struct error *err)
{
  char *path = path_join(folder, name);
  int rc = file_write(path, text, strlen(text), 0644, err);
  free(path);
  return rc;
}

static int write_objects(const char *folder, struct objects *o,
                         const struct repo_plan *plan, struct error *err)
{
  struct object_id *tips = xcalloc(plan->count + 1, sizeof(*tips));
  struct object *all = NULL;
  size_t count = 0;
  for (size_t i = 0; i < plan->count; i++)
    tips[i] = plan->branches[i].commit;
  int rc = objects_reach(o, tips, plan->count, &all, &count, err);
  if (rc == 0)
    rc = pack_write(folder, all, count, err);
  free(all);
  free(tips);
  return rc;
}

int repo_write(const char *folder, struct objects *o,
               const struct repo_plan *plan, struct error *err)
{
  static const char *const folders[] = {"objects/pack", "objects/info",
                                        "refs/heads", "refs/tags"};
  struct buf refs = BUF_INIT, head = BUF_INIT;
  char *git = path_join(folder, ".git");
  char *packs = path_join(git, "objects/pack");
  char *index = path_join(git, "index");
  int rc = tree_write(plan->tree, folder, err);
  for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && rc == 0; i++) {
    char *path = path_join(git, folders[i]);
    rc = file_mkdirs(path, err);
    free(path);
  }
  add_packed_refs(plan, &refs);
  buf_addf(&head, "ref: refs/heads/%s\n", plan->branches[plan->head].name);
  rc = rc ? rc : write_objects(packs, o, plan, err);
  rc = rc ? rc : write_text(git, "config", config_text, err);
  rc = rc ? rc : write_text(git, "packed-refs", buf_str(&refs), err);
  rc = rc ? rc : objects_write_index(o, plan->tree, index, err);
  rc = rc ? rc : write_text(git, "HEAD", buf_str(&head), err);
  free(git);
  free(packs);
  free(index);
  buf_release(&refs);
  buf_release(&head);
  return rc;
}

// --- looking ---------------------------------------------------------------

// What a walk through .git finds that repo_write() does not leave there.
static int spot_stranger(void *arg, const char *path, struct error *err)
{
  static const char *const own[] = {"HEAD", "config", "index", "packed-refs"};
  bool *found = arg;
  (void)err;
  for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
    if (strcmp(path, own[i]) == 0)
      return 0;
  if (strncmp(path, "objects/pack/pack-", 18) != 0)
    *found = true;
  return 0;
}

// Whether the working tree is what HEAD says, nothing added. False when it
// cannot be told.
static bool is_clean(const char *folder)
{
  git_repository *repo = NULL;
  git_status_list *list = NULL;
  git_status_options options = {.version = GIT_STATUS_OPTIONS_VERSION};
  options.flags = GIT_STATUS_OPT_INCLUDE_UNTRACKED |
                  GIT_STATUS_OPT_INCLUDE_IGNORED |
                  GIT_STATUS_OPT_EXCLUDE_SUBMODULES;
  bool clean = git_repository_open_ext(
                   &repo, folder, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL) == 0 &&
               git_status_list_new(&list, repo, &options) == 0 &&
               git_status_list_entrycount(list) == 0;
  git_status_list_free(list);
  git_repository_free(repo);
  return clean;
}

enum repo_state repo_look(const char *folder, const struct repo_plan *plan)
{
  struct buf refs = BUF_INIT, there = BUF_INIT;
  char *git = path_join(folder, ".git");
  char *path = path_join(git, "packed-refs");
  enum repo_state state = REPO_CHANGED;
  bool strange = false;
  add_packed_refs(plan, &refs);
  if (!file_exists(folder))
    state = REPO_ABSENT;
  else if (file_read(path, 1 << 20, &there, NULL) == 0 &&
           there.len == refs.len &&
           memcmp(there.data, refs.data, refs.len) == 0)
    state = REPO_CURRENT;
  else if (file_walk(git, spot_stranger, &strange, NULL) == 0 && !strange &&
           is_clean(folder))
    state = REPO_UNTOUCHED;
  buf_release(&refs);
  buf_release(&there);
  free(git);
  free(path);
  return state;
}
