/* Right, without any library: each entry is flushed and fenced before it is counted.
 * Compiled with `nearfar cc`, so that flushes and fences are visible. */
#include "bare.h"

void append(struct bare_log* log) {
  const uint64_t length = log->length;
  log->entries[length].value = length + 1;
  _mm_clflush(&log->entries[length]);
  _mm_sfence();
  log->length = length + 1;
  _mm_clflush((const void*)&log->length);
  _mm_sfence();
}
