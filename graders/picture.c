// Draws by hand: a few rectangles and texts. Colours come from the page's style
// sheet, so that a picture is small.
#include "graders/picture.h"

#include <string.h>

#include "graders/record.h"

#define ROW 14
#define LEFT 92
#define WIDTH 240
#define NUMBERS 130
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

void picture_locks(const json_t *evidence, const char *caption, struct buf *ret)
{
  const json_t *locks = json_object_get(evidence, "counted");
  long most = 1;
  size_t i;
  json_t *lock;
  if (!json_array_size(locks))
    return;
  json_array_foreach(locks, i, lock)
  {
    long all = record_number(lock, "own") + record_number(lock, "remote");
    most = all > most ? all : most;
  }
  buf_addf(ret,
           "<figure><figcaption>%s</figcaption><svg viewBox=\"0 0 %d %zu\" "
           "width=\"%d\" role=\"img\">",
           caption, LEFT + WIDTH + NUMBERS, ROW * json_array_size(locks) + 4,
           LEFT + WIDTH + NUMBERS);
  json_array_foreach(locks, i, lock)
  {
    long own = record_number(lock, "own"), rem = record_number(lock, "remote");
    long contended = record_number(lock, "contended");
    int y = (int)i * ROW;
    double scale = (double)WIDTH / (double)most, x = LEFT + (double)own * scale;
    buf_addf(ret, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 4,
             y + ROW - 5);
    add_text(ret, record_text(lock, "name"));
    buf_adds(ret, "</text>");
    add_bar(ret, "own", LEFT, y, (double)own * scale);
    add_bar(ret, "rem", x, y, (double)rem * scale);
    buf_addf(ret, "<text x=\"%.1f\" y=\"%d\">%ld + %ld, %ld waited</text>",
             x + (double)rem * scale + 4, y + ROW - 5, own, rem, contended);
  }
  buf_adds(ret, "</svg></figure>");
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
           "them (largest sum %.0f)</figcaption><svg viewBox=\"0 0 %zu %d\" "
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
