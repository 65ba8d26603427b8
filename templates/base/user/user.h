// What a user program can call: the system calls, and the small library that
// is linked into every program.
#ifndef USER_H
#define USER_H

#include "kernel/syscall.h"
#include "kernel/types.h"

struct stat;

// ---- system calls (usys.S); -1 on failure unless said otherwise -----------

// processes
int fork(void);  // child's pid, in the child 0
int exit(int status) __attribute__((noreturn));
int wait(int *ret_status);  // pid of a child that ended; 0: no status
int kill(int pid);
int getpid(void);
int exec(const char *path, char **argv);
int pause(int ticks);                 // a tick is 0.1 s
int uptime(void);                     // ticks since boot
char *sys_sbrk(int bytes, int mode);  // sbrk and sbrklazy below are over it

// files
int open(const char *path, int flags);
int close(int fd);
int read(int fd, void *buf, int bytes);
int write(int fd, const void *buf, int bytes);
int dup(int fd);
int pipe(int *ret_fds);  // [0] to read from, [1] to write to
int fstat(int fd, struct stat *ret_st);
int mkdir(const char *path);
int mknod(const char *path, short major, short minor);
int chdir(const char *path);
int link(const char *existing, const char *name);
int unlink(const char *path);

// ---- library: ulib.c ------------------------------------------------------

// Moves the end of the process's memory by that many bytes and returns where it
// was, or (char *)-1. sbrk takes new pages at once, sbrklazy at the first
// touch.
char *sbrk(int bytes);
char *sbrklazy(int bytes);
int sleep(int ticks);  // another name for pause
int stat(const char *path, struct stat *ret_st);

char *strcpy(char *dst, const char *src);
int strcmp(const char *a, const char *b);
uint strlen(const char *s);
char *strchr(const char *s, char c);  // 0 if c does not occur
int atoi(const char *digits);         // number at the start of the string
void *memset(void *dst, int byte, uint n);
void *memmove(void *dst, const void *src, uint n);
void *memcpy(void *dst, const void *src, uint n);
int memcmp(const void *a, const void *b, uint n);

// Reads a line from standard input, newline included, into buf of that many
// bytes and returns buf. At the end of the input the string is empty.
char *gets(char *buf, int bytes);

// For test programs: if the arguments begin with -n WORD, removes the two and
// returns "WORD ", else "". The caller puts it in front of each line.
const char *line_prefix(int *argc, char **argv);

// ---- library: printf.c ----------------------------------------------------

// %d %u %x (with l or ll for 64 bits), %p %s %c %%; a width, - and 0 before it.
void printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void fprintf(int fd, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

// ---- library: umalloc.c ---------------------------------------------------

void *malloc(uint bytes);  // 0 if there is no memory
void free(void *block);

#endif
