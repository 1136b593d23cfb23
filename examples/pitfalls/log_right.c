/* Right: the entry is durable before the head counts it. */
#include "log.h"

void append(struct log* log) {
  const uint32_t length = log->head.half.length;
  fill(&log->entries[length], length + 1);
  pmem_persist(&log->entries[length], sizeof(struct entry));
  log->head.whole = head_of(length + 1).whole;
  pmem_persist(&log->head, sizeof log->head);
}
