/* Wrong: the handle of the root is overwritten by that of a new object. It works until the
 * pool is opened again: nothing leads from the root to the stored nodes. */
#include "list.h"

void push(PMEMobjpool* pool, TOID(struct list) list, uint64_t value) {
  static TOID(struct list) made;
  TX_BEGIN(pool) {
    if (TOID_IS_NULL(made)) made = TX_ZNEW(struct list);
    list = made;
    TX_ADD(list);
    TOID(struct node) node = TX_NEW(struct node);
    D_RW(node)->value = value;
    D_RW(node)->next = D_RO(list)->head;
    D_RW(list)->head = node;
    D_RW(list)->count += 1;
  }
  TX_END
}
