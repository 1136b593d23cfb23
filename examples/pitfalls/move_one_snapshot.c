/* Wrong: only the box that the item leaves is in the log, not the other. */
#include "move.h"

void move(PMEMobjpool* pool, TOID(struct box) from, TOID(struct box) to, int item) {
  TX_BEGIN(pool) {
    TX_ADD(from);
    D_RW(to)->items[item] = D_RO(from)->items[item];
    D_RW(from)->items[item] = 0;
  }
  TX_END
}
