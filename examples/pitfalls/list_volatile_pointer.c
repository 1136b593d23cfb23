/* Wrong: the value points to the heap, which ends with the program. */
#include "list.h"

void push(PMEMobjpool* pool, TOID(struct list) list, uint64_t value) {
  char* name = malloc(24);
  if (name == NULL) return;
  snprintf(name, 24, "node %llu", (unsigned long long)value);
  TX_BEGIN(pool) {
    TOID(struct node) node = TX_NEW(struct node);
    D_RW(node)->value = (uint64_t)(uintptr_t)name;
    TX_ADD(list);
    D_RW(node)->next = D_RO(list)->head;
    D_RW(list)->head = node;
    D_RW(list)->count += 1;
  }
  TX_END
}
