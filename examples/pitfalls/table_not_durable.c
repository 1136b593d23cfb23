/* Wrong: only a later flush of a neighbour makes the removal durable. */
#include "table.h"

void make(struct table* table) { right_make(table); }
int recover(struct table* table) { return right_recover(table); }
void put(struct slot* slot, uint64_t key, uint64_t value) { right_put(slot, key, value); }
void drop(struct slot* slot) { slot->state = 0; }
