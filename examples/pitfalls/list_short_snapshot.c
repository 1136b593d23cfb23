/* Wrong: a persistent pointer has 16 bytes, pool and offset; the snapshot covers a plain
 * pointer's 8 bytes. */
#include "list.h"

void push(PMEMobjpool* pool, TOID(struct list) list, uint64_t value) {
  TX_BEGIN(pool) {
    TOID(struct node) node = TX_NEW(struct node);
    D_RW(node)->value = value;
    pmemobj_tx_add_range_direct(&D_RW(list)->head, sizeof(void*));
    D_RW(node)->next = D_RO(list)->head;
    D_RW(list)->head = node;
    TX_ADD_FIELD(list, count);
    D_RW(list)->count += 1;
  }
  TX_END
}
