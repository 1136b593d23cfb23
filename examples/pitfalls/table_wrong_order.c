/* Wrong: the slot is marked as taken before it is filled. */
#include "table.h"

void make(struct table* table) { right_make(table); }
int recover(struct table* table) { return right_recover(table); }
void put(struct slot* slot, uint64_t key, uint64_t value) {
  slot->state = 1;
  slot->key = key;
  pmem_persist(slot, 2 * sizeof(uint64_t));
  slot->value = value;
  pmem_persist(&slot->value, sizeof slot->value);
}
void drop(struct slot* slot) { right_drop(slot); }
