/* Wrong: the layout was renamed, so earlier pools cannot be opened any more. */
#define LIST_LAYOUT "list-2"
#include "list.h"

void push(PMEMobjpool* pool, TOID(struct list) list, uint64_t value) {
  TX_BEGIN(pool) {
    TOID(struct node) node = TX_NEW(struct node);
    D_RW(node)->value = value;
    TX_ADD(list);
    D_RW(node)->next = D_RO(list)->head;
    D_RW(list)->head = node;
    D_RW(list)->count += 1;
  }
  TX_END
}
