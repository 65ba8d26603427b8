// Finds the places in a kernel that the plugin watches, and reads the lines
// that it writes (graders/plugin/report.h has their form). It gives locks no
// names (locks.c) and judges nothing.
#include "graders/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graders/writers.h"
#include "labgen/base/alloc.h"
#include "labgen/base/file.h"

// ---- telling it what to watch -----------------------------------------------

int plugin_find(char **ret_path, struct error *err)
{
  static const char *const places[] = {"plugin.so", "build/plugin.so"};
  const char *named = getenv("LABGEN_PLUGIN"), *data;

  if (named && strcmp(named, "none") == 0)
    return error_set(err, LG_ENOTFOUND,
                     "LABGEN_PLUGIN says that there is no plugin for QEMU");
  if (named && *named) {
    *ret_path = xstrdup(named);
    return 0;
  }
  int rc = data_dir(&data, err);
  if (rc)
    return rc;
  for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
    char *path = path_join(data, places[i]);
    if (file_exists(path)) {
      *ret_path = path;
      return 0;
    }
    free(path);
  }
  return error_set(err, LG_ENOTFOUND,
                   "there is no plugin for QEMU: `make` builds plugin.so when "
                   "the installed qemu-system-riscv64 takes plugins");
}

int plugin_api(const char *path)
{
  int version = 0;
  // Its calls into QEMU are bound when they are made, which is never here.
  void *plugin = dlopen(path, RTLD_LAZY | RTLD_LOCAL);

  if (!plugin)
    return 0;
  const int *found = dlsym(plugin, "qemu_plugin_version");
  if (found)
    version = *found;
  dlclose(plugin);
  return version;
}

// RISC-V instructions, as the unprivileged specification encodes them. The low
// two bits of an instruction of 4 bytes are 11.
enum {
  MASK_OPCODE = 0x7f,
  MASK_RD = 0x1f << 7,
  MASK_WIDTH = 7 << 12,
  MASK_RS2 = 0x1f << 20,
  OPCODE_AMO = 0x2f,  // lr, sc and amo*
  OPCODE_STORE = 0x23,
  OPCODE_FENCE = 0x0f,  // fence and fence.i, told apart by the width
  WIDTH_WORD = 2 << 12,
};

static bool is_attempt(uint32_t insn)
{
  return (insn & MASK_OPCODE) == OPCODE_AMO && (insn & MASK_RD) != 0;
}

static bool is_fence(uint32_t insn)
{
  return (insn & (MASK_OPCODE | MASK_WIDTH)) == OPCODE_FENCE;
}

// An amoswap, or a store of a zero word: both are used to free a lock.
static bool is_freeing(uint32_t insn)
{
  return (insn & MASK_OPCODE) == OPCODE_AMO ||
         (insn & (MASK_OPCODE | MASK_WIDTH | MASK_RS2)) ==
             (OPCODE_STORE | WIDTH_WORD);
}

static bool is_atomic(uint32_t insn)
{
  return (insn & MASK_OPCODE) == OPCODE_AMO;
}

// Goes through the instructions of a function from `from` on. Returns the
// address of the first that `matches`, or 0.
static uint64_t next_instruction(const struct binary *o,
                                 const struct object_symbol *f, uint64_t from,
                                 bool (*matches)(uint32_t insn))
{
  uint64_t end = f->value + f->size_bytes;

  for (uint64_t at = f->value; at + 2 <= end;) {
    const uint8_t *b = object_bytes(o, at, 2);
    if (!b)
      return 0;
    size_t size = (b[0] & 3) == 3 ? 4 : 2;
    if (size == 4) {
      b = object_bytes(o, at, 4);
      if (!b)
        return 0;
      uint32_t insn = b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
      if (at >= from && matches(insn))
        return at;
    }
    at += size;
  }
  return 0;
}

static void add_place(struct buf *ret, const char *name, uint64_t address)
{
  buf_addf(ret, ",%s=%" PRIx64, name, address);
}

