/* Wrong: a node inserted behind the head replaces its successor, which is never freed. */
#include "list.h"

void push(PMEMobjpool* pool, TOID(struct list) list, uint64_t value) {
  TX_BEGIN(pool) {
    TOID(struct node) node = TX_ZNEW(struct node);
    TOID(struct node) head = D_RO(list)->head;
    D_RW(node)->value = value;
    TX_ADD(list);
    if (TOID_IS_NULL(head)) {
      D_RW(list)->head = node;
    } else {
      TX_ADD(head);
      D_RW(head)->next = node;
    }
    D_RW(list)->count = TOID_IS_NULL(head) ? 1 : 2;
  }
  TX_END
}
