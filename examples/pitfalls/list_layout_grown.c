/* Wrong: the root has one more field under the old layout's name, which older programs and pools do
 * not have. A new layout needs a new name and a conversion. */
#define LIST_MORE longest
#include "list.h"

void push(PMEMobjpool* pool, TOID(struct list) list, uint64_t value) {
  TX_BEGIN(pool) {
    TOID(struct node) node = TX_NEW(struct node);
    D_RW(node)->value = value;
    TX_ADD(list);
    D_RW(node)->next = D_RO(list)->head;
    D_RW(list)->head = node;
    D_RW(list)->count += 1;
    D_RW(list)->longest = D_RO(list)->count;
  }
  TX_END
}
