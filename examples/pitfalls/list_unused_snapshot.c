/* Slow: the old head is in the log too, but does not change. */
#include "list.h"

void push(PMEMobjpool* pool, TOID(struct list) list, uint64_t value) {
  TX_BEGIN(pool) {
    TOID(struct node) node = TX_NEW(struct node);
    D_RW(node)->value = value;
    TX_ADD(list);
    if (!TOID_IS_NULL(D_RO(list)->head)) TX_ADD(D_RO(list)->head);
    D_RW(node)->next = D_RO(list)->head;
    D_RW(list)->head = node;
    D_RW(list)->count += 1;
  }
  TX_END
}
