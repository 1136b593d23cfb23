/* Wrong: both are flushed, but one fence is not enough: before it they go in any order. */
#include "log.h"

void append(struct log* log) {
  const uint32_t length = log->head.half.length;
  log->head.whole = head_of(length + 1).whole;
  pmem_flush(&log->head, sizeof log->head);
  fill(&log->entries[length], length + 1);
  pmem_flush(&log->entries[length], sizeof(struct entry));
  pmem_drain();
}
