// Compiles a submission's files and links its kernels, into the cache.

#include "graders/kernel.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

// To be changed with what a pair's folder holds: it is part of its key.
#define PAIR_FORMAT "2"

static const struct content *content_of(const struct tree *t, const char *path)
{
  const struct tree_file *file = tree_find(t, path);
  return file != NULL ? file->content : NULL;
}

// Writes a file of the tree below `dir`; what is not in the tree is not needed.
static int write_part(const struct tree *t, const char *path, const char *dir,
                      const char *as, struct error *err)
{
  const struct content *content = content_of(t, path);
  char *to = path_join(dir, as);
  int rc = 0;

  if (content != NULL)
    rc = file_write(to, content->bytes, content->len, 0644, err);
  free(to);
  return rc;
}

// The options with which both of a submission's files are compiled: its own
// defs.h before the course's, and all others from the course. `last` are more.
static void add_common(const char *dir, const struct stock *c, struct argv *ret)
{
  argv_addf(ret, "-I%s/include", c->watch);
  argv_addf(ret, "-I%s/kernel", dir);
  argv_addf(ret, "-I%s/kernel", c->dir);
}

// Compiles DIR/from to DIR/to with the course's options and `added`, which is
// released.
static int compile(const struct stock *c, const char *dir, const char *from,
                   const char *to, struct argv *added, struct error *err)
{
  struct argv command = {0};
  char *source = path_join(dir, from), *object = path_join(dir, to);

  stock_compile_command(c, argv_list(added), source, object, &command);
  int rc = tool_run(&(struct tool_run){c->dir, dir, c}, &command, NULL, err);
  argv_release(added);
  argv_release(&command);
  free(source);
  free(object);
  return rc;
}

// kalloc.c lies outside of kernel/, so that its riscv.h is the watchers'. Calls
// at a function's end stay calls: the watchers tell by the return address whose
// call it is.
static int compile_student(const struct stock *c, const char *dir,
                           struct error *err)
{
  struct argv added = {0};

  add_common(dir, c, &added);
  argv_addf(&added, "-include%s/include/watched.h", c->watch);
  argv_addf(&added, "-ffile-prefix-map=%s/student=kernel", dir);
  argv_add(&added, "-fno-optimize-sibling-calls");
  return compile(c, dir, "student/kalloc.c", "kalloc.o", &added, err);
}

// What the explorer compiles for the host: the file as the kernel's compiler
// reads it, so that no #if tells the two apart.
static int preprocess_student(const struct stock *c, const char *dir,
                              struct error *err)
{
  struct argv added = {0};

  argv_addf(&added, "-I%s/kernel", dir);
  argv_addf(&added, "-I%s/kernel", c->dir);
  argv_addf(&added, "-ffile-prefix-map=%s/student=kernel", dir);
  argv_add(&added, "-E");
  return compile(c, dir, "student/kalloc.c", "student/kalloc.i", &added, err);
}

static int compile_shared(const struct stock *c, const char *dir,
                          struct error *err)
{
  struct argv added = {0};

  argv_addf(&added, "-I%s/kernel", dir);
  argv_addf(&added, "-I%s/kernel", c->dir);
  argv_addf(&added, "-ffile-prefix-map=%s=.", dir);
  argv_add(&added, STOCK_SHARED_OPTION);
  return compile(c, dir, SHARED_FILE, "proc.o", &added, err);
}

// Links as the course does, with the student's objects in place of the
// course's, and `with` (ends with NULL, relative to the course's folder).
// `locks` is the object that stands for the course's LOCKS_OBJECT.
static int link_kernel(const struct stock *c, const char *dir, bool shared,
                       const char *name, const char *locks,
                       const char *const *with, struct error *err)
{
  struct argv command = {0};

  for (size_t i = 0; i < c->link.count; i++) {
    const char *word = c->link.v[i];
    if (strcmp(word, "kernel/kernel") == 0) {
      argv_addf(&command, "%s/%s", dir, name);
    } else if (strcmp(word, STUDENT_OBJECT) == 0) {
      argv_add(&command, "begin.o");
      argv_addf(&command, "%s/kalloc.o", dir);
      argv_add(&command, "end.o");
    } else if (strcmp(word, SHARED_OBJECT) == 0 && shared) {
      argv_addf(&command, "%s/proc.o", dir);
    } else if (strcmp(word, LOCKS_OBJECT) == 0) {
      argv_add(&command, locks);
    } else {
      argv_add(&command, word);
    }
  }
  argv_add_all(&command, with);
  int rc = tool_run(&(struct tool_run){c->dir, dir, c}, &command, NULL, err);
  argv_release(&command);
  return rc;
}

