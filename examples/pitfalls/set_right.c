/* Right: everything is in the log before it changes. */
#include "set.h"

void begin_with(TOID(struct buckets) buckets, uint64_t i, TOID(struct entry) entry) {
  TX_ADD_FIELD(buckets, first[i]);
  D_RW(buckets)->first[i] = entry;
}

void take_buckets(TOID(struct set) set, TOID(struct buckets) buckets) {
  TX_ADD_FIELD(set, buckets);
  D_RW(set)->buckets = buckets;
}
