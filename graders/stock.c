// Compiles the course's tree into a cache keyed by content.
//
// How a file is compiled is not known here: the course's own Makefile is asked
// (make -n), so that a tree with other flags or another layout of objects is
// built as its authors build it.

#include "graders/stock.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graders/object.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"
#include "labgen/run/sandbox.h"

enum { COMPILE_S = 60, COMPILE_MIB = 1024, MAKE_S = 300 };
enum { KEY_BYTES = 16, MAX_TEXT_BYTES = 16 << 20 };
// Of entries in the cache; another number makes all of them anew.
#define FORM "2"
#define SHARED_NAME "shared.o"

// ---- the cache -----------------------------------------------------------------

char *cache_key(const struct key_part *parts, size_t count)
{
  crypto_generichash_state state;
  unsigned char key[KEY_BYTES];
  char *hex = xmalloc(2 * KEY_BYTES + 1);

  crypto_generichash_init(&state, NULL, 0, KEY_BYTES);
  for (size_t i = 0; i < count; i++) {
    unsigned long long len = parts[i].len;
    crypto_generichash_update(&state, (unsigned char *)&len, sizeof len);
    crypto_generichash_update(&state, parts[i].bytes, len);
  }
  crypto_generichash_final(&state, key, sizeof key);
  return sodium_bin2hex(hex, 2 * KEY_BYTES + 1, key, sizeof key);
}

int cache_place(const char *made, const char *place, struct error *err)
{
  if (rename(made, place) == 0)
    return 0;
  if (errno != EEXIST && errno != ENOTEMPTY)
    return error_errno(err, LG_EIO, "%s: cannot be moved to %s", made, place);
  return file_remove_tree(made, err);
}

// ---- running tools -------------------------------------------------------------

int tool_run(const struct tool_run *tool, const struct argv *argv,
             struct buf *ret_out, struct error *err)
{
  const char *seen[] = {tool->dir, NULL};
  struct sandbox box = {.off = tool->stock == NULL || !tool->stock->sandbox,
                        .read_only = seen,
                        .writable = tool->writable,
                        .dir = tool->dir};
  struct argv boxed = {0};
  sandbox_argv(&box, argv_list(argv), &boxed);
  struct child_spec spec = {
      .argv = argv_list(&boxed),
      .dir = tool->dir,
      .deadline_ms = clock_ms() + 1000 * MAKE_S,
      .max_output_bytes = MAX_TEXT_BYTES,
  };
  if (tool->stock != NULL) {
    const struct lab_limits *l = &tool->stock->limits;
    long mib = l->compile_memory_mib ? l->compile_memory_mib : COMPILE_MIB;
    long seconds = l->compile_seconds ? l->compile_seconds : COMPILE_S;
    spec.limits = (struct child_limits){
        .cpu_s = (uint64_t)seconds,
        .address_space_bytes = (uint64_t)mib << 20,
        .file_bytes = 64 << 20,
    };
    if (spec.deadline_ms < clock_ms() + 2000 * seconds)
      spec.deadline_ms = clock_ms() + 2000 * seconds;
  }
  struct child_result result = {0};
  int rc = child_run(&spec, &result, err);
  argv_release(&boxed);

  if (rc == 0 && (result.end != CHILD_EXITED || result.status != 0)) {
    struct buf how = BUF_INIT;
    child_result_describe(&result, &how);
    rc = error_set(err, LG_EBUILD, "%s %s:\n%s", argv->v[0], buf_str(&how),
                   buf_str(&result.err));
    buf_release(&how);
  } else if (rc == 0 && ret_out != NULL) {
    buf_release(ret_out);
    *ret_out = result.out;
    result.out = (struct buf)BUF_INIT;
  }
  child_result_release(&result);
  return rc;
}

// ---- the course's tree ---------------------------------------------------------

// Splits a command that make printed at blanks. Quotes hold nothing here that
// needs more than to be taken away.
static void split_command(const char *line, size_t len, struct argv *ret)
{
  struct buf word = BUF_INIT;

  argv_release(ret);
  for (size_t i = 0; i <= len; i++) {
    if (i < len && strchr(" \t", line[i]) == NULL) {
      if (strchr("'\"", line[i]) == NULL)
        buf_addc(&word, line[i]);
    } else if (word.len > 0) {
      argv_add(ret, buf_str(&word));
      buf_truncate(&word, 0);
    }
  }
  buf_release(&word);
}

