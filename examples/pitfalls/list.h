/* A list in libpmemobj: shared by list_*.c. `PROGRAM POOL N` makes the pool if there is none and
 * pushes N nodes; `PROGRAM POOL check` opens it, which recovers it, and checks it. */
#ifndef LIST_H
#define LIST_H

#include <libpmemobj.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

POBJ_LAYOUT_BEGIN(list);
POBJ_LAYOUT_ROOT(list, struct list);
POBJ_LAYOUT_TOID(list, struct node);
POBJ_LAYOUT_END(list);

struct node {
  TOID(struct node) next;
  uint64_t value;
};
struct list {
  TOID(struct node) head;
  uint64_t count;
#ifdef LIST_MORE
  uint64_t LIST_MORE; /* a layout that has grown */
#endif
};
#ifndef LIST_LAYOUT
#define LIST_LAYOUT "list"
#endif

void push(PMEMobjpool* pool, TOID(struct list) list, uint64_t value); /* differs by program */

static inline int check(TOID(struct list) list) {
  uint64_t nodes = 0;
  for (TOID(struct node) at = D_RO(list)->head; !TOID_IS_NULL(at); at = D_RO(at)->next) ++nodes;
  if (nodes == D_RO(list)->count) return 0;
  printf("%d nodes, counted %d\n", (int)nodes, (int)D_RO(list)->count);
  return 1;
}

int main(int count, char** words) {
  if (count != 3) {
    fprintf(stderr, "usage: %s POOL NODES|check\n", words[0]);
    return 2;
  }
  const int checks = strcmp(words[2], "check") == 0;
  PMEMobjpool* pool = pmemobj_open(words[1], LIST_LAYOUT);
  if (pool == NULL && !checks) pool = pmemobj_create(words[1], LIST_LAYOUT, PMEMOBJ_MIN_POOL, 0600);
  if (pool == NULL) {
    fprintf(stderr, "%s\n", pmemobj_errormsg());
    return 2;
  }
  TOID(struct list) list = POBJ_ROOT(pool, struct list);
  for (long i = 0, n = checks ? 0 : atol(words[2]); i < n; ++i) push(pool, list, (uint64_t)i);
  const int status = checks ? check(list) : 0;
  pmemobj_close(pool);
  return status;
}

#endif
