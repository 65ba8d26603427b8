// Looks at the machine, part by part. Each look runs the tool itself, since a
// file of the right name says little: a compiler can be too old for the flags,
// a sandbox forbidden, a plugin made for another QEMU.
//
// It changes and installs nothing.

#include "graders/doctor.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "graders/plugin.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/run/argv.h"
#include "labgen/run/child.h"
#include "labgen/run/sandbox.h"

enum { RUN_MS = 20000, MAX_TEXT_BYTES = 1 << 20 };
enum { CORES_GOOD = 2, MEMORY_MIB = 700, DISK_MIB = 500, SHM_MIB = 300 };
enum { QEMU_OLDEST = 7 };  // 7.2 brought the Sstc timers

// The compilers' names that the kernel's own Makefile tries, in its order.
static const char *const prefixes[] = {"riscv64-unknown-elf-", "riscv64-elf-",
                                       "riscv64-none-elf-",
                                       "riscv64-linux-gnu-"};

// What the kernel's Makefile asks of a compiler that not every one knows.
#define MARCH "-march=rv64imac_zicsr_zifencei"

static const char *const state_words[] = {
#define WORD(number, word) word,
    PART_STATES(WORD)
#undef WORD
};

const char *part_state_word(enum part_state state)
{
  return state_words[state];
}

// ---- running tools ---------------------------------------------------------------

// Runs a command; adds what it prints to *ret. Whether it ended with status 0.
static bool run(const char *const *argv, struct buf *ret)
{
  struct child_spec spec = {.argv = argv,
                            .merge_stderr = true,
                            .deadline_ms = clock_ms() + RUN_MS,
                            .max_output_bytes = MAX_TEXT_BYTES};
  struct child_result result = {0};
  bool fine = child_run(&spec, &result, NULL) == 0 &&
              result.end == CHILD_EXITED && result.status == 0;

  buf_add(ret, buf_str(&result.out), result.out.len);
  child_result_release(&result);
  return fine;
}

// Adds the first line of what `program OPTION` prints. False when it cannot be
// run.
static bool add_version(const char *program, const char *option,
                        struct buf *ret)
{
  struct buf out = BUF_INIT;
  bool fine = run((const char *const[]){program, option, NULL}, &out);

  if (fine)
    buf_add(ret, buf_str(&out), strcspn(buf_str(&out), "\n"));
  buf_release(&out);
  return fine;
}

static enum part_state need_version(struct part_result *r, const char *program)
{
  if (add_version(program, "--version", &r->seen))
    return PART_THERE;
  buf_addf(&r->seen, "no %s in PATH", program);
  return PART_MISSING;
}

// ---- the tools -------------------------------------------------------------------

// The first of the kernel compilers that is there; NULL when none is.
static const char *find_prefix(void)
{
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    struct buf version = BUF_INIT;
    char *gcc = xasprintf("%sgcc", prefixes[i]);
    bool there = add_version(gcc, "--version", &version);
    buf_release(&version);
    free(gcc);
    if (there)
      return prefixes[i];
  }
  return NULL;
}

static enum part_state look_compiler(struct part_result *r)
{
  const char *prefix = find_prefix();
  struct buf out = BUF_INIT;

  if (prefix == NULL) {
    buf_addf(&r->seen, "no %sgcc in PATH, nor one with another usual prefix",
             prefixes[0]);
    return PART_MISSING;
  }
  char *gcc = xasprintf("%sgcc", prefix);
  bool takes = run((const char *const[]){gcc, MARCH, "-mabi=lp64", "-x", "c",
                                         "-fsyntax-only", "/dev/null", NULL},
                   &out);
  add_version(gcc, "--version", &r->seen);
  if (!takes) {
    buf_addf(&r->seen, ": does not take " MARCH);
    buf_adds(&r->mend, "install GCC 11.1 or later for RISC-V");
  }
  buf_release(&out);
  free(gcc);
  return takes ? PART_THERE : PART_MISSING;
}

static enum part_state look_linker(struct part_result *r)
{
  const char *prefix = find_prefix();
  struct buf help = BUF_INIT;
  char *ld = xasprintf("%sld", prefix ? prefix : prefixes[0]);
  bool there = run((const char *const[]){ld, "--help", NULL}, &help);
  bool takes = strstr(buf_str(&help), "no-warn-rwx-segments") != NULL;

  if (!there)
    buf_addf(&r->seen, "no %s in PATH", ld);
  else
    add_version(ld, "--version", &r->seen);
  if (there && !takes) {
    buf_adds(&r->seen, ": does not take --no-warn-rwx-segments");
    buf_adds(&r->mend, "install binutils 2.39 or later for RISC-V");
  }
  buf_release(&help);
  free(ld);
  return there && takes ? PART_THERE : PART_MISSING;
}

