// Runs gcc on the student's file and on glue.c at the same time, then links.
//
// Deliberately against the student's own headers, unchanged: what riscv.h has
// in assembly is dealt with by rt/prelude.h.
#include "graders/explore/compile.h"

#include <stdlib.h>
#include <string.h>

#include "graders/explore/rt/host.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/child.h"
#include "labgen/run/sandbox.h"

enum { COMPILE_MS = 20000, WORDS_MOST = 8000 };

// For both files: as the kernel is compiled, for this host. RISC-V's char has
// no sign. No red zone, and no vector registers, since assembly in the middle
// of a function calls out of it (rt/prelude.h).
static const char *const common[] = {
    "-w",
    "-O1",
    "-fPIC",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-common",
    "-fno-strict-aliasing",
    "-fno-stack-protector",
    "-fcf-protection=none",
    "-funsigned-char",
    "-mno-red-zone",
    "-mgeneral-regs-only",
    "-Wa,-mrelax-relocations=no",
    NULL,
};

// For the student's: every function stays one that can be named, every access
// of memory and every index is announced.
static const char *const watched[] = {
    "-g",
    "-fno-inline",
    "-fno-optimize-sibling-calls",
    "-fsanitize=thread",
    "-fsanitize=bounds",
    "--param=tsan-distinguish-volatile=1",
    NULL,
};

static void add_compile(const struct compile_request *r, const char *source,
                        const char *object, bool student, struct argv *a)
{
  argv_add(a, "gcc");
  argv_add_all(a, common);
  if (student)
    argv_add_all(a, watched);
  else
    argv_add(a, "-fvisibility=hidden");
  argv_add(a, "-include");
  argv_addf(a, "%s/prelude.h", r->runtime);
  argv_add(a, "-iquote");
  argv_add(a, r->headers);
  argv_addf(a, "-I%s/..", r->headers);
  argv_addf(a, "-I%s", r->runtime);
  argv_add(a,
           "-xc");  // also what has been preprocessed: the prelude comes first
  argv_add(a, "-c");
  argv_add(a, source);
  argv_add(a, "-o");
  argv_addf(a, "%s/%s", r->dir, object);
}

static void add_link(const struct compile_request *r, const char *object,
                     struct argv *a)
{
  static const char *const flags[] = {
      "gcc", "-shared", "-nostdlib", "-nostartfiles",
      // What is not defined must be an error here, with its name.
      "-Wl,-Bsymbolic,-z,now,-z,defs,-z,norelro,--no-relax", NULL};
  argv_add_all(a, flags);
  argv_addf(a, "-Wl,--defsym=end=%#lx", EX_END_MAGIC);
  argv_add(a, "-o");
  argv_add(a, object);
  argv_addf(a, "%s/student.o", r->dir);
  argv_addf(a, "%s/glue.o", r->dir);
}

static int start(const struct compile_request *r, const struct argv *command,
                 struct child **ret, struct error *err)
{
  const char *shown[] = {r->source, r->headers, r->runtime, NULL};
  struct sandbox box = {
      .off = !r->sandbox, .read_only = shown, .writable = r->dir};
  struct argv a = {0};
  sandbox_argv(&box, argv_list(command), &a);
  struct child_spec spec = {
      .argv = argv_list(&a),
      .merge_stderr = true,
      .deadline_ms = clock_ms() + COMPILE_MS,
      .max_output_bytes = 1 << 20,
      .limits = {.cpu_s = 20,
                 .address_space_bytes = UINT64_C(2) << 30,
                 .file_bytes = 64 << 20},
  };
  int rc = child_start(&spec, ret, err);
  argv_release(&a);
  return rc;
}

// Turns how the compiler ended into 0 or an error that has its words.
static int judge(const struct compile_request *r, const struct child *child,
                 const char *what, struct error *err)
{
  const struct child_result *res = child_result_of(child);
  if (res->end == CHILD_EXITED && res->status == 0)
    return 0;
  struct buf how = BUF_INIT;
  child_result_describe(res, &how);
  const char *words = buf_str(&res->out);
  size_t len = strlen(words);
  int rc;
  if (res->end == CHILD_CAPPED)
    rc = error_set(err, LG_EBUILD,
                   "%s is no C: the compiler says more than fits here",
                   r->source);
  else if (res->end != CHILD_EXITED)
    rc = error_set(err, LG_EHARNESS, "%s: the compiler %s", r->source,
                   buf_str(&how));
  else
    rc = error_set(err, LG_EBUILD, "%s %s; the compiler says:\n%.*s", r->source,
                   what, len > WORDS_MOST ? WORDS_MOST : (int)len, words);
  buf_release(&how);
  return rc;
}

static int compile_both(const struct compile_request *r, struct error *err)
{
  struct argv student = {0}, glue = {0};
  struct child *child[2] = {NULL, NULL};
  char *glue_source = path_join(r->runtime, "glue.c");
  add_compile(r, r->source, "student.o", true, &student);
  add_compile(r, glue_source, "glue.o", false, &glue);
  int rc = start(r, &student, &child[0], err);
  if (rc == 0)
    rc = start(r, &glue, &child[1], err);
  while (rc == 0 && !(child_ended(child[0]) && child_ended(child[1])))
    rc = children_poll(child, 2, 0, err);
  if (rc == 0)
    rc = judge(r, child[0], "does not compile", err);
  if (rc == 0)
    rc = judge(r, child[1], "has headers that the explorer cannot use", err);
  child_release(child[0]);
  child_release(child[1]);
  argv_release(&student);
  argv_release(&glue);
  free(glue_source);
  return rc;
}

int explore_compile(const struct compile_request *r, char **ret_object,
                    struct error *err)
{
  int rc = compile_both(r, err);
  if (rc < 0)
    return rc;
  char *object = path_join(r->dir, "student.so");
  struct argv a = {0};
  struct child *child = NULL;
  add_link(r, object, &a);
  rc = start(r, &a, &child, err);
  while (rc == 0 && !child_ended(child))
    rc = children_poll(&child, 1, 0, err);
  if (rc == 0)
    rc = judge(r, child, "does not link", err);
  child_release(child);
  argv_release(&a);
  if (rc == 0)
    *ret_object = object;
  else
    free(object);
  return rc;
}
