/* Right: the store that makes data valid comes last: 8 bytes, after a fence. */
#include "table.h"

void make(struct table* table) { right_make(table); }
int recover(struct table* table) { return right_recover(table); }
void put(struct slot* slot, uint64_t key, uint64_t value) { right_put(slot, key, value); }
void drop(struct slot* slot) { right_drop(slot); }