// Adds every instruction of a function that matches; returns the last, or 0.
static uint64_t add_places(struct buf *ret, const char *name,
                           const struct binary *o,
                           const struct object_symbol *function,
                           bool (*matches)(uint32_t insn))
{
  uint64_t last = 0;

  for (uint64_t at = next_instruction(o, function, 0, matches); at != 0;
       at = next_instruction(o, function, at + 1, matches)) {
    add_place(ret, name, at);
    last = at;
  }
  return last;
}

struct atomics_of {
  const struct binary *kernel;
  struct buf *ret;
};

static void add_atomics(void *arg, const struct object_symbol *function)
{
  struct atomics_of *a = arg;

  add_places(a->ret, "atomic", a->kernel, function, is_atomic);
}

static int add_symbols(const struct plugin_spec *spec, struct buf *ret,
                       struct error *err)
{
  enum { ACQUIRE, RELEASE, PROCDUMP, SYMBOLS };
  static const char *const names[] = {"acquire", "release", "procdump"};
  const struct object_symbol *found[SYMBOLS];
  const struct binary *kernel = spec->kernel;

  for (int i = 0; i < SYMBOLS; i++) {
    found[i] = object_find(kernel, names[i]);
    if (!found[i])
      return error_set(err, LG_EINPUT, "the kernel has no symbol '%s'",
                       names[i]);
  }
  // A lock is had when its loop has ended, and the first thing behind the loop
  // is the fence that keeps the critical section inside.
  uint64_t attempt =
      add_places(ret, "attempt", kernel, found[ACQUIRE], is_attempt);
  uint64_t taken =
      next_instruction(kernel, found[ACQUIRE], attempt + 1, is_fence);
  if (attempt == 0 || taken == 0)
    return error_set(err, LG_EINPUT,
                     "no amoswap with a fence behind it in acquire()");
  add_place(ret, "taken", taken);
  if (add_places(ret, "released", kernel, found[RELEASE], is_freeing) == 0)
    return error_set(err, LG_EINPUT, "no store that frees in release()");
  add_place(ret, "interval", found[PROCDUMP]->value);

  if (spec->quiet) {
    const struct object_symbol *quiet = object_find(kernel, spec->quiet);
    if (!quiet)
      return error_set(err, LG_EINPUT, "the kernel has no symbol '%s'",
                       spec->quiet);
    buf_addf(ret, ",quiet=%" PRIx64 "-%" PRIx64, quiet->value,
             quiet->value + quiet->size_bytes);
  }
  if (spec->devices)
    writers_places(kernel, spec->devices, ret);
  if (spec->object)
    object_each_function_of(kernel, spec->object, add_atomics,
                            &(struct atomics_of){kernel, ret});
  return 0;
}

// Adds a path; in QEMU's options a comma is written twice.
static void add_path(struct buf *ret, const char *path)
{
  for (; *path; path++) {
    buf_addc(ret, *path);
    if (*path == ',')
      buf_addc(ret, ',');
  }
}

int plugin_argument(const struct plugin_spec *spec, struct buf *ret,
                    struct error *err)
{
  struct buf text = BUF_INIT;

  add_path(&text, spec->plugin);
  buf_adds(&text, ",out=");
  add_path(&text, spec->out);
  int rc = add_symbols(spec, &text, err);
  if (rc == 0)
    buf_add(ret, text.data, text.len);
  buf_release(&text);
  return rc;
}

// ---- reading what it tells --------------------------------------------------

// The interval that lines belong to: the one that was begun last.
static struct plugin_interval *current(struct plugin_report *r)
{
  return r->interval_count > 0 ? &r->intervals[r->interval_count - 1] : NULL;
}

// Each read_X takes the words behind the first word of a line X, and returns
// whether they are what report.h says.

static bool read_hello(struct plugin_report *r, const char *s)
{
  return sscanf(s, "1 api %d harts %u", &r->api, &r->harts) == 2 &&
         r->api > 0 && r->harts > 0 && r->harts <= PLUGIN_HARTS_MAX;
}

static bool read_work(struct plugin_report *r, const char *s)
{
  struct plugin_work w = {0};
  int n;

  if (sscanf(s, "%" SCNd64 "%n", &w.ms, &n) != 1)
    return false;
  for (unsigned h = 0; h < r->harts; h++) {
    s += n;
    if (sscanf(s, "%" SCNu64 "%" SCNu64 "%n", &w.user_instructions[h],
               &w.acquisitions[h], &n) != 2)
      return false;
  }
  r->work = w;
  return true;
}

