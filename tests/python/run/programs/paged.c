// Two blocks; passes over the first, then over the second, with marks.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nearfar/mark.h"

enum { bytes = 24 << 20, page = 4096, passes = 6 };

static uint64_t seed = 88172645463325252u;

static uint64_t next(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  return seed ^= seed << 17;
}

// Half of each page does not repeat.
static char* fill(char* block) {
  for (size_t at = 0; at < bytes; at += sizeof seed) {
    const uint64_t value = (at & 2048) != 0 ? 0 : next();
    memcpy(block + at, &value, sizeof value);
  }
  return block;
}

__attribute__((noinline)) static char* make_first(void) { return fill(malloc(bytes)); }
__attribute__((noinline)) static char* make_second(void) { return fill(malloc(bytes)); }

static unsigned walk(const char* block) {
  unsigned sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    for (size_t at = 0; at < bytes; at += page) sum += (unsigned char)block[at];
  }
  return sum;
}

int main(void) {
  NEARFAR_BEGIN("fill");
  char* first = make_first();
  char* second = make_second();
  NEARFAR_END("fill", 1);
  NEARFAR_BEGIN("first");
  unsigned sum = walk(first);
  NEARFAR_END("first", passes);
  NEARFAR_BEGIN("second");
  sum += walk(second);
  NEARFAR_END("second", passes);
  printf("%u\n", sum);
  return 0;
}
