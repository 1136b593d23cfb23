/* Wrong: sizeof gives the pointer's size, so the value in another line is not flushed. */
#include "table.h"

void make(struct table* table) { right_make(table); }
int recover(struct table* table) { return right_recover(table); }
void put(struct slot* slot, uint64_t key, uint64_t value) {
  slot->key = key;
  slot->value = value;
  pmem_persist(slot, sizeof slot);
  slot->state = 1;
  pmem_persist(&slot->state, sizeof slot->state);
}
void drop(struct slot* slot) { right_drop(slot); }
