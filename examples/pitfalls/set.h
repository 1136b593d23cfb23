/* A hash set in libpmemobj that grows: shared by set_*.c. `PROGRAM POOL N` makes the pool if there
 * is none, inserts N keys and removes every third; set_dump.c prints the content of a pool. */
#ifndef SET_H
#define SET_H

#include <libpmemobj.h>
#include <nearfar/crash.h>
#include <stdlib.h>

POBJ_LAYOUT_BEGIN(set);
POBJ_LAYOUT_ROOT(set, struct set);
POBJ_LAYOUT_TOID(set, struct entry);
POBJ_LAYOUT_TOID(set, struct buckets);
POBJ_LAYOUT_END(set);

struct entry {
  TOID(struct entry) next;
  uint64_t key;
};
struct buckets {
  uint64_t count;
  TOID(struct entry) first[];
};
struct set {
  TOID(struct buckets) buckets;
  uint64_t keys;
};

/* Differs by program, always in a transaction: bucket `i` begins with `entry` from now on, and all
 * entries go to twice as many buckets. */
void begin_with(TOID(struct buckets) buckets, uint64_t i, TOID(struct entry) entry);
void take_buckets(TOID(struct set) set, TOID(struct buckets) buckets);

static inline uint64_t bucket_of(TOID(struct buckets) buckets, uint64_t key) {
  return key * 0x9E3779B97F4A7C15u % D_RO(buckets)->count;
}

static inline TOID(struct buckets) make_buckets(uint64_t count) {
  const size_t bytes = sizeof(struct buckets) + count * sizeof(TOID(struct entry));
  TOID(struct buckets) buckets = TX_ZALLOC(struct buckets, bytes);
  D_RW(buckets)->count = count;
  return buckets;
}

static inline PMEMobjpool* open_set(const char* path, int makes, TOID(struct set) * set) {
  PMEMobjpool* pool = pmemobj_open(path, "set");
  if (pool == NULL && makes) pool = pmemobj_create(path, "set", PMEMOBJ_MIN_POOL, 0600);
  if (pool == NULL) return NULL;
  *set = POBJ_ROOT(pool, struct set);
  if (TOID_IS_NULL(D_RO(*set)->buckets)) {
    TX_BEGIN(pool) {
      TX_ADD_FIELD(*set, buckets);
      D_RW(*set)->buckets = make_buckets(2);
    }
    TX_END
  }
  return pool;
}

static inline int contains(TOID(struct set) set, uint64_t key) {
  TOID(struct buckets) buckets = D_RO(set)->buckets;
  TOID(struct entry) at = D_RO(buckets)->first[bucket_of(buckets, key)];
  while (!TOID_IS_NULL(at) && D_RO(at)->key != key) at = D_RO(at)->next;
  return !TOID_IS_NULL(at);
}

static inline void grow(TOID(struct set) set) {
  TOID(struct buckets) old = D_RO(set)->buckets;
  TOID(struct buckets) new = make_buckets(2 * D_RO(old)->count);
  for (uint64_t i = 0; i < D_RO(old)->count; ++i) {
    TOID(struct entry) at = D_RO(old)->first[i];
    while (!TOID_IS_NULL(at)) {
      TOID(struct entry) next = D_RO(at)->next;
      const uint64_t to = bucket_of(new, D_RO(at)->key);
      TX_ADD_FIELD(at, next);
      D_RW(at)->next = D_RO(new)->first[to];
      D_RW(new)->first[to] = at;
      at = next;
    }
  }
  take_buckets(set, new);
  TX_FREE(old);
}

static inline int insert(PMEMobjpool* pool, TOID(struct set) set, uint64_t key) {
  if (contains(set, key)) return 0;
  TX_BEGIN(pool) {
    TX_ADD_FIELD(set, keys);
    D_RW(set)->keys += 1;
    if (D_RO(set)->keys > 2 * D_RO(D_RO(set)->buckets)->count) grow(set);
    TOID(struct buckets) buckets = D_RO(set)->buckets;
    const uint64_t i = bucket_of(buckets, key);
    TOID(struct entry) entry = TX_NEW(struct entry);
    D_RW(entry)->key = key;
    D_RW(entry)->next = D_RO(buckets)->first[i];
    begin_with(buckets, i, entry);
  }
  TX_END
  return 1;
}

static inline int take_out(PMEMobjpool* pool, TOID(struct set) set, uint64_t key) {
  if (!contains(set, key)) return 0;
  TX_BEGIN(pool) {
    TX_ADD_FIELD(set, keys);
    D_RW(set)->keys -= 1;
    TOID(struct buckets) buckets = D_RO(set)->buckets;
    const uint64_t i = bucket_of(buckets, key);
    TOID(struct entry) at = D_RO(buckets)->first[i];
    TOID(struct entry) before = TOID_NULL(struct entry);
    for (; D_RO(at)->key != key; at = D_RO(at)->next) before = at;
    if (TOID_IS_NULL(before)) {
      begin_with(buckets, i, D_RO(at)->next);
    } else {
      TX_ADD_FIELD(before, next);
      D_RW(before)->next = D_RO(at)->next;
    }
    TX_FREE(at);
  }
  TX_END
  return 1;
}

#ifndef NEARFAR_CRASH_ADAPTER
int main(int count, char** words) {
  TOID(struct set) set;
  PMEMobjpool* pool = count == 3 ? open_set(words[1], 1, &set) : NULL;
  if (pool == NULL) return 2;
  for (uint64_t i = 0, n = strtoul(words[2], NULL, 10); i < n; ++i) {
    NEARFAR_CRASH_OP("insert", 7 * i, 0);
    NEARFAR_CRASH_OUTCOME(insert(pool, set, 7 * i));
    if (i % 3 != 2) continue;
    NEARFAR_CRASH_OP("remove", 7 * (i - 1), 0);
    NEARFAR_CRASH_OUTCOME(take_out(pool, set, 7 * (i - 1)));
  }
  pmemobj_close(pool);
  return 0;
}
#endif

#endif
