// Builds kernels with the Makefile of their own tree, several at a time. What
// to compile again is make's business: a tree begins as a copy of a built one,
// times of files included, with the files that differ written over it. A tree
// whose headers, Makefile or set of files differ begins from nothing, since not
// every Makefile tracks those.
#include "labgen/repo/kernel.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/repo/warm.h"
#include "labgen/run/child.h"

#define MAX_JOBS 64
#define FILE_MAX_BYTES (256u << 20)

// One place to build in. Between two builds its folder stays as the last one
// left it, so that the next needs only write what differs.
struct job {
  char *dir;                // owned; NULL: nothing there
  struct tree tree;         // what was built there last
  char *label;              // owned; NULL: nothing under way
  struct timespec written;  // when a source was last; 0: none was
  char key[KERNEL_KEY_BYTES];
  bool keep;
};

// A built tree in the cache, and the sources that it was built from.
struct built {
  struct tree tree;
  char *dir;
};

struct known {
  char key[KERNEL_KEY_BYTES];
  bool failed;
};

struct kernels {
  struct kernel_options options;
  struct job jobs[MAX_JOBS];
  struct child *children[MAX_JOBS];  // the same index; NULL: free
  struct built *built;
  size_t built_count, built_room;
  struct known *known;  // kernels that are there or under way
  size_t known_count, known_room;
  struct content *makefile;  // whose compiler `compiler` describes
  struct buf compiler;
  size_t compiled, failed;
};

struct kernels *kernels_open(const struct kernel_options *options)
{
  struct kernels *k = xcalloc(1, sizeof(*k));
  k->options = *options;
  if (k->options.jobs < 1)
    k->options.jobs = 1;
  if (k->options.jobs > MAX_JOBS)
    k->options.jobs = MAX_JOBS;
  return k;
}

size_t kernels_compiled(const struct kernels *k)
{
  return k->compiled;
}

size_t kernels_failed(const struct kernels *k)
{
  return k->failed;
}

// --- names -----------------------------------------------------------------

static int run_make(struct kernels *k, const char *dir, const char *const *args,
                    struct child **ret, struct child_result *ret_result,
                    struct error *err)
{
  const char *argv[24] = {"make", "-C", dir, "--no-print-directory", "-s"};
  size_t n = 5;
  for (; *args && n + 1 < sizeof(argv) / sizeof(argv[0]); args++)
    argv[n++] = *args;
  struct child_spec spec = {.argv = argv, .merge_stderr = true};
  spec.limits.cpu_s = (uint64_t)k->options.limits.compile_seconds;
  spec.limits.address_space_bytes =
      (uint64_t)k->options.limits.compile_memory_mib << 20;
  return ret ? child_start(&spec, ret, err) : child_run(&spec, ret_result, err);
}

// Asks the tree's Makefile which compiler it takes, and that what it is.
static int ask_compiler(struct kernels *k, const struct tree *tree,
                        struct error *err)
{
  static const char *const args[] = {
      "--eval=labgen-compiler:;@echo $(CC) $(LD); $(CC) --version; "
      "$(LD) --version",
      "labgen-compiler", NULL};
  const struct tree_file *makefile = tree_find(tree, "Makefile");
  if (!makefile)
    return error_set(err, LG_EINPUT, "the kernel's tree has no Makefile");
  if (k->makefile == makefile->content)
    return 0;
  struct child_result result = {0};
  char *dir = publish_scratch(k->options.publish);
  int rc = tree_write(tree, dir, err);
  rc = rc ? rc : run_make(k, dir, args, NULL, &result, err);
  if (rc == 0 && result.status != 0)
    rc = error_set(err, LG_EHARNESS,
                   "make finds no compiler for the kernels:\n%s",
                   buf_str(&result.out));
  if (rc == 0) {
    k->makefile = makefile->content;
    buf_release(&k->compiler);
    buf_add(&k->compiler, buf_str(&result.out), result.out.len);
  }
  child_result_release(&result);
  file_remove_tree(dir, NULL);
  free(dir);
  return rc;
}

