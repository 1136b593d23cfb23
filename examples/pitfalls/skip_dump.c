/* The adapter of the skip lists: prints the content of a pool and tests that it still works. */
#define NEARFAR_CRASH_ADAPTER
#include "skip.h"

static PMEMobjpool* pool;
static TOID(struct tower) head;

void link_in(PMEMobjpool* in, TOID(struct tower) before[SKIP_LEVELS], int levels, uint64_t key) {
  TX_BEGIN(in) {
    TOID(struct tower) tower = TX_ZNEW(struct tower);
    D_RW(tower)->key = key;
    for (int level = 0; level < levels; ++level) {
      D_RW(tower)->next[level] = D_RO(before[level])->next[level];
      TX_ADD_FIELD(before[level], next[level]);
      D_RW(before[level])->next[level] = tower;
    }
  }
  TX_END
}

static void* open_it(const char* path) {
  pool = open_list(path, 0, &head);
  return pool;
}
/* Each level must be an ordered part of the level below. */
static void each(void* it, void (*say)(long long key, long long value)) {
  (void)it;
  for (int level = SKIP_LEVELS - 1; level >= 0; --level) {
    uint64_t last = 0;
    TOID(struct tower) at = D_RO(head)->next[level];
    for (; !TOID_IS_NULL(at); at = D_RO(at)->next[level]) {
      if (D_RO(at)->key <= last) printf("! level %d is out of order\n", level);
      last = D_RO(at)->key;
      if (level == 0) say((long long)last, 0);
    }
  }
}
static int put(void* it, long long key, long long value) {
  (void)it, (void)value;
  return insert(pool, head, (uint64_t)key);
}
static int look(void* it, long long key, long long* value) {
  TOID(struct tower) before[SKIP_LEVELS];
  (void)it, (void)value;
  return find(head, (uint64_t)key, before);
}
static int drop(void* it, long long key) {
  (void)it;
  return take_out(pool, head, (uint64_t)key);
}
static void close_it(void* it) { pmemobj_close(it); }

static const struct nearfar_crash_map list = {open_it, each, put, look, drop, close_it};
NEARFAR_CRASH_MAP(list)
