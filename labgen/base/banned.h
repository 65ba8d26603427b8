// Included before every file (-include): calls that this project does not make
// are errors, with the call to make instead.
#ifndef LABGEN_BASE_BANNED_H
#define LABGEN_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BANNED(instead) __attribute__((deprecated(instead)))

char *strcpy(char *to, const char *from) BANNED("use a struct buf");
char *strcat(char *to, const char *from) BANNED("use a struct buf");
int sprintf(char *to, const char *fmt, ...) BANNED("use buf_addf()");
char *strtok(char *s, const char *delimiters) BANNED("use strcspn()");
int system(const char *line) BANNED("use child_run() with an argv");
FILE *popen(const char *line, const char *mode) BANNED("use child_run()");
char *gets(char *to) BANNED("use file_read()");

#undef BANNED
#endif
