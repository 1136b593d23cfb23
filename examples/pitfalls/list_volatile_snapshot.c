/* Wrong: the snapshot is of the variable on the stack, not of what it points to; libpmemobj undoes
 * the transaction, and nobody looks. */
#include "list.h"

void push(PMEMobjpool* pool, TOID(struct list) list, uint64_t value) {
  struct list* direct = D_RW(list);
  TX_BEGIN(pool) {
    TOID(struct node) node = TX_NEW(struct node);
    D_RW(node)->value = value;
    TX_ADD_DIRECT(&direct);
    D_RW(node)->next = direct->head;
    direct->head = node;
    direct->count += 1;
  }
  TX_END
}
