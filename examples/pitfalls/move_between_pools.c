/* Wrong: a transaction belongs to one pool. An abort does not undo its changes in another pool: the
 * item is in neither, or in both. Keep data that changes together in one pool. */
#include <libpmemobj.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

POBJ_LAYOUT_BEGIN(move); /* as in move.h, whose pools it opens */
POBJ_LAYOUT_ROOT(move, struct boxes);
POBJ_LAYOUT_TOID(move, struct box);
POBJ_LAYOUT_END(move);
struct box {
  uint64_t items[8];
};
struct boxes {
  TOID(struct box) from;
  TOID(struct box) to;
};

static void move(PMEMobjpool* other, struct box* from, struct box* to, int item) {
  TX_BEGIN(other) {
    TX_ADD_DIRECT(&to->items[item]);
    to->items[item] = from->items[item];
    from->items[item] = 0;
    pmemobj_persist(pmemobj_pool_by_ptr(from), &from->items[item], sizeof from->items[item]);
  }
  TX_END
}

int main(int count, char** words) {
  PMEMobjpool* pool = count == 3 ? pmemobj_open(words[1], "move") : NULL;
  if (pool == NULL) return 2;
  TOID(struct boxes) boxes = POBJ_ROOT(pool, struct boxes);
  struct box* from = D_RW(D_RW(boxes)->from);
  if (strcmp(words[2], "check") == 0) {
    pmemobj_close(pool); /* the items alone do not show that one is missing */
    return 0;
  }
  char path[512];
  snprintf(path, sizeof path, "%s.other", words[1]);
  PMEMobjpool* other = pmemobj_create(path, "box", PMEMOBJ_MIN_POOL, 0600);
  if (other == NULL) return 3;
  struct box* to = pmemobj_direct(pmemobj_root(other, sizeof *to));
  for (int i = 0; i < atoi(words[2]); ++i) move(other, from, to, i);
  pmemobj_close(other);
  pmemobj_close(pool);
  return 0;
}
