/* Wrong: the line that is flushed is the next entry's. */
#include "bare.h"

void append(struct bare_log* log) {
  const uint64_t length = log->length;
  log->entries[length].value = length + 1;
  flush_line(&log->entries[length] + 1);
  _mm_sfence();
  log->length = length + 1;
  flush_line(&log->length);
  _mm_sfence();
}
