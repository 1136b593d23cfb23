/* Two arrays of known size swept a known number of times: every miss can be told beforehand.
 * arrays HOT_KIB HOT_SWEEPS COLD_KIB COLD_SWEEPS */
#include <stdio.h>
#include <stdlib.h>

#include "by_hand.h"
#include "nearfar/mark.h"

#define NOINLINE __attribute__((noinline))

static void* xmalloc(size_t size) {
  void* block = aligned_alloc(4096, size);
  if (!block) abort();
  return block;
}
NOINLINE static long* make_hot(size_t bytes) { return xmalloc(bytes); }
NOINLINE static long* make_cold(size_t bytes) { return xmalloc(bytes); }

NOINLINE static void fill(long* array, size_t count) {
  for (size_t i = 0; i < count; ++i) STORE(array[i], (long)i);
}
NOINLINE static long sweep(long* array, size_t count, int times) {
  long sum = 0;
  while (times-- > 0)
    for (size_t i = 0; i < count; ++i) sum += LOAD(array[i], STREAM);
  return sum;
}

int main(int argc, char** argv) {
  const size_t hot = strtoul(argv[1], 0, 10) * 128, cold = strtoul(argv[3], 0, 10) * 128;
  long* h = make_hot(hot * 8);
  long* c = make_cold(cold * 8);
  NEARFAR_BEGIN("fill");
  fill(h, hot);
  fill(c, cold);
  NEARFAR_END("fill", hot + cold);
  NEARFAR_BEGIN("hot");
  long sum = sweep(h, hot, atoi(argv[2]));
  NEARFAR_END("hot", 1);
  NEARFAR_BEGIN("cold");
  sum += sweep(c, cold, atoi(argv[4]));
  NEARFAR_END("cold", 1);
  printf("%ld\n", sum);
  return argc != 5;
}