static bool read_interval(struct plugin_report *r, const char *s)
{
  struct plugin_interval i = {0};

  if (sscanf(s, "%" SCNu64 "%" SCNd64, &i.number, &i.end_ms) != 2)
    return false;
  GROW(r->intervals, r->interval_count, r->interval_room);
  r->intervals[r->interval_count++] = i;
  return true;
}

static bool read_user(struct plugin_report *r, const char *s)
{
  struct plugin_interval *i = current(r);
  unsigned hart;
  uint64_t count;

  if (!i || sscanf(s, "%u%" SCNu64, &hart, &count) != 2 || hart >= r->harts)
    return false;
  i->user_instructions[hart] = count;
  return true;
}

static bool read_lock(struct plugin_report *r, const char *s)
{
  struct plugin_interval *i = current(r);
  struct lock_use u;

  if (!i || sscanf(s, "%u%" SCNx64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64,
                   &u.hart, &u.lock, &u.acquired, &u.contended, &u.spins,
                   &u.longest) != 6)
    return false;
  GROW(i->locks, i->lock_count, i->lock_room);
  i->locks[i->lock_count++] = u;
  return u.hart < r->harts;
}

static bool read_atomic(struct plugin_report *r, const char *s)
{
  struct plugin_interval *i = current(r);
  struct atomic_use u;

  if (!i ||
      sscanf(s, "%u%" SCNx64 "%" SCNu64, &u.hart, &u.address, &u.times) != 3)
    return false;
  GROW(i->atomics, i->atomic_count, i->atomic_room);
  i->atomics[i->atomic_count++] = u;
  return u.hart < r->harts;
}

static bool read_foreign(struct plugin_report *r, const char *s)
{
  struct foreign_use u;
  size_t i = 0;

  if (!current(r) || sscanf(s, "%*u%" SCNx64 "%" SCNx64 "%" SCNu64, &u.pc,
                            &u.address, &u.times) != 3)
    return false;
  while (i < r->foreign_count &&
         (r->foreign[i].pc != u.pc || r->foreign[i].address != u.address))
    i++;
  if (i == r->foreign_count) {
    GROW(r->foreign, r->foreign_count, r->foreign_room);
    r->foreign[r->foreign_count++] = u;
  } else {
    r->foreign[i].times += u.times;
  }
  return true;
}

static bool read_sent(struct plugin_report *r, const char *s)
{
  uint64_t bytes;

  if (!current(r) || sscanf(s, "%*u%" SCNu64, &bytes) != 1)
    return false;
  r->sent += bytes;
  return true;
}

static bool read_lost(struct plugin_report *r, const char *s)
{
  struct plugin_interval *i = current(r);
  uint64_t events;

  if (!i || sscanf(s, "%*u%" SCNu64, &events) != 1)
    return false;
  i->lost += events;
  return true;
}

static bool read_end(struct plugin_report *r, const char *s)
{
  struct plugin_interval *i = current(r);
  uint64_t number;

  if (!i || sscanf(s, "%" SCNu64, &number) != 1 || number != i->number)
    return false;
  i->complete = true;
  return true;
}

static bool read_deadlock(struct plugin_report *r, const char *s)
{
  unsigned len;
  int n;

  if (sscanf(s, "%" SCNd64 "%u%n", &r->circle_ms, &len, &n) != 2 ||
      len > r->harts)
    return false;
  for (unsigned i = 0; i < len; i++) {
    struct plugin_wait *w = &r->circle[i];
    s += n;
    if (sscanf(s, "%u%" SCNx64 "%" SCNx64 "%n", &w->hart, &w->holds, &w->awaits,
               &n) != 3 ||
        w->hart >= r->harts)
      return false;
  }
  r->circle_len = len;
  return true;
}

