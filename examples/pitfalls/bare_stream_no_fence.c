/* Wrong: a non-temporal store needs no flush, but a fence before the count is stored. */
#include "bare.h"

void append(struct bare_log* log) {
  const uint64_t length = log->length;
  _mm_stream_si64((long long*)&log->entries[length].value, (long long)length + 1);
  log->length = length + 1;
  flush_line(&log->length);
  _mm_sfence();
}
