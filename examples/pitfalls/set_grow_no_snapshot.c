/* Wrong, and rare: a handle changes without a snapshot, but only when the set grows. */
#include "set.h"

void begin_with(TOID(struct buckets) buckets, uint64_t i, TOID(struct entry) entry) {
  TX_ADD_FIELD(buckets, first[i]);
  D_RW(buckets)->first[i] = entry;
}

void take_buckets(TOID(struct set) set, TOID(struct buckets) buckets) {
  D_RW(set)->buckets = buckets;
}
