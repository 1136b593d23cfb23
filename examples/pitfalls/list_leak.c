/* Wrong: the node is allocated permanently before any handle leads to it. */
#include "list.h"

void push(PMEMobjpool* pool, TOID(struct list) list, uint64_t value) {
  TOID(struct node) node;
  POBJ_ZNEW(pool, &node, struct node);
  TX_BEGIN(pool) {
    TX_ADD(node);
    D_RW(node)->value = value;
    TX_ADD(list);
    D_RW(node)->next = D_RO(list)->head;
    D_RW(list)->head = node;
    D_RW(list)->count += 1;
  }
  TX_END
}
