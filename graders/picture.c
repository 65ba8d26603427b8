// Draws by hand: a few rectangles and texts. Colours come from the page's style
// sheet, so that a picture is small.
#include "graders/picture.h"

#include <string.h>

#include "graders/record.h"

#define ROW 15
#define LEFT 92
#define WIDTH 240
#define NUMBERS 170
#define HEIGHT 110

static void add_text(struct buf *b, const char *text)
{
  buf_add_html(b, text, strlen(text));
}

static void add_bar(struct buf *b, const char *kind, double x, int y,
                    double width)
{
  if (width > 0)
    buf_addf(b,
             "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
             "height=\"%d\"/>",
             kind, x, y, width < 1 ? 1 : width, ROW - 4);
}

size_t picture_stem(const json_t *evidence, char *ret, size_t size)
{
  size_t i;
  json_t *lock;
  json_array_foreach(json_object_get(evidence, "counted"), i, lock)
  {
    const char *name = record_text(lock, "name");
    if (!json_object_get(lock, "shared"))
      return (size_t)snprintf(ret, size, "%.*s",
                              (int)strcspn(name, "0123456789"), name);
  }
  return (size_t)snprintf(ret, size, "%s", "");
}

// The locks that a picture shows; the caller's.
static json_t *choose_locks(const json_t *evidence, const char *stem)
{
  json_t *all = json_array(), *lock;
  size_t i;
  json_array_foreach(json_object_get(evidence, "counted"), i, lock)
  {
    if (!json_object_get(lock, "shared") ||
        strcmp(record_text(lock, "name"), stem) == 0)
      json_array_append(all, lock);
  }
  return all;
}

static void begin_locks(const json_t *locks, const char *caption,
                        struct buf *ret)
{
  buf_adds(ret, "<figure><figcaption>");
  add_text(ret, caption);
  buf_addf(ret,
           "</figcaption><svg viewBox=\"0 0 %d %zu\" width=\"%d\" "
           "role=\"img\">",
           LEFT + WIDTH + NUMBERS, ROW * json_array_size(locks) + 4,
           LEFT + WIDTH + NUMBERS);
}

static long all_of(const json_t *lock)
{
  return record_number(lock, "own") + record_number(lock, "remote") +
         record_number(lock, "shared");
}

static void add_lock(const json_t *lock, int y, double scale, struct buf *ret)
{
  long own = record_number(lock, "own"), all = all_of(lock);
  double x = LEFT + (double)own * scale;
  double end = LEFT + (double)all * scale + 4;
  buf_addf(ret, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 4,
           y + ROW - 5);
  add_text(ret, record_text(lock, "name"));
  buf_adds(ret, "</text>");
  add_bar(ret, "own", LEFT, y, (double)own * scale);
  add_bar(ret, "rem", x, y, (double)(all - own) * scale);
  buf_addf(ret, "<text x=\"%.1f\" y=\"%d\">", end, y + ROW - 5);
  if (json_object_get(lock, "shared"))
    buf_addf(ret, "%ld", all);
  else
    buf_addf(ret, "%ld + %ld", own, all - own);
  buf_addf(ret, ", %ld waited</text>", record_number(lock, "contended"));
}

void picture_locks(const json_t *evidence, const char *stem, const char *id,
                   const char *caption, struct buf *ret)
{
  json_t *locks = choose_locks(evidence, stem), *lock;
  long most = 1;
  size_t i;
  json_array_foreach(locks, i, lock)
  {
    most = all_of(lock) > most ? all_of(lock) : most;
  }
  if (json_array_size(locks)) {
    begin_locks(locks, caption, ret);
    if (id)
      buf_addf(ret, "<g id=\"%s\">", id);
    json_array_foreach(locks, i, lock)
    {
      add_lock(lock, (int)i * ROW, (double)WIDTH / (double)most, ret);
    }
    buf_adds(ret, id ? "</g></svg></figure>" : "</svg></figure>");
  }
  json_decref(locks);
}

void picture_locks_again(const json_t *evidence, const char *stem,
                         const char *id, const char *caption, struct buf *ret)
{
  json_t *locks = choose_locks(evidence, stem);
  if (json_array_size(locks)) {
    begin_locks(locks, caption, ret);
    buf_addf(ret, "<use href=\"#%s\"/></svg></figure>", id);
  }
  json_decref(locks);
}

void picture_free_pages(const json_t *evidence, struct buf *ret)
{
  const json_t *series =
      json_object_get(json_object_get(evidence, "plain"), "free_pages");
  size_t columns = json_array_size(series), i, k;
  double most = 1;
  json_t *counts, *value;
  if (columns == 0)
    return;
  json_array_foreach(series, i, counts)
  {
    double sum = 0;
    json_array_foreach(counts, k, value)
    {
      sum += (double)json_integer_value(value);
    }
    most = sum > most ? sum : most;
  }
  buf_addf(ret,
           "<figure><figcaption>Free pages by list, as each Ctrl-P printed "
           "them, list 0 at the bottom (largest sum %.0f)</figcaption><svg "
           "viewBox=\"0 0 %zu %d\" "
           "width=\"%zu\" role=\"img\">",
           most, columns * 26, HEIGHT, columns * 26);
  json_array_foreach(series, i, counts)
  {
    double y = HEIGHT;
    json_array_foreach(counts, k, value)
    {
      double height = (double)json_integer_value(value) * HEIGHT / most;
      if (height < 0.05)
        continue;
      y -= height;
      buf_addf(ret,
               "<rect class=\"l%zu\" x=\"%zu\" y=\"%.1f\" width=\"20\" "
               "height=\"%.1f\"><title>list %zu: %lld</title></rect>",
               k % 8, i * 26, y, height, k,
               (long long)json_integer_value(value));
    }
  }
  buf_adds(ret, "</svg></figure>");
}
