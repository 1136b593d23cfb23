/* Wrong: one fence for both flushes: they reach memory in any order before it. */
#include "log.h"

void append(struct log* log) {
  const uint32_t length = log->head.half.length;
  log->head.whole = head_of(length + 1).whole;
  pmem_flush(&log->head, sizeof log->head);
  fill(&log->entries[length], length + 1);
  pmem_flush(&log->entries[length], sizeof(struct entry));
  pmem_drain();
}
