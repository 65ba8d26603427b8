// Memory by the byte, over sbrk. Sizes are rounded up to powers of two, and
// each power has its own list of free blocks: malloc takes the first, free puts
// back, both in constant time. The price is space: up to half of a block is
// unused, and a block of one size is never joined or cut into another. Memory
// does not go back to the kernel before the program ends.

#include "kernel/types.h"
#include "user/user.h"

#define MIN_POWER 5    // 32 bytes: the header and as much again
#define PAGE_POWER 12  // smaller blocks are cut out of a page of this size
#define MAX_POWER 30   // what an int, the argument of sbrk, can still ask for

// Stands in front of every block. 16 bytes, so that what follows is aligned for
// any type.
struct header {
  uint64 power;         // the block, header included, has 1 << power bytes
  struct header *next;  // while it is free
};

static struct header *free_blocks[MAX_POWER + 1];

// Fresh memory of 1 << power bytes at a multiple of 16, or 0.
static char *more(int power)
{
  uint64 odd = (uint64)sbrk(0) % sizeof(struct header);
  uint skip = odd ? sizeof(struct header) - odd : 0;
  char *got = sbrk(skip + (1 << power));

  return got == (char *)-1 ? 0 : got + skip;
}

// Adds at least one block to an empty list. 0, or -1 if there is no memory.
static int refill(int power)
{
  int chunk_power = power < PAGE_POWER ? PAGE_POWER : power;
  char *chunk = more(chunk_power);

  if (chunk == 0)
    return -1;
  for (uint64 at = 0; at < 1UL << chunk_power; at += 1UL << power) {
    struct header *block = (struct header *)(chunk + at);
    block->power = power;
    block->next = free_blocks[power];
    free_blocks[power] = block;
  }
  return 0;
}

void *malloc(uint bytes)
{
  uint64 need = (uint64)bytes + sizeof(struct header);
  int power = MIN_POWER;
  struct header *block;

  while (1UL << power < need)
    power++;
  if (power > MAX_POWER)
    return 0;
  if (free_blocks[power] == 0 && refill(power) < 0)
    return 0;
  block = free_blocks[power];
  free_blocks[power] = block->next;
  return block + 1;
}

void free(void *memory)
{
  struct header *block = memory;

  if (memory == 0)
    return;
  block--;
  block->next = free_blocks[block->power];
  free_blocks[block->power] = block;
}
