/* Right: the transaction that takes the element frees it. */
#include "queue.h"

void take(PMEMobjpool* pool, TOID(struct queue) queue) {
  const uint64_t slot = D_RO(queue)->taken % QUEUE_SLOTS;
  TX_BEGIN(pool) {
    TX_FREE(D_RO(queue)->slots[slot]);
    TX_ADD_FIELD(queue, taken);
    D_RW(queue)->taken += 1;
  }
  TX_END
}