static bool has_word(const struct argv *a, const char *word)
{
  for (size_t i = 0; i < a->count; i++)
    if (strcmp(a->v[i], word) == 0)
      return true;
  return false;
}

// Finds, among the commands that make would run, the two that matter.
static int find_commands(const char *dir, struct argv *ret_compile,
                         struct argv *ret_link, struct error *err)
{
  struct argv make = {0}, command = {0};
  struct buf out = BUF_INIT;
  const char *const ask[] = {"make", "-n", "-B", "kernel/kernel", NULL};

  argv_add_all(&make, ask);
  int rc = tool_run(&(struct tool_run){.dir = dir}, &make, &out, err);
  // A line that ends in a backslash goes on.
  for (char *at = out.data; rc == 0 && at && (at = strstr(at, "\\\n")); at += 2)
    at[0] = at[1] = ' ';
  for (const char *line = buf_str(&out); rc == 0 && *line != '\0';) {
    size_t len = strcspn(line, "\n");
    split_command(line, len, &command);
    if (has_word(&command, "-c") && has_word(&command, STUDENT_FILE)) {
      argv_release(ret_compile);
      argv_add_all(ret_compile, argv_list(&command));
    } else if (has_word(&command, STUDENT_OBJECT) &&
               has_word(&command, "kernel/kernel")) {
      argv_release(ret_link);
      argv_add_all(ret_link, argv_list(&command));
    }
    line += len + (line[len] == '\n');
  }
  if (rc == 0 && (ret_compile->count == 0 || ret_link->count == 0))
    rc = error_set(
        err, LG_EBUILD,
        "the course's Makefile has no command that compiles " STUDENT_FILE
        " and links " STUDENT_OBJECT " into kernel/kernel");
  argv_release(&command);
  argv_release(&make);
  buf_release(&out);
  return rc;
}

// The course's compile command for another file: `added` goes before the file,
// and where the file came and what was written by make's wish is left out.
void stock_compile_command(const struct stock *c, const char *const *added,
                           const char *from, const char *to, struct argv *ret)
{
  for (size_t i = 0; i < c->compile.count; i++) {
    const char *word = c->compile.v[i];
    if (strcmp(word, "-o") == 0)
      i++;
    else if (strcmp(word, "-c") != 0 && strcmp(word, "-MMD") != 0 &&
             strcmp(word, "-MD") != 0 && strcmp(word, STUDENT_FILE) != 0)
      argv_add(ret, word);
  }
  argv_add_all(ret, added);
  argv_add_all(ret, (const char *const[]){"-c", "-o", to, from, NULL});
}

// The watchers' files: how each is compiled is the course's matter.
static const char *const watch_files[][2] = {
    {"watch.c", "watch.o"},        {"locks.c", "locks.o"},
    {"probe.c", "probe.o"},        {"plain.c", "plain.o"},
    {"bounds-begin.S", "begin.o"}, {"bounds-end.S", "end.o"},
    {"count.c", "count.o"},
};

static int compile_watchers(const struct stock *c, struct error *err)
{
  const char *const added[] = {"-Ikernel", NULL};
  int rc = 0;

  for (size_t i = 0; rc == 0 && i < sizeof watch_files / sizeof *watch_files;
       i++) {
    struct argv command = {0};
    char *from = xasprintf("%s/watch/%s", c->dir, watch_files[i][0]);
    char *to = xasprintf("%s/%s", c->dir, watch_files[i][1]);
    stock_compile_command(c, added, from, to, &command);
    rc = tool_run(&(struct tool_run){.dir = c->dir}, &command, NULL, err);
    argv_release(&command);
    free(from);
    free(to);
  }
  return rc;
}

// Compiles a file of the course's, where there is one, in another way than the
// course does. `added` (ends with NULL) are the options for it.
static int compile_again(const struct stock *c, const char *file,
                         const char *object, const char *const *added,
                         struct error *err)
{
  struct argv command = {0};
  char *from = path_join(c->dir, file);
  int rc = 0;

  stock_compile_command(c, added, file, object, &command);
  if (file_exists(from))
    rc = tool_run(&(struct tool_run){.dir = c->dir}, &command, NULL, err);
  argv_release(&command);
  free(from);
  return rc;
}

