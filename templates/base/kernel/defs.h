// What each file of the kernel offers to the others. The contract of a
// function stands above its body.
#ifndef DEFS_H
#define DEFS_H

#include "riscv.h"
#include "types.h"

struct context;
struct cpu;
struct file;
struct inode;
struct pipe;
struct proc;
struct sleeplock;
struct spinlock;
struct stat;
struct trapframe;

// console.c
void consoleinit(void);
void consoleintr(int c);
void consputc(int c);

// exec.c
int kexec(char *path, char **argv);

// file.c
void fileinit(void);
struct file *filealloc(void);
struct file *filedup(struct file *f);
void fileclose(struct file *f);
int fileread(struct file *f, uint64 addr, int n);
int filewrite(struct file *f, uint64 addr, int n);
int filestat(struct file *f, uint64 addr);

// fs.c
void fsinit(void);
struct inode *namei(char *path);
struct inode *icreate(char *path, short type, short major, short minor);
int ilink(char *old, char *new);
int iunlink(char *path);
struct inode *idup(struct inode *ip);
void ilock(struct inode *ip);
void iunlock(struct inode *ip);
void iput(struct inode *ip);
void itrunc(struct inode *ip);
int readi(struct inode *ip, int user_dst, uint64 dst, uint off, uint n);
int writei(struct inode *ip, int user_src, uint64 src, uint off, uint n);
void stati(struct inode *ip, struct stat *st);

// kalloc.c
void kinit(void);
void freerange(void *pa_start, void *pa_end);
void *kalloc(void);
void kfree(void *pa);

// pipe.c
int pipealloc(struct file **rf, struct file **wf);
void pipeclose(struct pipe *pi, int writable);
int piperead(struct pipe *pi, uint64 addr, int n);
int pipewrite(struct pipe *pi, uint64 addr, int n);

// plic.c
void plicinit(void);
void plicinithart(void);
int plic_claim(void);
void plic_complete(int irq);

// printf.c
extern volatile int panicked;
int printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int snprintf(char *buf, unsigned long size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void panic(char *s) __attribute__((noreturn));
void printfinit(void);

// proc.c
void procinit(void);
void proc_mapstacks(pagetable_t kpgtbl);
int cpuid(void);
struct cpu *mycpu(void);
struct proc *myproc(void);
struct proc *allocproc(void);
pagetable_t proc_pagetable(struct proc *p);
void proc_freepagetable(pagetable_t pagetable, uint64 sz);
void userinit(void);
int growproc(int n);
int kfork(void);
void kexit(int status) __attribute__((noreturn));
int kwait(uint64 addr);
int kkill(int pid);
int killed(struct proc *p);
void setkilled(struct proc *p);
void scheduler(void) __attribute__((noreturn));
void sched(void);
void yield(void);
void sleep(void *chan, struct spinlock *lk);
void wakeup(void *chan);
int either_copyout(int user_dst, uint64 dst, void *src, uint64 len);
int either_copyin(void *dst, int user_src, uint64 src, uint64 len);
void procdump(void);

// sleeplock.c
void initsleeplock(struct sleeplock *lk, char *name);
void acquiresleep(struct sleeplock *lk);
void releasesleep(struct sleeplock *lk);

// spinlock.c
void initlock(struct spinlock *lk, char *name);
void acquire(struct spinlock *lk);
void release(struct spinlock *lk);
int holding(struct spinlock *lk);
void push_off(void);
void pop_off(void);

// string.c
void *memset(void *dst, int c, uint n);
void *memmove(void *dst, const void *src, uint n);
void *memcpy(void *dst, const void *src, uint n);
int memcmp(const void *a, const void *b, uint n);
int strlen(const char *s);
int strncmp(const char *a, const char *b, uint n);
char *strncpy(char *dst, const char *src, int n);
char *safestrcpy(char *dst, const char *src, int n);

// swtch.S
void swtch(struct context *save, struct context *load);

// syscall.c
void syscall(void);
void argint(int i, int *ip);
void argaddr(int i, uint64 *ap);
int argstr(int i, char *buf, int max);
int fetchaddr(uint64 addr, uint64 *ip);
int fetchstr(uint64 addr, char *buf, int max);

// trap.c
extern uint ticks;
extern struct spinlock tickslock;
void trapinit(void);
void trapinithart(void);
uint64 usertrap(void);
void prepare_return(void);
void kerneltrap(void);
int devintr(void);

// uart.c
void uartinit(void);
void uartputc(int c);
int uartgetc(void);
void uartintr(void);

// vm.c
void kvminit(void);
void kvminithart(void);
void kvmmap(pagetable_t kpgtbl, uint64 va, uint64 pa, uint64 sz, int perm);
int mappages(pagetable_t pagetable, uint64 va, uint64 sz, uint64 pa, int perm);
pagetable_t uvmcreate(void);
uint64 uvmalloc(pagetable_t pagetable, uint64 oldsz, uint64 newsz, int xperm);
uint64 uvmdealloc(pagetable_t pagetable, uint64 oldsz, uint64 newsz);
int uvmcopy(pagetable_t old, pagetable_t new, uint64 sz);
void uvmfree(pagetable_t pagetable, uint64 sz);
void uvmunmap(pagetable_t pagetable, uint64 va, uint64 npages, int do_free);
void uvmclear(pagetable_t pagetable, uint64 va);
pte_t *walk(pagetable_t pagetable, uint64 va, int alloc);
uint64 walkaddr(pagetable_t pagetable, uint64 va);
uint64 vmfault(pagetable_t pagetable, uint64 va, int read);
int copyout(pagetable_t pagetable, uint64 dstva, const void *src, uint64 len);
int copyin(pagetable_t pagetable, void *dst, uint64 srcva, uint64 len);
int copyinstr(pagetable_t pagetable, char *dst, uint64 srcva, uint64 max);

#define NELEM(x) (sizeof(x) / sizeof((x)[0]))

#endif