// Disassembles NAME.o into NAME.asm.
static int disassemble(const struct stock *c, const char *dir, const char *name,
                       struct error *err)
{
  struct argv command = {0};
  struct buf out = BUF_INIT;
  char *to = xasprintf("%s/%s.asm", dir, name);

  stock_tool(c, "objdump", &command);
  argv_add(&command, "-d");
  argv_addf(&command, "%s/%s.o", dir, name);
  int rc = tool_run(&(struct tool_run){c->dir, dir, c}, &command, &out, err);
  if (rc == 0)
    rc = file_write(to, buf_str(&out), out.len, 0644, err);
  argv_release(&command);
  buf_release(&out);
  free(to);
  return rc;
}

static int build_in(const struct stock *c, const struct tree *t, bool shared,
                    const char *dir, struct error *err)
{
  char *options = xasprintf("@%s/wrap.options", c->watch);
  const char *const plain[] = {"plain.o", NULL};
  const char *const watched[] = {options, "watch.o", "locks.o", "probe.o",
                                 NULL};
  char *student = path_join(dir, "student"), *kernel = path_join(dir, "kernel");
  int rc = file_mkdirs(student, err);

  if (rc == 0)
    rc = file_mkdirs(kernel, err);
  if (rc == 0)
    rc = write_part(t, STUDENT_FILE, dir, "student/kalloc.c", err);
  if (rc == 0)
    rc = write_part(t, SHARED_HEADER, dir, SHARED_HEADER, err);
  if (rc == 0 && shared)
    rc = write_part(t, SHARED_FILE, dir, SHARED_FILE, err);
  if (rc == 0)
    rc = compile_student(c, dir, err);
  if (rc == 0)
    rc = preprocess_student(c, dir, err);
  if (rc == 0 && shared)
    rc = compile_shared(c, dir, err);
  if (rc == 0)
    rc = link_kernel(c, dir, shared, "kernel-plain", LOCKS_OBJECT, plain, err);
  if (rc == 0)
    rc = link_kernel(c, dir, shared, "kernel-watched", LOCKS_OBJECT, watched,
                     err);
  if (rc == 0)
    rc = disassemble(c, dir, "kalloc", err);
  if (rc == 0 && shared)
    rc = disassemble(c, dir, "proc", err);
  free(options);
  free(student);
  free(kernel);
  return rc;
}

static void name_files(const char *dir, bool shared, struct kernel_pair *k)
{
  k->dir = xstrdup(dir);
  k->object = path_join(dir, "kalloc.o");
  k->preprocessed = path_join(dir, "student/kalloc.i");
  k->plain = path_join(dir, "kernel-plain");
  k->watched = path_join(dir, "kernel-watched");
  k->disassembly = path_join(dir, "kalloc.asm");
  k->shared = shared ? path_join(dir, "proc.o") : NULL;
  k->shared_disassembly = shared ? path_join(dir, "proc.asm") : NULL;
}

// Whether the spliced proc.c is another than the course's.
static int shared_differs(const struct stock *c, const struct content *mine,
                          bool *ret, struct error *err)
{
  struct buf theirs = BUF_INIT;
  char *path = path_join(c->dir, SHARED_FILE);
  int rc = mine != NULL ? file_read(path, 16 << 20, &theirs, err) : 0;

  if (rc == 0)
    *ret = mine != NULL && (theirs.len != mine->len ||
                            memcmp(theirs.data, mine->bytes, mine->len) != 0);
  free(path);
  buf_release(&theirs);
  return rc;
}

// The compiler saw the files in a folder of the cache, with a name of its own
// each time; people know them by their names in the tree.
static void say_tree_names(struct error *err, const char *folder)
{
  char *const beginnings[] = {xasprintf("%s/student/", folder),
                              xasprintf("%s/", folder)};
  static const char *const names[] = {"kernel/", ""};
  struct buf text = BUF_INIT;

  if (err != NULL && err->message != NULL) {
    buf_adds(&text, err->message);
    for (size_t i = 0; i < 2; i++) {
      size_t len = strlen(beginnings[i]);
      const char *at;
      while ((at = strstr(text.data, beginnings[i])) != NULL)
        buf_splice(&text, (size_t)(at - text.data), len, names[i],
                   strlen(names[i]));
    }
    free(err->message);
    err->message = buf_detach(&text);
  }
  free(beginnings[0]);
  free(beginnings[1]);
}