static int by_text(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

// Collects the global names of the objects that are linked, the student's
// aside, into the file `reserved`: a student's file must define none of them.
static int write_reserved(const struct stock *c, struct error *err)
{
  char **names = NULL;
  size_t count = 0, room = 0;
  int rc = 0;

  for (size_t i = 0; rc == 0 && i < c->link.count; i++) {
    const char *word = c->link.v[i];
    size_t len = strlen(word);
    struct binary o = {0};
    if (len < 2 || strcmp(word + len - 2, ".o") != 0 ||
        strcmp(word, STUDENT_OBJECT) == 0)
      continue;
    char *path = path_join(c->dir, word);
    rc = object_read(path, &o, err);
    for (size_t s = 0; rc == 0 && s < o.symbol_count; s++) {
      if (!o.symbols[s].global || *o.symbols[s].name == '\0')
        continue;
      GROW(names, count, room);
      names[count++] = xstrdup(o.symbols[s].name);
    }
    object_release(&o);
    free(path);
  }
  if (count > 0)
    qsort(names, count, sizeof *names, by_text);
  struct buf text = BUF_INIT;
  for (size_t i = 0; i < count; i++)
    if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
      buf_addf(&text, "%s\n", names[i]);
  for (size_t i = 0; i < count; i++)
    free(names[i]);
  free(names);
  char *path = path_join(c->dir, "reserved");
  if (rc == 0)
    rc = file_write(path, buf_str(&text), text.len, 0644, err);
  free(path);
  buf_release(&text);
  return rc;
}

static int read_reserved(struct stock *c, struct error *err)
{
  struct buf text = BUF_INIT;
  char *path = path_join(c->dir, "reserved");
  int rc = file_read(path, MAX_TEXT_BYTES, &text, err);
  size_t room = 0;

  for (const char *line = buf_str(&text); rc == 0 && *line != '\0';) {
    size_t len = strcspn(line, "\n");
    GROW(c->reserved, c->reserved_count, room);
    c->reserved[c->reserved_count++] = xstrndup(line, len);
    line += len + (line[len] == '\n');
  }
  free(path);
  buf_release(&text);
  return rc;
}

void stock_tool(const struct stock *c, const char *tool, struct argv *ret)
{
  const char *compiler = c->compile.v[0];
  size_t len = strlen(compiler);

  // The tools of one compiler share a prefix: riscv64-unknown-elf-gcc.
  if (len >= 3 && strcmp(compiler + len - 3, "gcc") == 0)
    len -= 3;
  argv_addf(ret, "%.*s%s", (int)len, compiler, tool);
}

// What the compiler says of itself; "" when it cannot be asked.
static void compiler_version(const char *dir, const char *compiler,
                             struct buf *ret)
{
  struct argv ask = {0};

  argv_add_all(&ask, (const char *const[]){compiler, "--version", NULL});
  if (tool_run(&(struct tool_run){.dir = dir}, &ask, ret, NULL) != 0)
    buf_truncate(ret, 0);
  argv_release(&ask);
}

// Keeps the compiler's name and version beside what it made.
static int write_compiler(const struct stock *c, struct error *err)
{
  struct buf version = BUF_INIT, text = BUF_INIT;
  char *path = path_join(c->dir, "compiler");

  compiler_version(c->dir, c->compile.v[0], &version);
  buf_addf(&text, "%s\n%s", c->compile.v[0], buf_str(&version));
  int rc = file_write(path, buf_str(&text), text.len, 0644, err);
  free(path);
  buf_release(&text);
  buf_release(&version);
  return rc;
}

// Whether the compiler that made an entry of the cache is still the one here.
static bool same_compiler(const char *place)
{
  struct buf text = BUF_INIT, version = BUF_INIT;
  char *path = path_join(place, "compiler");
  bool same = false;

  if (file_read(path, MAX_TEXT_BYTES, &text, NULL) == 0) {
    size_t len = strcspn(text.data, "\n");
    char *compiler = xstrndup(text.data, len);
    compiler_version(place, compiler, &version);
    same = text.data[len] == '\n' &&
           strcmp(text.data + len + 1, buf_str(&version)) == 0;
    free(compiler);
  }
  free(path);
  buf_release(&text);
  buf_release(&version);
  return same;
}

// Writes the tree into c->dir and compiles it and the watchers there.
static int compile_stock(struct stock *c, const struct tree *tree,
                         struct error *err)
{
  struct argv make = {0};
  int rc = tree_write(tree, c->dir, err);

  argv_add_all(&make, (const char *const[]){"make", "kernel/kernel", NULL});
  if (rc == 0)
    rc = tool_run(&(struct tool_run){.dir = c->dir}, &make, NULL, err);
  if (rc == 0)
    rc = find_commands(c->dir, &c->compile, &c->link, err);
  if (rc == 0)
    rc = write_compiler(c, err);
  if (rc == 0)
    rc = compile_watchers(c, err);
  // To hold a submission's against.
  if (rc == 0)
    rc = compile_again(c, SHARED_FILE, SHARED_NAME,
                       (const char *const[]){STOCK_SHARED_OPTION, NULL}, err);
  if (rc == 0)
    rc = compile_again(c, LOCKS_FILE, STOCK_COUNTED_LOCKS,
                       (const char *const[]){"-include", "watch/count.h", NULL},
                       err);
  if (rc == 0)
    rc = write_reserved(c, err);
  argv_release(&make);
  return rc;
}

// A hash of all files of a tree; the caller owns it.
static char *tree_key(const struct tree *t)
{
  struct key_part *parts = xcalloc(2 * t->count + 1, sizeof *parts);

  for (size_t i = 0; i < t->count; i++) {
    parts[2 * i] =
        (struct key_part){t->files[i].path, strlen(t->files[i].path)};
    parts[2 * i + 1] =
        (struct key_part){t->files[i].content->bytes, t->files[i].content->len};
  }
  char *key = cache_key(parts, 2 * t->count);
  free(parts);
  return key;
}

static int absolute(const char *path, char **ret, struct error *err)
{
  char full[PATH_MAX];

  if (realpath(path, full) == NULL)
    return error_errno(err, LG_EIO, "%s", path);
  *ret = xstrdup(full);
  return 0;
}

// Compiles the tree aside and puts it into the cache at `place`.
static int fill_entry(struct stock *c, const struct tree *tree,
                      const char *place, struct error *err)
{
  int rc = file_make_temp_dir(c->cache, "new-", &c->dir, err);

  if (rc == 0)
    rc = compile_stock(c, tree, err);
  if (rc == 0)
    rc = cache_place(c->dir, place, err);
  if (rc != 0 && c->dir != NULL)
    file_remove_tree(c->dir, NULL);
  free(c->dir);
  c->dir = NULL;
  return rc;
}

// The entry's tree: the course's, and the watchers' files in a folder of their
// own, so that a change of labgen's files changes no entry that is in use.
static int add_watchers(const struct tree *tree, struct tree *ret,
                        struct error *err)
{
  const char *data = NULL;
  int rc = data_dir(&data, err);

  tree_copy(ret, tree);
  if (rc == 0) {
    char *watch = path_join(data, "graders/watch");
    rc = tree_add_folder(ret, watch, "watch/", err);
    free(watch);
  }
  return rc;
}

static char *stock_key(const struct tree *all)
{
  char *hash = tree_key(all);
  const struct key_part parts[] = {{LABGEN_VERSION, strlen(LABGEN_VERSION)},
                                   {FORM, strlen(FORM)},
                                   {hash, strlen(hash)}};
  char *key = cache_key(parts, 3);
  free(hash);
  return key;
}

int stock_open(const char *cache, const struct tree *tree, bool sandbox,
               struct stock *ret, struct error *err)
{
  struct stock c = {.sandbox = sandbox};
  struct tree all = {0};
  char *place = NULL;
  int rc = file_mkdirs(cache, err);

  if (rc == 0)
    rc = absolute(cache, &c.cache, err);
  if (rc == 0)
    rc = add_watchers(tree, &all, err);
  if (rc != 0)
    goto out;

  c.key = stock_key(&all);
  place = xasprintf("%s/stock-%s", c.cache, c.key);
  if (file_exists(place) && !same_compiler(place))
    rc = file_remove_tree(place, err);
  if (rc == 0 && !file_exists(place))
    rc = fill_entry(&c, &all, place, err);
  if (rc == 0) {
    c.dir = xstrdup(place);
    c.watch = path_join(c.dir, "watch");
    c.shared = path_join(c.dir, SHARED_NAME);
    rc = find_commands(c.dir, &c.compile, &c.link, err);
  }
  if (rc == 0)
    rc = read_reserved(&c, err);
out:
  free(place);
  tree_release(&all);
  if (rc != 0)
    stock_close(&c);
  else
    *ret = c;
  return rc;
}

void stock_close(struct stock *c)
{
  for (size_t i = 0; i < c->reserved_count; i++)
    free(c->reserved[i]);
  free(c->reserved);
  argv_release(&c->compile);
  argv_release(&c->link);
  free(c->key);
  free(c->cache);
  free(c->dir);
  free(c->watch);
  free(c->shared);
  *c = (struct stock){0};
}
