/* Two boxes of items in libpmemobj, each a separate object: shared by move_*.c.
 * `PROGRAM POOL N` makes the pool if there is none and moves N items; `PROGRAM POOL check` checks:
 * each item is in one of the two, once. */
#ifndef MOVE_H
#define MOVE_H

#include <libpmemobj.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOVE_ITEMS 8
#define MOVE_FIRST 1000001 /* the first item's number */

POBJ_LAYOUT_BEGIN(move);
POBJ_LAYOUT_ROOT(move, struct boxes);
POBJ_LAYOUT_TOID(move, struct box);
POBJ_LAYOUT_END(move);

struct box {
  uint64_t items[MOVE_ITEMS]; /* 0: free */
};
struct boxes {
  TOID(struct box) from;
  TOID(struct box) to;
};

/* Differs by program. */
void move(PMEMobjpool* pool, TOID(struct box) from, TOID(struct box) to, int item);

static inline int check(TOID(struct boxes) boxes) {
  if (TOID_IS_NULL(D_RO(boxes)->from)) return 0; /* not made yet */
  for (uint64_t item = MOVE_FIRST; item < MOVE_FIRST + MOVE_ITEMS; ++item) {
    int there = 0;
    for (int i = 0; i < MOVE_ITEMS; ++i) {
      there += D_RO(D_RO(boxes)->from)->items[i] == item;
      there += D_RO(D_RO(boxes)->to)->items[i] == item;
    }
    if (there == 1) continue;
    printf("item %d is there %d times\n", (int)item, there);
    return 1;
  }
  return 0;
}

static inline void make(PMEMobjpool* pool, TOID(struct boxes) boxes) {
  TX_BEGIN(pool) {
    TX_ADD(boxes);
    D_RW(boxes)->from = TX_ZNEW(struct box);
    D_RW(boxes)->to = TX_ZNEW(struct box);
    for (int i = 0; i < MOVE_ITEMS; ++i) {
      D_RW(D_RW(boxes)->from)->items[i] = (uint64_t)(MOVE_FIRST + i);
    }
  }
  TX_END
}

int main(int count, char** words) {
  if (count != 3) {
    fprintf(stderr, "usage: %s POOL ITEMS|check\n", words[0]);
    return 2;
  }
  const int checks = strcmp(words[2], "check") == 0;
  PMEMobjpool* pool = pmemobj_open(words[1], "move");
  if (pool == NULL && !checks) pool = pmemobj_create(words[1], "move", PMEMOBJ_MIN_POOL, 0600);
  if (pool == NULL) {
    fprintf(stderr, "%s\n", pmemobj_errormsg());
    return 2;
  }
  TOID(struct boxes) boxes = POBJ_ROOT(pool, struct boxes);
  if (!checks && TOID_IS_NULL(D_RO(boxes)->from)) make(pool, boxes);
  for (int i = 0, n = checks ? 0 : atoi(words[2]); i < n && i < MOVE_ITEMS; ++i) {
    move(pool, D_RO(boxes)->from, D_RO(boxes)->to, i);
  }
  const int status = checks ? check(boxes) : 0;
  pmemobj_close(pool);
  return status;
}

#endif
