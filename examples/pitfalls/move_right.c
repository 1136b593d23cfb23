/* Right: both boxes are in the log, so the item is always in one of them. */
#include "move.h"

void move(PMEMobjpool* pool, TOID(struct box) from, TOID(struct box) to, int item) {
  TX_BEGIN(pool) {
    TX_ADD(from);
    TX_ADD(to);
    D_RW(to)->items[item] = D_RO(from)->items[item];
    D_RW(from)->items[item] = 0;
  }
  TX_END
}
