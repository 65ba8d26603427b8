// Results for people: text for a terminal, Markdown, and HTML with a picture.
// All that comes from the student's file is escaped.
#ifndef LABGEN_EXPLORE_PRINT_H
#define LABGEN_EXPLORE_PRINT_H

#include "graders/explore/story.h"
#include "graders/explore/table.h"
#include "labgen/base/buf.h"

enum print_format { PRINT_TEXT, PRINT_MARKDOWN, PRINT_HTML };

// Appends one finding: what it is, the table of steps, and how to repeat it.
// `width` is the columns of the terminal (text only).
void print_finding(const struct story *s, const struct table_words *words,
                   enum print_format format, int width, struct buf *b);

// Appends one note, on a line.
void print_note(const struct story *s, enum print_format format, struct buf *b);

// Appends the sentence about what was explored and what was not: how many
// schedules, up to which bound, and which programs were not finished.
void print_coverage(const struct stories *s, int bound,
                    enum print_format format, struct buf *b);

// Appends everything. For HTML it is a whole page.
void print_all(const struct stories *s, const struct table_words *words,
               int bound, enum print_format format, int width, struct buf *b);

#endif