static void add_hashed(crypto_generichash_state *state, const void *bytes,
                       size_t len)
{
  uint64_t len64 = len;
  crypto_generichash_update(state, (unsigned char *)&len64, sizeof(len64));
  crypto_generichash_update(state, bytes, len);
}

static int make_key(struct kernels *k, const struct tree *tree, char *ret,
                    struct error *err)
{
  crypto_generichash_state state;
  unsigned char hash[(KERNEL_KEY_BYTES - 1) / 2];
  int rc = ask_compiler(k, tree, err);
  if (rc)
    return rc;
  crypto_generichash_init(&state, NULL, 0, sizeof(hash));
  add_hashed(&state, buf_str(&k->compiler), k->compiler.len);
  for (size_t i = 0; i < tree->count; i++) {
    const struct tree_file *f = &tree->files[i];
    if (warm_is_document(f->path))
      continue;
    add_hashed(&state, f->path, strlen(f->path));
    add_hashed(&state, f->content->bytes, f->content->len);
  }
  crypto_generichash_final(&state, hash, sizeof(hash));
  sodium_bin2hex(ret, KERNEL_KEY_BYTES, hash, sizeof(hash));
  return 0;
}

// --- where a build begins --------------------------------------------------

static const char *product(const struct kernels *k, size_t i)
{
  return k->options.products.count ? k->options.products.items[i]
                                   : "kernel/kernel";
}

static size_t product_count(const struct kernels *k)
{
  return k->options.products.count ? k->options.products.count : 1;
}

// When the first product in a folder was made; the beginning of time for none.
static struct timespec product_time(const struct kernels *k, const char *dir)
{
  struct stat st;
  char *path = path_join(dir, product(k, 0));
  bool there = stat(path, &st) == 0;
  free(path);
  return there ? st.st_mtim : (struct timespec){0};
}

// Makes the job's folder ready for make: as the last build left it, or a copy
// of the built tree that is most like this one, or nothing but the sources.
static int prepare(struct kernels *k, const struct tree *tree, struct job *job,
                   struct error *err)
{
  const struct built *best = NULL;
  int least = 0, rc = 0;
  for (size_t i = 0; i < k->built_count; i++) {
    int d = warm_distance(tree, &k->built[i].tree);
    if (d >= 0 && (!best || d < least)) {
      best = &k->built[i];
      least = d;
    }
  }
  int here = job->dir ? warm_distance(tree, &job->tree) : -1;
  if (here < 0 || (best && least < here - 1)) {
    if (job->dir)
      rc = file_remove_tree(job->dir, err);
    free(job->dir);
    job->dir = publish_scratch(k->options.publish);
    if (rc == 0 && best)
      rc = warm_copy(best->dir, job->dir, err);
    tree_copy(&job->tree, best ? &best->tree : &(struct tree){0});
  }
  struct timespec built = product_time(k, job->dir);
  job->written = (struct timespec){0};
  rc = rc ? rc : file_mkdirs(job->dir, err);
  if (rc == 0 && job->tree.count == 0)
    rc = tree_write(tree, job->dir, err);
  else if (rc == 0)
    rc = warm_update(job->dir, &job->tree, tree, &built, &job->written, err);
  tree_copy(&job->tree, tree);
  return rc;
}

