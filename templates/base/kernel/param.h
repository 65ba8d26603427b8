// Limits that are fixed when the kernel is compiled.
#ifndef PARAM_H
#define PARAM_H

#define NCPU 8         // harts this kernel can run on
#define NPROC 64       // processes at one time
#define KSTACKPAGES 1  // pages of kernel stack for a process
#define USERSTACK 1    // pages of user stack that exec gives a program
#define NOFILE 16      // open files of one process
#define NFILE 128      // open files of the whole system
#define NINODE 512     // files, directories and devices that can exist
#define NDEV 10        // device major numbers
#define MAXARG 32      // arguments to exec
#define MAXPATH 128    // bytes in a path, with its NUL

#define TICK_CYCLES 1000000  // time counter steps in a clock tick: 0.1 s on virt

#endif
