/* Wrong: entries and bytes change by two stores. They are in one line, but the line may be written
 * back between the two. */
#include "log.h"

void append(struct log* log) {
  const uint32_t length = log->head.half.length;
  fill(&log->entries[length], length + 1);
  pmem_persist(&log->entries[length], sizeof(struct entry));
  log->head.half.length = length + 1;
  log->head.half.bytes = (length + 1) * (uint32_t)sizeof(struct entry);
  pmem_persist(&log->head, sizeof log->head);
}