// --- jobs ------------------------------------------------------------------

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// Copies one product to where it will be published, its hash beside it.
static int take_product(const char *dir, const char *name, const char *to,
                        struct error *err)
{
  unsigned char hash[32];
  char hex[2 * sizeof(hash) + 2];
  struct buf bytes = BUF_INIT;
  char *from = path_join(dir, name), *place = path_join(to, base_name(name));
  char *hash_place = xasprintf("%s.blake2b", place);
  int rc = file_read(from, FILE_MAX_BYTES, &bytes, err);
  if (rc == 0) {
    crypto_generichash(hash, sizeof(hash),
                       (const unsigned char *)buf_str(&bytes), bytes.len, NULL,
                       0);
    sodium_bin2hex(hex, sizeof(hex) - 1, hash, sizeof(hash));
    hex[2 * sizeof(hash)] = '\n';
    hex[2 * sizeof(hash) + 1] = '\0';
    rc = file_write(place, buf_str(&bytes), bytes.len, 0644, err);
  }
  rc = rc ? rc : file_write(hash_place, hex, strlen(hex), 0644, err);
  buf_release(&bytes);
  free(from);
  free(place);
  free(hash_place);
  return rc;
}

static int publish_products(struct kernels *k, const struct job *job,
                            struct error *err)
{
  char *name = xasprintf("kernels/%s", job->key);
  const char *to = publish_begin(k->options.publish, name);
  int rc = file_mkdirs(to, err);
  for (size_t i = 0; i < product_count(k) && rc == 0; i++)
    rc = take_product(job->dir, product(k, i), to, err);
  int end = publish_end(k->options.publish, rc, err);
  free(name);
  return rc ? rc : end;
}

static struct known *find_known(struct kernels *k, const char *key)
{
  for (size_t i = 0; i < k->known_count; i++)
    if (strcmp(k->known[i].key, key) == 0)
      return &k->known[i];
  return NULL;
}

static void forget_dir(struct job *job)
{
  if (job->dir)
    file_remove_tree(job->dir, NULL);
  free(job->dir);
  job->dir = NULL;
  tree_release(&job->tree);
}

// Puts a built tree that is to be kept into the cache.
static int keep_tree(struct kernels *k, struct job *job, struct error *err)
{
  char *place = path_join(k->options.cache, job->key);
  int rc = 0;
  if (rename(job->dir, place) && !file_exists(place))
    rc = error_errno(err, LG_EIO, "%s", place);
  free(place);
  return rc;
}

// Deals with a job whose make has ended.
static int end_job(struct kernels *k, size_t i, struct error *err)
{
  struct job *job = &k->jobs[i];
  const struct child_result *result = child_result_of(k->children[i]);
  struct buf words = BUF_INIT;
  bool good = result->end == CHILD_EXITED && result->status == 0;
  int rc = 0;
  struct timespec made = product_time(k, job->dir);
  if (good && !warm_is_later(&made, &job->written)) {
    rc = error_set(err, LG_EHARNESS,
                   "%s: make did not make %s anew from changed sources",
                   job->label, product(k, 0));
  } else if (good) {
    rc = publish_products(k, job, err);
    if (rc == 0 && job->keep)
      rc = keep_tree(k, job, err);
  } else {
    k->failed++;
    find_known(k, job->key)->failed = true;
    buf_add(&words, buf_str(&result->out), result->out.len);
    buf_adds(&words, "make ");
    child_result_describe(result, &words);
    buf_addc(&words, '\n');
  }
  if (k->options.on_done)
    k->options.on_done(k->options.arg, job->label,
                       good ? NULL : buf_str(&words));
  buf_release(&words);
  child_release(k->children[i]);
  k->children[i] = NULL;
  free(job->label);
  job->label = NULL;
  if (rc || !good || job->keep)
    forget_dir(job);
  return rc;
}

// Waits until at most `most` jobs are under way.
static int wait_for_jobs(struct kernels *k, size_t most, struct error *err)
{
  for (;;) {
    struct child *running[MAX_JOBS];
    size_t count = 0;
    for (size_t i = 0; i < MAX_JOBS; i++) {
      if (k->children[i] && child_ended(k->children[i])) {
        int rc = end_job(k, i, err);
        if (rc)
          return rc;
      }
      if (k->children[i])
        running[count++] = k->children[i];
    }
    if (count <= most)
      return 0;
    int rc = children_poll(running, count, 0, err);
    if (rc)
      return rc;
  }
}