static enum part_state look_make(struct part_result *r)
{
  return need_version(r, "make");
}

static enum part_state look_host_compiler(struct part_result *r)
{
  return need_version(r, "gcc");
}

static enum part_state look_qemu(struct part_result *r)
{
  enum part_state state = need_version(r, "qemu-system-riscv64");
  const char *at = strstr(buf_str(&r->seen), "version ");

  if (state == PART_THERE && at != NULL &&
      strtol(at + strlen("version "), NULL, 10) < QEMU_OLDEST) {
    buf_addf(&r->mend, "install QEMU %d.2 or later", QEMU_OLDEST);
    state = PART_MISSING;
  }
  return state;
}

// The plugin says that it was accepted when QEMU loads it with probe=on.
static enum part_state look_plugin(struct part_result *r)
{
  struct buf out = BUF_INIT;
  struct error err = {0};
  char *path = NULL, *value;
  bool accepted = false;

  if (plugin_find(&path, &err) != 0) {
    buf_adds(&r->seen, err.message);
    error_release(&err);
  } else {
    value = xasprintf("%s,probe=on", path);
    run((const char *const[]){"qemu-system-riscv64", "-M", "none", "-display",
                              "none", "-plugin", value, NULL},
        &out);
    accepted = strstr(buf_str(&out), "labgen plugin: accepted") != NULL;
    buf_addf(&r->seen, "%s, interface version %d%s", path, plugin_api(path),
             accepted ? "" : ": this QEMU does not take it");
    free(value);
  }
  if (!accepted)
    buf_adds(&r->mend, "build labgen on this machine, with its QEMU: make");
  free(path);
  buf_release(&out);
  return accepted ? PART_THERE : PART_LACKING;
}

static enum part_state look_gdb(struct part_result *r)
{
  return need_version(r, "gdb-multiarch") == PART_THERE ? PART_THERE
                                                        : PART_LACKING;
}

static enum part_state look_sandbox(struct part_result *r)
{
  struct error err = {0};

  if (!add_version("bwrap", "--version", &r->seen)) {
    buf_adds(&r->seen, "no bwrap in PATH");
    return PART_MISSING;
  }
  if (sandbox_check(&err) == 0)
    return PART_THERE;
  buf_addf(&r->seen, ": %s", err.message);
  buf_adds(&r->mend,
           "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1; "
           "for a container, see docs/ci.md), or run with --no-sandbox");
  error_release(&err);
  return PART_MISSING;
}

// ---- the machine -----------------------------------------------------------------

static enum part_state look_cores(struct part_result *r)
{
  long cores = sysconf(_SC_NPROCESSORS_ONLN);

  buf_addf(&r->seen, "%ld", cores);
  if (cores >= CORES_GOOD)
    return PART_THERE;
  buf_addf(&r->mend, "give the machine %d cores", CORES_GOOD);
  return PART_LACKING;
}

static enum part_state enough(struct part_result *r, uint64_t mib, int wanted,
                              const char *where)
{
  buf_addf(&r->seen, "%llu MiB free%s", (unsigned long long)mib, where);
  if (mib >= (uint64_t)wanted)
    return PART_THERE;
  buf_addf(&r->mend, "make room: %d MiB should be free%s", wanted, where);
  return PART_MISSING;
}

// Source: proc(5), meminfo.
static enum part_state look_memory(struct part_result *r)
{
  char line[256];
  unsigned long long kib = 0;
  FILE *file = fopen("/proc/meminfo", "r");

  while (file != NULL && kib == 0 && fgets(line, sizeof line, file))
    if (strncmp(line, "MemAvailable:", 13) == 0)
      kib = strtoull(line + 13, NULL, 10);
  if (file != NULL)
    fclose(file);
  return enough(r, kib / 1024, MEMORY_MIB, "");
}

