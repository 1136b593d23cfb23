/* Slow: the whole log is flushed for one entry. */
#include "log.h"

void append(struct log* log) {
  const uint32_t length = log->head.half.length;
  fill(&log->entries[length], length + 1);
  pmem_persist(&log->entries[length], sizeof(struct entry));
  if (length > 0) pmem_flush(log->padding, sizeof log->padding);
  if (length > 1) pmem_persist(&log->entries[0], sizeof(struct entry));
  log->head.whole = head_of(length + 1).whole;
  pmem_persist(&log->head, sizeof log->head);
}
