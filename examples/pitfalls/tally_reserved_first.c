/* Wrong: a place is reserved under the lock, but its entry is written later. Another thread may
 * persist a count that includes the missing entry. */
#include "tally.h"

static void append(struct tally* tally, uint64_t value) {
  pthread_mutex_lock(&lock);
  const uint64_t at = tally->length;
  tally->length = at + 1;
  pthread_mutex_unlock(&lock);
  tally->entries[at].value = value;
  pmem_persist(&tally->entries[at].value, sizeof value);
  pmem_persist(&tally->length, sizeof tally->length);
}
