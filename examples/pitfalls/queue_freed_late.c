/* Wrong: the element is freed after the transaction that takes it. A power cut in between leaves it
 * allocated, and the program never reads the ring's slot with its handle again. */
#include "queue.h"

void take(PMEMobjpool* pool, TOID(struct queue) queue) {
  const uint64_t slot = D_RO(queue)->taken % QUEUE_SLOTS;
  TOID(struct element) element = D_RO(queue)->slots[slot];
  TX_BEGIN(pool) {
    TX_ADD_FIELD(queue, taken);
    D_RW(queue)->taken += 1;
  }
  TX_END
  POBJ_FREE(&element);
}
