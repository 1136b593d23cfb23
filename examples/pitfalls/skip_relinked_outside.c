/* Wrong: the tower is made in a transaction, but its neighbours are relinked outside of it. */
#include "skip.h"

void link_in(PMEMobjpool* pool, TOID(struct tower) before[SKIP_LEVELS], int levels, uint64_t key) {
  TOID(struct tower) tower = TOID_NULL(struct tower);
  TX_BEGIN(pool) {
    tower = TX_ZNEW(struct tower);
    D_RW(tower)->key = key;
    for (int level = 0; level < levels; ++level) {
      D_RW(tower)->next[level] = D_RO(before[level])->next[level];
    }
  }
  TX_END
  for (int level = 0; level < levels; ++level) {
    D_RW(before[level])->next[level] = tower;
    pmemobj_persist(pool, &D_RW(before[level])->next[level], sizeof tower);
  }
}
