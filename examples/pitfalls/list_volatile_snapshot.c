/* Wrong: the snapshot is of the variable on the stack, not of the node it points to; libpmemobj
 * aborts the transaction, and the program does not check that. */
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
