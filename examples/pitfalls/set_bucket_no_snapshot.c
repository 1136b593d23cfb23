/* Wrong: the bucket changes in the transaction but is not in its log: after an abort it leads to a
 * freed entry. */
#include "set.h"

void begin_with(TOID(struct buckets) buckets, uint64_t i, TOID(struct entry) entry) {
  D_RW(buckets)->first[i] = entry;
}

void take_buckets(TOID(struct set) set, TOID(struct buckets) buckets) {
  TX_ADD_FIELD(set, buckets);
  D_RW(set)->buckets = buckets;
}
