// Takes from a lab what students may have, and reads and writes it.
//
// What goes into a students' data folder is named here, file by file and folder
// by folder: something new in the course's data stays with the course until
// somebody adds it to this list.

#include "graders/public.h"

#include <stdlib.h>
#include <string.h>

#include "labgen/base/alloc.h"
#include "labgen/base/file.h"
#include "labgen/lab/schema-write.h"

enum { MAX_FILE_BYTES = 16 << 20 };

// Parts of labgen's data that pregrade, explore and doctor need.
static const char *const folders[] = {"graders/watch/", "graders/explore/rt/",
                                      "templates/base/"};
static const char *const files[] = {"graders/hang.py",
                                    "graders/percpu-kalloc-explore.yaml"};

static const struct field public_fields[] = {
    FIELD(struct public_facts, id, FIELD_ID, .required = true,
          .doc = "the lab's name"),
    FIELD(struct public_facts, title, FIELD_TEXT, .required = true,
          .doc = "the lab's name for people"),
    FIELD(struct public_facts, machine, FIELD_STRUCT, .required = true,
          .sub = &lab_machine_schema, .doc = "the machine that kernels run on"),
    FIELD(struct public_facts, submission, FIELD_STRUCT, .required = true,
          .sub = &lab_submission_schema, .doc = "what a submission may change"),
    FIELD(struct public_facts, rubric, FIELD_STRUCT, .required = true,
          .sub = &rubric_schema, .doc = "the visible checks"),
    FIELD_END,
};

const struct schema public_schema = {
    .name = "students' lab",
    .doc = "What students have of a lab.",
    .size = sizeof(struct public_facts),
    .fields = public_fields,
};

// ---- from a lab file ---------------------------------------------------------------

// An error for each of `names` that is a hidden check: with it, `c` would be
// judged otherwise here than by staff.
static int refuse_hidden(const struct rubric *rubric, const struct check *c,
                         const struct texts *names, struct error *err)
{
  int rc = 0;

  for (size_t n = 0; c->visible && n < names->count; n++) {
    const struct check *needed = rubric_find(rubric, names->items[n]);
    if (needed != NULL && !needed->visible)
      rc = error_at(err, LG_EINPUT, c->at.path, c->at.line, c->at.column,
                    "'%s' is visible and needs '%s', which is not", c->id,
                    needed->id);
  }
  return rc;
}

// Takes away what is not visible.
static int hide(struct rubric *rubric, struct error *err)
{
  struct check *checks = rubric->checks.items;
  size_t kept = 0;
  int rc = 0;

  for (size_t i = 0; i < rubric->checks.count; i++) {
    int needs = refuse_hidden(rubric, &checks[i], &checks[i].needs, err);
    int worth = refuse_hidden(rubric, &checks[i], &checks[i].worth_with, err);
    rc = needs ? needs : worth ? worth : rc;
  }
  if (rc != 0)
    return rc;
  for (size_t i = 0; i < rubric->checks.count; i++)
    if (checks[i].visible)
      checks[kept++] = checks[i];
  rubric->checks.count = kept;
  rubric->designs = NULL;
  rubric->start_fails = rubric->start_notes = (struct texts){0};
  return 0;
}

static int from_lab_file(const char *lab_file, struct public_lab *p,
                         struct error *err)
{
  const char *data;
  int rc = course_load(lab_file, false, &p->course, err);

  rc = rc ? rc : data_dir(&data, err);
  if (rc != 0)
    return rc;
  const struct lab *lab = &p->course.lab;
  char *rubric = lab->rubric ? xstrdup(lab->rubric)
                             : path_join(data, "graders/percpu-kalloc.yaml");
  p->facts = (struct public_facts){.at = lab->at,
                                   .id = lab->id,
                                   .title = lab->title,
                                   .machine = lab->machine,
                                   .submission = lab->submission};
  // A machine that the lab file leaves out has no place, and is to be written.
  p->facts.machine.at = lab->at;
  rc = rubric_read(rubric, &p->arena, &p->facts.rubric, err);
  rc = rc ? rc : hide(&p->facts.rubric, err);
  tree_copy(&p->start, course_start(&p->course));
  free(rubric);
  return rc;
}

// ---- from a students' folder -------------------------------------------------------

static int from_folder(const char *data, struct public_lab *p,
                       struct error *err)
{
  char *file = path_join(data, PUBLIC_FILE),
       *start = path_join(data, PUBLIC_START);
  int rc = schema_read_file(&public_schema, file, &p->arena, &p->facts, err);

  rc = rc ? rc : tree_add_folder(&p->start, start, "", err);
  free(file);
  free(start);
  return rc;
}

int public_find(const char *lab_file, struct public_lab *ret, struct error *err)
{
  struct public_lab p = {0};
  const char *data;
  int rc = lab_file ? from_lab_file(lab_file, &p, err) : data_dir(&data, err);

  if (rc == 0 && lab_file == NULL) {
    char *students = path_join(data, PUBLIC_FILE);
    char *course = path_join(data, "config.yaml");
    rc = file_exists(students) ? from_folder(data, &p, err)
                               : from_lab_file(course, &p, err);
    free(students);
    free(course);
  }
  if (rc != 0)
    public_release(&p);
  else
    *ret = p;
  return rc;
}

void public_release(struct public_lab *p)
{
  tree_release(&p->start);
  arena_release(&p->arena);
  course_release(&p->course);
  *p = (struct public_lab){0};
}

// ---- into a students' folder -------------------------------------------------------

static int add_file(struct tree *out, const char *data, const char *name,
                    struct error *err)
{
  struct buf bytes = BUF_INIT;
  char *path = path_join(data, name);
  int rc = file_read(path, MAX_FILE_BYTES, &bytes, err);

  rc = rc ? rc : tree_put(out, name, buf_str(&bytes), bytes.len, false, err);
  buf_release(&bytes);
  free(path);
  return rc;
}

static int add_facts(struct tree *out, const struct public_facts *facts,
                     struct error *err)
{
  struct buf text = BUF_INIT;

  buf_adds(&text,
           "# What students have of the lab. Made by 'labgen public'.\n");
  schema_write(&public_schema, facts, &text);
  int rc = tree_put(out, PUBLIC_FILE, buf_str(&text), text.len, false, err);
  buf_release(&text);
  return rc;
}

int public_write(const struct public_lab *p, const char *folder,
                 struct error *err)
{
  struct tree out = {0};
  const char *data;
  int rc = data_dir(&data, err);

  for (size_t i = 0; rc == 0 && i < sizeof folders / sizeof *folders; i++) {
    char *path = path_join(data, folders[i]);
    rc = tree_add_folder(&out, path, folders[i], err);
    free(path);
  }
  for (size_t i = 0; rc == 0 && i < sizeof files / sizeof *files; i++)
    rc = add_file(&out, data, files[i], err);
  rc = rc ? rc : add_facts(&out, &p->facts, err);
  for (size_t i = 0; rc == 0 && i < p->start.count; i++) {
    const struct tree_file *f = &p->start.files[i];
    char *path = path_join(PUBLIC_START, f->path);
    rc = tree_put(&out, path, f->content->bytes, f->content->len, f->executable,
                  err);
    free(path);
  }
  rc = rc ? rc : file_mkdirs(folder, err);
  rc = rc ? rc : tree_write(&out, folder, err);
  tree_release(&out);
  return rc;
}
