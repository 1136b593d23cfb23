/* A list in libpmemobj, its checker as a function, and the floor of any checker of it.
 *
 * crash_list POOL NODES pushes; crash_list POOL floor N prints the processor time in ns of a
 * pmemobj_open and pmemobj_close, of N of them. */
#include <libpmemobj.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nearfar/crash.h"

struct node {
  PMEMoid next;
  uint64_t value;
};
struct list {
  PMEMoid head;
  uint64_t count;
};

static struct list* list_of(PMEMobjpool* pool) {
  return pmemobj_direct(pmemobj_root(pool, sizeof(struct list)));
}

static int check(const char* path, long done, long begun) {
  (void)done;
  (void)begun;
  PMEMobjpool* pool = pmemobj_open(path, "list");
  if (pool == NULL) return 2;
  const struct list* list = list_of(pool);
  uint64_t nodes = 0;
  for (PMEMoid at = list->head; !OID_IS_NULL(at);
       at = ((const struct node*)pmemobj_direct(at))->next) {
    ++nodes;
  }
  const int wrong = nodes != list->count;
  pmemobj_close(pool);
  return wrong;
}
NEARFAR_CRASH_CHECKER(check)

static void push(PMEMobjpool* pool, struct list* list, uint64_t value) {
  TX_BEGIN(pool) {
    const PMEMoid made = pmemobj_tx_alloc(sizeof(struct node), 1);
    struct node* node = pmemobj_direct(made);
    node->value = value;
    node->next = list->head;
    pmemobj_tx_add_range_direct(list, sizeof *list);
    list->head = made;
    list->count += 1;
  }
  TX_END
}

static int floor_of(const char* path, long times) {
  struct timespec begun, ended;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
  for (long i = 0; i < times; ++i) {
    PMEMobjpool* pool = pmemobj_open(path, "list");
    if (pool == NULL) return 1;
    pmemobj_close(pool);
  }
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
  const double ns = (double)(ended.tv_sec - begun.tv_sec) * 1e9 +
                    (double)(ended.tv_nsec - begun.tv_nsec);
  printf("%.0f\n", ns / (double)times);
  return 0;
}

int main(int count, char** words) {
  if (count == 4 && strcmp(words[2], "floor") == 0) return floor_of(words[1], atol(words[3]));
  if (count != 3) return 2;
  PMEMobjpool* pool = pmemobj_open(words[1], "list");
  if (pool == NULL) pool = pmemobj_create(words[1], "list", PMEMOBJ_MIN_POOL, 0600);
  if (pool == NULL) return 1;
  struct list* list = list_of(pool);
  for (long i = 0, n = atol(words[2]); i < n; ++i) push(pool, list, (uint64_t)i);
  pmemobj_close(pool);
  return 0;
}
