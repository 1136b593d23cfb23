/* Wrong: the count is read and increased without the lock: one instruction, but not an atomic one.
 * Two threads may write one entry, or count one that no thread writes. */
#include "tally.h"

static void append(struct tally* tally, uint64_t value) {
  const uint64_t at = __atomic_load_n(&tally->length, __ATOMIC_RELAXED);
  tally->entries[at].value = value;
  pmem_persist(&tally->entries[at].value, sizeof value);
  __asm__ volatile("addq $1, %0" : "+m"(tally->length));
  pmem_persist(&tally->length, sizeof tally->length);
}
