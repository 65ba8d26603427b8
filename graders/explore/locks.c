// The lock-order graph. An edge with gates follows Havelund's Goodlock (SPIN
// 2000): a circle all of whose edges are inside one and the same lock cannot
// close.
#include "graders/explore/locks.h"

#include <stddef.h>
#include <string.h>

int locks_number(struct locks *l, const void *addr)
{
  size_t h = ((uintptr_t)addr >> 3) * 0x9e3779b1u % LOCKS_SLOTS;
  for (;; h = (h + 1) % LOCKS_SLOTS) {
    int n = l->slot[h] - 1;
    if (n >= 0 && l->lock[n].addr == addr)
      return n;
    if (n < 0)
      break;
  }
  if (l->count == LOCKS_MOST)
    return -1;
  l->lock[l->count] = (struct lock){.addr = addr};
  l->slot[h] = (uint8_t)(l->count + 1);
  return l->count++;
}

void locks_take(struct locks *l, struct locks_held *held, int number,
                const void *pc)
{
  if (number < 0)
    return;
  uint64_t all = 0;
  for (int i = 0; i < held->count; i++)
    all |= UINT64_C(1) << held->lock[i];
  for (int i = 0; i < held->count; i++) {
    int from = held->lock[i];
    struct lock_edge *e = &l->edge[from][number];
    uint64_t gates = all & ~(UINT64_C(1) << from);
    if (!e->there)
      *e = (struct lock_edge){true, gates, held->pc[i], pc};
    e->gates &= gates;
  }
  if (held->count < LOCKS_HELD) {
    held->lock[held->count] = number;
    held->pc[held->count++] = pc;
  }
}

bool locks_drop(struct locks_held *held, int number)
{
  for (int i = held->count - 1; i >= 0; i--) {
    if (held->lock[i] != number)
      continue;
    size_t after = (size_t)(held->count - 1 - i);
    memmove(&held->lock[i], &held->lock[i + 1], after * sizeof held->lock[0]);
    memmove(&held->pc[i], &held->pc[i + 1], after * sizeof held->pc[0]);
    held->count--;
    return true;
  }
  return false;
}

// Longer circles than this need more harts than run here.
enum { CIRCLE_MOST = 4 };

// Extends the path, which starts at its smallest number, depth first.
static int extend(const struct locks *l, int *path, int length,
                  uint64_t on_path, uint64_t gates)
{
  int last = path[length - 1];
  for (int n = path[0]; n < l->count; n++) {
    const struct lock_edge *e = &l->edge[last][n];
    if (!e->there)
      continue;
    if (n == path[0] && (gates & e->gates) == 0)
      return length;
    if (n == path[0] || (on_path >> n & 1) || length == CIRCLE_MOST)
      continue;
    path[length] = n;
    int found = extend(l, path, length + 1, on_path | UINT64_C(1) << n,
                       gates & e->gates);
    if (found)
      return found;
  }
  return 0;
}

int locks_circle(const struct locks *l, int *ret)
{
  for (int n = 0; n < l->count; n++) {
    ret[0] = n;
    int length = extend(l, ret, 1, UINT64_C(1) << n, ~UINT64_C(0));
    if (length)
      return length;
  }
  return 0;
}
