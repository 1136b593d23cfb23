/* Right: the other pair is written, then one word selects it. */
#include "pair.h"

void change(struct pairs* all, uint64_t from) {
  struct pair* other = &all->pairs[1 - all->current];
  set(other, from);
  pmem_persist(other, sizeof *other);
  all->current = 1 - all->current;
  pmem_persist(&all->current, sizeof all->current);
}
