/* Wrong: the entry is flushed under the lock, but its fence comes after the lock is released.
 * Another thread may make the count durable first. */
#include "tally.h"

static void append(struct tally* tally, uint64_t value) {
  pthread_mutex_lock(&lock);
  const uint64_t at = tally->length;
  tally->entries[at].value = value;
  pmem_flush(&tally->entries[at].value, sizeof value);
  tally->length = at + 1;
  pmem_flush(&tally->length, sizeof tally->length);
  pthread_mutex_unlock(&lock);
  pmem_drain();
}
