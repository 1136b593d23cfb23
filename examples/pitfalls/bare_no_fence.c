/* Wrong: the entry is flushed, but no fence precedes the flush of the count. */
#include "bare.h"

void append(struct bare_log* log) {
  const uint64_t length = log->length;
  log->entries[length].value = length + 1;
  flush_line(&log->entries[length]);
  log->length = length + 1;
  flush_line(&log->length);
  _mm_sfence();
}
