/* Wrong: the entry is not flushed, so the head may reach memory without it. */
#include "log.h"

void append(struct log* log) {
  const uint32_t length = log->head.half.length;
  fill(&log->entries[length], length + 1);
  log->head.whole = head_of(length + 1).whole;
  pmem_persist(&log->head, sizeof log->head);
}
