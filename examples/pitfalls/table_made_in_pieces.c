/* Wrong: the magic number is durable before the table is. */
#include "table.h"

void make(struct table* table) {
  table->magic = TABLE_MAGIC;
  pmem_persist(&table->magic, sizeof table->magic);
  table->slot_count = TABLE_SLOTS;
  pmem_persist(&table->slot_count, sizeof table->slot_count);
}
int recover(struct table* table) {
  if (table->magic == 0) make(table);
  return table->magic == TABLE_MAGIC && table->slot_count == TABLE_SLOTS;
}
void put(struct slot* slot, uint64_t key, uint64_t value) { right_put(slot, key, value); }
void drop(struct slot* slot) { right_drop(slot); }
