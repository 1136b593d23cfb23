/* The adapter of the sets: prints the content of a pool and tests that it still works. */
#define NEARFAR_CRASH_ADAPTER
#include "set.h"

static PMEMobjpool* pool;
static TOID(struct set) root;

void begin_with(TOID(struct buckets) buckets, uint64_t i, TOID(struct entry) entry) {
  TX_ADD_FIELD(buckets, first[i]);
  D_RW(buckets)->first[i] = entry;
}
void take_buckets(TOID(struct set) set, TOID(struct buckets) buckets) {
  TX_ADD_FIELD(set, buckets);
  D_RW(set)->buckets = buckets;
}

static void* open_it(const char* path) {
  pool = open_set(path, 0, &root);
  return pool;
}
static void each(void* it, void (*say)(long long key, long long value)) {
  (void)it;
  TOID(struct buckets) buckets = D_RO(root)->buckets;
  for (uint64_t i = 0; i < D_RO(buckets)->count; ++i) {
    TOID(struct entry) at = D_RO(buckets)->first[i];
    for (int n = 0; !TOID_IS_NULL(at) && n < 10000; ++n, at = D_RO(at)->next) {
      say((long long)D_RO(at)->key, 0);
    }
  }
}
static int put(void* it, long long key, long long value) {
  (void)it, (void)value;
  return insert(pool, root, (uint64_t)key);
}
static int look(void* it, long long key, long long* value) {
  (void)it, (void)value;
  return contains(root, (uint64_t)key);
}
static int drop(void* it, long long key) {
  (void)it;
  return take_out(pool, root, (uint64_t)key);
}
static void close_it(void* it) { pmemobj_close(it); }

static const struct nearfar_crash_map set = {open_it, each, put, look, drop, close_it};
NEARFAR_CRASH_MAP(set)