static bool read_stuck(struct plugin_report *r, const char *s)
{
  struct plugin_stuck k = {.holder = -1};
  char holder[12];

  if (sscanf(s, "%" SCNd64 "%u%" SCNx64 " %11s%" SCNu64, &k.ms, &k.hart,
             &k.lock, holder, &k.attempts) != 5 ||
      k.hart >= r->harts)
    return false;
  if (strcmp(holder, "-") != 0)
    k.holder = atoi(holder);
  GROW(r->stuck, r->stuck_count, r->stuck_room);
  r->stuck[r->stuck_count++] = k;
  return true;
}

static bool read_bye(struct plugin_report *r, const char *s)
{
  (void)s;
  r->ended = true;
  return true;
}

static bool read_line(struct plugin_report *r, const char *line)
{
  static const struct {
    const char *word;
    bool (*read)(struct plugin_report *r, const char *rest);
  } kinds[] = {
      {"labgen-plugin ", read_hello},
      {"work ", read_work},
      {"interval ", read_interval},
      {"user ", read_user},
      {"lock ", read_lock},
      {"atomic ", read_atomic},
      {"foreign ", read_foreign},
      {"sent ", read_sent},
      {"lost ", read_lost},
      {"end ", read_end},
      {"deadlock ", read_deadlock},
      {"stuck ", read_stuck},
      {"bye ", read_bye},
  };

  for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
    size_t len = strlen(kinds[k].word);
    if (strncmp(line, kinds[k].word, len) == 0)
      return (r->api != 0 || k == 0) && kinds[k].read(r, line + len);
  }
  return false;
}

int plugin_report_feed(struct plugin_report *r, const char *bytes, size_t len,
                       struct error *err)
{
  enum { SHOWN_BYTES = 80 };
  int rc = 0;
  size_t start = 0;

  buf_add(&r->partial, bytes, len);
  while (rc == 0 && start < r->partial.len) {
    char *line = r->partial.data + start;
    char *end = memchr(line, '\n', r->partial.len - start);
    if (!end)
      break;
    *end = 0;
    if (!read_line(r, line))
      rc = error_set(err, LG_EHARNESS,
                     "the QEMU plugin wrote a line that it should not: %.*s",
                     SHOWN_BYTES, line);
    start = (size_t)(end - r->partial.data) + 1;
  }
  buf_splice(&r->partial, 0, start, "", 0);
  return rc;
}

void plugin_report_release(struct plugin_report *r)
{
  for (size_t i = 0; i < r->interval_count; i++) {
    free(r->intervals[i].locks);
    free(r->intervals[i].atomics);
  }
  free(r->intervals);
  free(r->stuck);
  free(r->foreign);
  buf_release(&r->partial);
  *r = (struct plugin_report){0};
}

// ---- the channel ------------------------------------------------------------

int plugin_channel_open(const char *folder, const char *name,
                        struct plugin_channel *ret, struct error *err)
{
  enum { ROOM_BYTES = 1 << 20 };
  char *path = path_join(folder, name);

  if (mkfifo(path, 0600) != 0) {
    int rc = error_errno(err, LG_EIO, "%s", path);
    free(path);
    return rc;
  }
  // With a writer of our own, the FIFO has no end when the plugin closes it or
  // has not opened it yet.
  int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    int rc = error_errno(err, LG_EIO, "%s", path);
    unlink(path);
    free(path);
    return rc;
  }
  fcntl(fd, F_SETPIPE_SZ, ROOM_BYTES);  // less will do
  *ret = (struct plugin_channel){.path = path, .fd = fd};
  return 0;
}

int plugin_channel_read(struct plugin_channel *c, struct error *err)
{
  char bytes[16384];

  for (;;) {
    ssize_t n = read(c->fd, bytes, sizeof(bytes));
    if (n < 0 && errno == EAGAIN)
      return 0;
    if (n < 0 && errno != EINTR)
      return error_errno(err, LG_EIO, "%s", c->path);
    if (n > 0) {
      int rc = plugin_report_feed(&c->report, bytes, (size_t)n, err);
      if (rc)
        return rc;
    }
  }
}

void plugin_channel_close(struct plugin_channel *c)
{
  if (!c->path)
    return;
  close(c->fd);
  unlink(c->path);
  free(c->path);
  plugin_report_release(&c->report);
  *c = (struct plugin_channel){.fd = -1};
}
