/* Wrong: a transaction allocates and links the node; the count changes outside of it. */
#include "list.h"

void push(PMEMobjpool* pool, TOID(struct list) list, uint64_t value) {
  TX_BEGIN(pool) {
    TOID(struct node) node = TX_NEW(struct node);
    D_RW(node)->value = value;
    TX_ADD_FIELD(list, head);
    D_RW(node)->next = D_RO(list)->head;
    D_RW(list)->head = node;
  }
  TX_END
  D_RW(list)->count += 1;
  pmemobj_persist(pool, &D_RW(list)->count, sizeof D_RO(list)->count);
}
