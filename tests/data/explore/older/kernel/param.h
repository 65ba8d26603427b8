#define NCPU 8
