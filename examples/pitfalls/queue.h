/* A queue in libpmemobj, its handles in a ring: shared by queue_*.c. `PROGRAM POOL N` makes the
 * pool if there is none, puts two elements and takes one, N times; `PROGRAM POOL check` checks
 * it. */
#ifndef QUEUE_H
#define QUEUE_H

#include <libpmemobj.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUE_SLOTS = 16 };

POBJ_LAYOUT_BEGIN(queue);
POBJ_LAYOUT_ROOT(queue, struct queue);
POBJ_LAYOUT_TOID(queue, struct element);
POBJ_LAYOUT_END(queue);

struct element {
  uint64_t number;
};
struct queue {
  uint64_t taken; /* the first element is in slot taken % QUEUE_SLOTS */
  uint64_t put;
  TOID(struct element) slots[QUEUE_SLOTS];
};

void take(PMEMobjpool* pool, TOID(struct queue) queue); /* differs by program */

static inline void put(PMEMobjpool* pool, TOID(struct queue) queue) {
  const uint64_t number = D_RO(queue)->put;
  if (number - D_RO(queue)->taken == QUEUE_SLOTS) return;
  TX_BEGIN(pool) {
    TOID(struct element) element = TX_NEW(struct element);
    D_RW(element)->number = number;
    TX_ADD_FIELD(queue, slots[number % QUEUE_SLOTS]);
    TX_ADD_FIELD(queue, put);
    D_RW(queue)->slots[number % QUEUE_SLOTS] = element;
    D_RW(queue)->put += 1;
  }
  TX_END
}

static inline int check(TOID(struct queue) queue) {
  for (uint64_t i = D_RO(queue)->taken; i < D_RO(queue)->put; ++i) {
    if (D_RO(D_RO(queue)->slots[i % QUEUE_SLOTS])->number == i) continue;
    printf("element %d is another\n", (int)i);
    return 1;
  }
  return 0;
}

int main(int count, char** words) {
  if (count != 3) {
    fprintf(stderr, "usage: %s POOL TURNS|check\n", words[0]);
    return 2;
  }
  const int checks = strcmp(words[2], "check") == 0;
  PMEMobjpool* pool = pmemobj_open(words[1], "queue");
  if (pool == NULL && !checks) pool = pmemobj_create(words[1], "queue", PMEMOBJ_MIN_POOL, 0600);
  if (pool == NULL) {
    fprintf(stderr, "%s\n", pmemobj_errormsg());
    return 2;
  }
  TOID(struct queue) queue = POBJ_ROOT(pool, struct queue);
  for (long i = 0, n = checks ? 0 : atol(words[2]); i < n; ++i) {
    put(pool, queue);
    put(pool, queue);
    take(pool, queue);
  }
  const int status = checks ? check(queue) : 0;
  pmemobj_close(pool);
  return status;
}

#endif
