/* Wrong: the lock is released before the entry is durable. */
#include "tally.h"

static void append(struct tally* tally, uint64_t value) {
  pthread_mutex_lock(&lock);
  const uint64_t at = tally->length;
  tally->entries[at].value = value;
  tally->length = at + 1;
  pthread_mutex_unlock(&lock);
  pmem_persist(&tally->entries[at].value, sizeof value);
  pmem_persist(&tally->length, sizeof tally->length);
}
