/* Wrong: the entry's line is flushed before the entry is stored. */
#include "bare.h"

void append(struct bare_log* log) {
  const uint64_t length = log->length;
  flush_line(&log->entries[length]);
  log->entries[length].value = length + 1;
  _mm_sfence();
  log->length = length + 1;
  flush_line(&log->length);
  _mm_sfence();
}
