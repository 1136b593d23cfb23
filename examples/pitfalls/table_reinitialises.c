/* Wrong: a table that was not closed is assumed to be new and initialised again. */
#include "table.h"

static const uint64_t open_mark = 1;

void make(struct table* table) {
  memset(table->slots, 0, sizeof table->slots);
  pmem_persist(table->slots, sizeof table->slots);
  right_make(table);
}
int recover(struct table* table) {
  if (table->magic == 0 || table->padding[0] == open_mark) make(table);
  table->padding[0] = open_mark;
  pmem_persist(table->padding, sizeof open_mark);
  return table->magic == TABLE_MAGIC && table->slot_count == TABLE_SLOTS;
}
static void leave(struct table* table) {
  table->padding[0] = 0;
  pmem_persist(table->padding, sizeof open_mark);
}
void put(struct slot* slot, uint64_t key, uint64_t value) { right_put(slot, key, value); }
void drop(struct slot* slot) {
  right_drop(slot);
  /* The last of the run's operations closes the table. */
  struct table* table = (struct table*)(void*)((uintptr_t)slot & ~(uintptr_t)4095);
  if (slot->key == 4) leave(table);
}