// Whether a kernel is there or under way already; says so if it is. From now on
// it is known.
static bool is_known(struct kernels *k, const char *key, const char *label)
{
  const struct known *known = find_known(k, key);
  char *name = xasprintf("kernels/%s", key);
  char *place = publish_place(k->options.publish, name);
  bool there = known || file_exists(place);
  free(name);
  free(place);
  if (there && k->options.on_done)
    k->options.on_done(
        k->options.arg, label,
        known && known->failed ? "it is the same kernel as one above\n" : NULL);
  if (!known) {
    GROW(k->known, k->known_count, k->known_room);
    struct known *new = &k->known[k->known_count++];
    *new = (struct known){0};
    memcpy(new->key, key, KERNEL_KEY_BYTES);
  }
  return there;
}

static int start_job(struct kernels *k, const struct tree *tree,
                     const char *label, const char *key, bool keep,
                     struct error *err)
{
  size_t i = 0;
  while (k->children[i])
    i++;
  struct job *job = &k->jobs[i];
  const char *args[20] = {keep ? "" : "-j1"};
  char all_jobs[16];
  snprintf(all_jobs, sizeof(all_jobs), "-j%d", k->options.jobs);
  if (keep)
    args[0] = all_jobs;
  for (size_t p = 0; p < product_count(k) && p < 16; p++)
    args[1 + p] = product(k, p);
  job->label = xstrdup(label);
  job->keep = keep;
  memcpy(job->key, key, sizeof(job->key));
  int rc = prepare(k, tree, job, err);
  rc = rc ? rc : run_make(k, job->dir, args, &k->children[i], NULL, err);
  if (rc) {
    free(job->label);
    job->label = NULL;
    forget_dir(job);
    return rc;
  }
  k->compiled++;
  return 0;
}

int kernels_add(struct kernels *k, const struct tree *tree, const char *label,
                char ret_key[KERNEL_KEY_BYTES], struct error *err)
{
  int rc = make_key(k, tree, ret_key, err);
  if (rc)
    return rc;
  if (is_known(k, ret_key, label))
    return 0;
  rc = wait_for_jobs(k, (size_t)k->options.jobs - 1, err);
  return rc ? rc : start_job(k, tree, label, ret_key, false, err);
}

static void add_built(struct kernels *k, const struct tree *tree,
                      const char *dir)
{
  GROW(k->built, k->built_count, k->built_room);
  struct built *b = &k->built[k->built_count++];
  *b = (struct built){.dir = xstrdup(dir)};
  tree_copy(&b->tree, tree);
}

int kernels_warm(struct kernels *k, const struct tree *tree, const char *label,
                 char ret_key[KERNEL_KEY_BYTES], struct error *err)
{
  int rc = make_key(k, tree, ret_key, err);
  rc = rc ? rc : wait_for_jobs(k, 0, err);
  if (rc)
    return rc;
  char *place = path_join(k->options.cache, ret_key);
  bool built = file_exists(place);
  if (built)
    add_built(k, tree, place);
  if (!is_known(k, ret_key, label) || !built) {
    rc = file_mkdirs(k->options.cache, err);
    rc = rc ? rc : start_job(k, tree, label, ret_key, true, err);
    rc = rc ? rc : wait_for_jobs(k, 0, err);
  }
  if (rc == 0 && !built && file_exists(place))
    add_built(k, tree, place);
  free(place);
  return rc;
}

int kernels_finish(struct kernels *k, struct error *err)
{
  return wait_for_jobs(k, 0, err);
}

void kernels_close(struct kernels *k)
{
  if (!k)
    return;
  for (size_t i = 0; i < MAX_JOBS; i++) {
    child_release(k->children[i]);
    forget_dir(&k->jobs[i]);
    free(k->jobs[i].label);
  }
  for (size_t i = 0; i < k->built_count; i++) {
    tree_release(&k->built[i].tree);
    free(k->built[i].dir);
  }
  free(k->built);
  free(k->known);
  buf_release(&k->compiler);
  free(k);
}
