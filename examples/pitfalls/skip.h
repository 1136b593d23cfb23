/* A skip list in libpmemobj, a set of numbers: shared by skip_*.c. `PROGRAM POOL N` makes the pool
 * if there is none and inserts N keys; skip_dump.c prints the content of a pool. */
#ifndef SKIP_H
#define SKIP_H

#include <libpmemobj.h>
#include <nearfar/crash.h>
#include <stdlib.h>

#define SKIP_LEVELS 3

POBJ_LAYOUT_BEGIN(skip);
POBJ_LAYOUT_ROOT(skip, struct tower);
POBJ_LAYOUT_END(skip);

struct tower {
  uint64_t key;
  TOID(struct tower) next[SKIP_LEVELS];
};

/* Differs by program: insert a new key after `before`, on so many levels. */
void link_in(PMEMobjpool* pool, TOID(struct tower) before[SKIP_LEVELS], int levels, uint64_t key);

/* Where the key belongs on each level; 1 if it is there. */
static inline int find(TOID(struct tower) head, uint64_t key,
                       TOID(struct tower) before[SKIP_LEVELS]) {
  TOID(struct tower) at = head;
  for (int level = SKIP_LEVELS - 1; level >= 0; --level) {
    TOID(struct tower) next = D_RO(at)->next[level];
    while (!TOID_IS_NULL(next) && D_RO(next)->key < key) {
      at = next;
      next = D_RO(at)->next[level];
    }
    before[level] = at;
  }
  TOID(struct tower) next = D_RO(before[0])->next[0];
  return !TOID_IS_NULL(next) && D_RO(next)->key == key;
}

static inline int insert(PMEMobjpool* pool, TOID(struct tower) head, uint64_t key) {
  TOID(struct tower) before[SKIP_LEVELS];
  if (find(head, key, before)) return 0;
  int levels = 1;
  while (levels < SKIP_LEVELS && (key >> levels) % 2 == 0) ++levels;
  link_in(pool, before, levels, key);
  return 1;
}

static inline int take_out(PMEMobjpool* pool, TOID(struct tower) head, uint64_t key) {
  TOID(struct tower) before[SKIP_LEVELS];
  if (!find(head, key, before)) return 0;
  TOID(struct tower) tower = D_RO(before[0])->next[0];
  TX_BEGIN(pool) {
    for (int level = 0; level < SKIP_LEVELS; ++level) {
      if (!TOID_EQUALS(D_RO(before[level])->next[level], tower)) continue;
      TX_ADD_FIELD(before[level], next[level]);
      D_RW(before[level])->next[level] = D_RO(tower)->next[level];
    }
    TX_FREE(tower);
  }
  TX_END
  return 1;
}

static inline PMEMobjpool* open_list(const char* path, int makes, TOID(struct tower) * head) {
  PMEMobjpool* pool = pmemobj_open(path, "skip");
  if (pool == NULL && makes) pool = pmemobj_create(path, "skip", PMEMOBJ_MIN_POOL, 0600);
  if (pool != NULL) *head = POBJ_ROOT(pool, struct tower);
  return pool;
}

#ifndef NEARFAR_CRASH_ADAPTER
int main(int count, char** words) {
  TOID(struct tower) head;
  PMEMobjpool* pool = count == 3 ? open_list(words[1], 1, &head) : NULL;
  if (pool == NULL) return 2;
  for (uint64_t i = 0, n = strtoul(words[2], NULL, 10); i < n; ++i) {
    const uint64_t key = 5 * i % 7 + 1;
    NEARFAR_CRASH_OP("insert", key, 0);
    NEARFAR_CRASH_OUTCOME(insert(pool, head, key));
  }
  pmemobj_close(pool);
  return 0;
}
#endif

#endif
