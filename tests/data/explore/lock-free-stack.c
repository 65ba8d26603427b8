// A stack without a lock: compare and swap, and with it the ABA problem. A page
// that is taken and comes back makes the swap succeed with a stale link.
#include "common.h"

static struct run *list;

void kinit(void)
{
  free_all();
}

void kfree(void *pa)
{
  struct run *r = pa;
  check(pa);
  memset(pa, 1, PGSIZE);
  struct run *head = __atomic_load_n(&list, __ATOMIC_ACQUIRE);
  do
    __atomic_store_n(&r->next, head, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&list, &head, r, 0, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE));
}

void *kalloc(void)
{
  struct run *head = __atomic_load_n(&list, __ATOMIC_ACQUIRE);
  struct run *next;
  do {
    if (!head)
      return 0;
    next = __atomic_load_n(&head->next, __ATOMIC_RELAXED);
  } while (!__atomic_compare_exchange_n(&list, &head, next, 0,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  return memset(head, 5, PGSIZE);
}
