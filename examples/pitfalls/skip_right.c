/* Right: the new tower and all its neighbours change in one transaction. */
#include "skip.h"

void link_in(PMEMobjpool* pool, TOID(struct tower) before[SKIP_LEVELS], int levels, uint64_t key) {
  TX_BEGIN(pool) {
    TOID(struct tower) tower = TX_ZNEW(struct tower);
    D_RW(tower)->key = key;
    for (int level = 0; level < levels; ++level) {
      D_RW(tower)->next[level] = D_RO(before[level])->next[level];
      TX_ADD_FIELD(before[level], next[level]);
      D_RW(before[level])->next[level] = tower;
    }
  }
  TX_END
}