static enum part_state room_in(struct part_result *r, const char *folder,
                               int wanted)
{
  struct statvfs fs;
  char *where = xasprintf(" in %s", folder);
  uint64_t mib =
      statvfs(folder, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize >> 20 : 0;
  enum part_state state = enough(r, mib, wanted, where);

  free(where);
  return state;
}

static enum part_state look_disk(struct part_result *r)
{
  const char *tmp = getenv("TMPDIR");

  return room_in(r, tmp && *tmp ? tmp : "/tmp", DISK_MIB);
}

static enum part_state look_shared_memory(struct part_result *r)
{
  return room_in(r, "/dev/shm", SHM_MIB) == PART_THERE ? PART_THERE
                                                       : PART_LACKING;
}

static enum part_state look_data(struct part_result *r)
{
  struct error err = {0};
  const char *data;

  if (data_dir(&data, &err) == 0) {
    buf_adds(&r->seen, data);
    return PART_THERE;
  }
  buf_adds(&r->seen, err.message);
  buf_adds(&r->mend, "install labgen with 'make install', or set LABGEN_DATA");
  error_release(&err);
  return PART_MISSING;
}

// ---- all of them -----------------------------------------------------------------

static const struct part {
  struct part_result words;
  enum part_state (*look)(struct part_result *r);
  bool staff;  // only staff need it: a student's machine may lack it
} parts[] = {
    {.words = {.name = "compiler",
               .purpose = "compiles kernels",
               .without =
                   "build makes trees without kernels; nothing can be graded",
               .package = "gcc-riscv64-unknown-elf",
               .upstream = "GCC for riscv64-unknown-elf"},
     .look = look_compiler},
    {.words = {.name = "linker",
               .purpose = "links kernels",
               .without =
                   "build makes trees without kernels; nothing can be graded",
               .package = "binutils-riscv64-unknown-elf",
               .upstream = "GNU binutils for riscv64-unknown-elf"},
     .look = look_linker},
    {.words = {.name = "make",
               .purpose = "builds a kernel's tree",
               .without = "no kernel can be built",
               .package = "make",
               .upstream = "GNU make"},
     .look = look_make},
    {.words = {.name = "host compiler",
               .purpose = "compiles an allocator for the explorer",
               .without = "explore does not run",
               .package = "gcc",
               .upstream = "GCC"},
     .look = look_host_compiler},
    {.words = {.name = "QEMU",
               .purpose = "boots kernels",
               .without = "no kernel can be booted; build and explore work",
               .package = "qemu-system-misc",
               .upstream = "QEMU with riscv64-softmmu"},
     .look = look_qemu},
    {.words = {.name = "QEMU plugin",
               .purpose = "counts what harts do with locks",
               .without =
                   "no 'pregrade --locks'; every mark is given all the same"},
     .look = look_plugin},
    {.words = {.name = "gdb",
               .purpose = "says where the harts of a hung kernel are",
               .without = "hangs are found, but without their stacks",
               .package = "gdb-multiarch",
               .upstream = "GDB for all targets, as gdb-multiarch"},
     .look = look_gdb},
    {.words =
         {.name = "sandbox",
          .purpose = "holds students' code while staff grade it",
          .without =
              "grade refuses, unless told --no-sandbox; pregrade needs none",
          .package = "bubblewrap",
          .upstream = "bubblewrap"},
     .look = look_sandbox,
     .staff = true},
    {.words = {.name = "cores",
               .purpose = "run the harts at the same time",
               .without =
                   "everything takes longer, and contention is not seen"},
     .look = look_cores},
    {.words = {.name = "memory",
               .purpose = "holds a compiler and a guest",
               .without = "boots may be killed"},
     .look = look_memory},
    {.words = {.name = "disk",
               .purpose = "holds kernels while they are made",
               .without = "builds fail"},
     .look = look_disk},
    {.words = {.name = "shared memory",
               .purpose = "holds guests' memory",
               .without = "it is on disk then, which is slower"},
     .look = look_shared_memory},
    {.words = {.name = "data",
               .purpose = "has the kernels, checks and probes",
               .without = "no command works"},
     .look = look_data},
};

// Whether the course's part is installed, and not the students' alone.
static bool has_course(void)
{
  const char *data;

  if (data_dir(&data, NULL) != 0)
    return false;
  char *path = path_join(data, "solutions");
  bool there = file_exists(path);
  free(path);
  return there;
}

void doctor_look(struct part_result **ret, size_t *ret_count)
{
  size_t count = sizeof parts / sizeof *parts;
  struct part_result *results = xcalloc(count, sizeof *results);
  bool course = has_course();

  for (size_t i = 0; i < count; i++) {
    results[i] = parts[i].words;
    results[i].state = parts[i].look(&results[i]);
    if (parts[i].staff && !course && results[i].state == PART_MISSING)
      results[i].state = PART_LACKING;
  }
  *ret = results;
  *ret_count = count;
}

void part_results_release(struct part_result *results, size_t count)
{
  for (size_t i = 0; results != NULL && i < count; i++) {
    buf_release(&results[i].seen);
    buf_release(&results[i].mend);
  }
  free(results);
}

bool doctor_has_apt(void)
{
  struct buf text = BUF_INIT;
  bool apt = false;

  if (file_read("/etc/os-release", MAX_TEXT_BYTES, &text, NULL) == 0) {
    for (const char *line = text.data; *line != '\0';) {
      size_t len = strcspn(line, "\n");
      char *one = xstrndup(line, len);
      if (strncmp(one, "ID=", 3) == 0 || strncmp(one, "ID_LIKE=", 8) == 0)
        apt = apt || strstr(one, "debian") || strstr(one, "ubuntu");
      free(one);
      line += len + (line[len] == '\n');
    }
  }
  buf_release(&text);
  return apt;
}
