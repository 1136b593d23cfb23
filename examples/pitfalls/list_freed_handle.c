/* Wrong: the old head is freed, and the new node still leads to it. */
#include "list.h"

void push(PMEMobjpool* pool, TOID(struct list) list, uint64_t value) {
  TX_BEGIN(pool) {
    TOID(struct node) node = TX_NEW(struct node);
    TOID(struct node) head = D_RO(list)->head;
    D_RW(node)->value = value;
    D_RW(node)->next = head;
    TX_ADD(list);
    D_RW(list)->head = node;
    D_RW(list)->count += 1;
    TX_FREE(head);
  }
  TX_END
}
