/* Right: the entry is durable before it is counted, and both happen under the lock. */
#include "tally.h"

static void append(struct tally* tally, uint64_t value) {
  pthread_mutex_lock(&lock);
  const uint64_t at = tally->length;
  tally->entries[at].value = value;
  pmem_persist(&tally->entries[at].value, sizeof value);
  tally->length = at + 1;
  pmem_persist(&tally->length, sizeof tally->length);
  pthread_mutex_unlock(&lock);
}
