/* Slow: the list is persisted again after the transaction has flushed it. */
#include "list.h"

void push(PMEMobjpool* pool, TOID(struct list) list, uint64_t value) {
  TOID(struct node) node = TOID_NULL(struct node);
  TX_BEGIN(pool) {
    node = TX_NEW(struct node);
    D_RW(node)->value = value;
    TX_ADD(list);
    D_RW(node)->next = D_RO(list)->head;
    D_RW(list)->head = node;
    D_RW(list)->count += 1;
  }
  TX_END
  pmemobj_persist(pool, D_RW(list), sizeof(struct list));
}
