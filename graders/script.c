// Turns the rubric's programs into the steps of a boot. What the programs print
// is judged in check.c.

#include "graders/script.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"

const char *const effort_names[] = {
#define NAME(number, name, words) name,
    EFFORTS(NAME)
#undef NAME
        NULL};

static const struct field program_fields[] = {
    FIELD(struct program, id, FIELD_ID, .required = true,
          .doc = "the run's name, for checks"),
    FIELD(struct program, type, FIELD_TEXT, .required = true,
          .doc = "the command; " NONCE
                 " in it is a word drawn for this run, which the program puts "
                 "in front of its lines"),
    FIELD(struct program, effort, FIELD_CHOICE, .required = true,
          .choices = effort_names,
          .doc = "how much a boot must do for it: quick, tests, full"),
    FIELD(struct program, overtime, FIELD_TEXT,
          .doc = "what it prints when a time limit of its own is over"),
    FIELD_END,
};

const struct schema program_schema = {
    .name = "program",
    .doc = "A program that the boots run.",
    .size = sizeof(struct program),
    .fields = program_fields,
};

// Source of the randomness: libsodium's randombytes_buf().
static void draw(char ret[NONCE_LEN + 1])
{
  unsigned char bytes[NONCE_LEN / 2];

  randombytes_buf(bytes, sizeof bytes);
  sodium_bin2hex(ret, NONCE_LEN + 1, bytes, sizeof bytes);
}

char *script_fill(const char *text, const char *nonce)
{
  struct buf b = BUF_INIT;

  for (const char *at; (at = strstr(text, NONCE)) != NULL;
       text = at + strlen(NONCE)) {
    buf_add(&b, text, (size_t)(at - text));
    buf_adds(&b, nonce);
  }
  buf_adds(&b, text);
  return buf_detach(&b);
}

// `bytes` is taken.
static void add_step(struct script *s, enum boot_step_kind kind, char *bytes)
{
  s->steps = xreallocarray(s->steps, s->count + 1, sizeof(struct boot_step));
  s->steps[s->count++] = (struct boot_step){.kind = kind, .bytes = bytes};
}

static void add_prompt(struct script *s)
{
  add_step(s, BOOT_WAIT_LINE, xstrdup("$ "));
}

// Ctrl-P, and a line behind it that shows that its output is complete.
static void add_ctrl_p(struct script *s)
{
  char marker[NONCE_LEN + 1];

  draw(marker);
  add_step(s, BOOT_SEND, xstrdup(BOOT_CTRL_P));
  add_step(s, BOOT_SEND, xasprintf("echo %s\n", marker));
  add_step(s, BOOT_WAIT_LINE, xstrdup(marker));
  add_prompt(s);
}

static void add_program(struct script *s, const struct program *p)
{
  struct program_run run = {
      .id = xstrdup(p->id), .overtime = p->overtime, .step = s->count};

  draw(run.nonce);
  char *command = script_fill(p->type, run.nonce);
  add_step(s, BOOT_SEND, xasprintf("%s\n", command));
  free(command);
  add_prompt(s);
  add_ctrl_p(s);
  s->runs = xreallocarray(s->runs, s->run_count + 1, sizeof run);
  s->runs[s->run_count++] = run;
}

int script_make(const struct list *programs, enum effort effort, bool open,
                struct script *ret, struct error *err)
{
  struct script s = {0};

  if (sodium_init() < 0)
    return error_set(err, LG_EHARNESS, "libsodium has no random numbers");
  add_prompt(&s);
  add_ctrl_p(&s);
  for (int e = EFFORT_QUICK; e <= (int)effort; e++) {
    for (size_t i = 0; i < programs->count; i++) {
      const struct program *p = LIST_AT(*programs, struct program, i);
      if (p->effort == e)
        add_program(&s, p);
    }
    if (e == EFFORT_QUICK)
      s.quick_count = s.count;
  }
  if (open) {
    char over[NONCE_LEN + 1];
    draw(over);
    add_step(&s, BOOT_WAIT_LINE, xstrdup(over));
    s.over = s.steps[s.count - 1].bytes;
  }
  *ret = s;
  return 0;
}

void script_note(const struct boot *boot, double cpu_s, double waited_s,
                 struct program_run *runs, size_t count)
{
  size_t step = boot_step_index(boot);

  for (size_t i = 0; i < count; i++) {
    struct program_run *r = &runs[i];
    if (r->ended || step <= r->step)
      continue;
    if (!r->typed) {
      r->typed = true;
      r->from = boot_step_offset(boot, r->step);
      r->cpu_s = -cpu_s;
      r->waited_s = -waited_s;
    }
    if (step <= r->step + 1)
      continue;
    r->ended = true;
    r->to = boot_step_offset(boot, r->step + 1);
    r->cpu_s += cpu_s;
    r->waited_s += waited_s;
  }
}

void program_runs_release(struct program_run *runs, size_t count)
{
  for (size_t i = 0; i < count; i++)
    free(runs[i].id);
  free(runs);
}

void script_release(struct script *s)
{
  for (size_t i = 0; i < s->count; i++)
    free((char *)s->steps[i].bytes);
  free(s->steps);
  program_runs_release(s->runs, s->run_count);
  *s = (struct script){0};
}