// A build that failed is the submission's fault only if the course's own file
// still builds, in the same way: else the disk is full, or a tool has gone.
static int build_course(const struct stock *c, struct error *err)
{
  static const char *const files[] = {STUDENT_FILE, SHARED_HEADER};
  struct tree own = {0};
  struct error words = {0};
  char *made = NULL;
  int rc = 0;

  for (size_t i = 0; i < 2 && rc == 0; i++) {
    struct buf bytes = BUF_INIT;
    char *path = path_join(c->dir, files[i]);
    rc = file_read(path, 16 << 20, &bytes, &words);
    if (rc == 0)
      rc = tree_put(&own, files[i], buf_str(&bytes), bytes.len, false, &words);
    buf_release(&bytes);
    free(path);
  }
  if (rc == 0)
    rc = file_make_temp_dir(c->cache, "new-", &made, &words);
  if (rc == 0)
    rc = build_in(c, &own, false, made, &words);
  if (rc != 0)
    rc = error_set(err, LG_EHARNESS,
                   "nothing can be compiled here now, not even the course's "
                   "own kalloc.c; mend that and run it again: %s",
                   words.message ? words.message : "no more is known");
  if (made != NULL)
    file_remove_tree(made, NULL);
  free(made);
  tree_release(&own);
  error_release(&words);
  return rc;
}

int kernel_pair_build(const struct stock *c, const struct tree *spliced,
                      struct kernel_pair *ret, struct error *err)
{
  const struct content *student = content_of(spliced, STUDENT_FILE);
  const struct content *shared = content_of(spliced, SHARED_FILE);
  const struct content *header = content_of(spliced, SHARED_HEADER);
  struct error words = {0};
  bool differs = false;

  if (student == NULL)
    return error_set(err, LG_EBUILD, "there is no " STUDENT_FILE);
  int rc = shared_differs(c, shared, &differs, err);
  if (rc != 0)
    return rc;
  const struct key_part parts[] = {
      {PAIR_FORMAT, strlen(PAIR_FORMAT)},
      {c->key, strlen(c->key)},
      {student->bytes, student->len},
      {differs ? shared->bytes : "", differs ? shared->len : 0},
      {header ? header->bytes : "", header ? header->len : 0},
  };
  struct kernel_pair k = {.key =
                              cache_key(parts, sizeof parts / sizeof *parts)};
  char *place = xasprintf("%s/kernel-%s", c->cache, k.key), *made = NULL;

  if (!file_exists(place)) {
    rc = file_make_temp_dir(c->cache, "new-", &made, &words);
    if (rc == 0)
      rc = build_in(c, spliced, differs, made, &words);
    if (rc == LG_EBUILD)
      say_tree_names(&words, made);
    if (rc == 0)
      rc = cache_place(made, place, &words);
    if (rc != 0 && made != NULL)
      file_remove_tree(made, NULL);
    int own = rc == LG_EBUILD ? build_course(c, err) : 0;
    if (own != 0)
      rc = own;
    else if (rc != 0)
      error_set(err, rc, "%s", words.message ? words.message : "");
  }
  if (rc == 0) {
    name_files(place, differs, &k);
    *ret = k;
  } else {
    free(k.key);
  }
  error_release(&words);
  free(made);
  free(place);
  return rc;
}

int kernel_counted(const struct stock *c, const struct kernel_pair *k,
                   char **ret, struct error *err)
{
  const char *const with[] = {"plain.o", "count.o", "--wrap=procdump", NULL};
  char *place = path_join(k->dir, "kernel-counted"), *made = NULL;
  int rc = 0;

  if (!file_exists(place)) {
    // Put into its place whole: others may be at the same work.
    char *name = xasprintf("counted-%d", (int)getpid());
    made = path_join(k->dir, name);
    rc = link_kernel(c, k->dir, k->shared != NULL, name, STOCK_COUNTED_LOCKS,
                     with, err);
    if (rc == 0 && rename(made, place) != 0)
      rc = error_errno(err, LG_EIO, "cannot move %s", made);
    free(name);
  }
  free(made);
  if (rc == 0)
    *ret = place;
  else
    free(place);
  return rc;
}

void kernel_pair_release(struct kernel_pair *k)
{
  free(k->key);
  free(k->dir);
  free(k->object);
  free(k->plain);
  free(k->watched);
  free(k->disassembly);
  free(k->preprocessed);
  free(k->shared);
  free(k->shared_disassembly);
  *k = (struct kernel_pair){0};
}
