/* Two arrays, used one after the other, then the first again: phases that nobody marks. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { bytes = 8 << 20 };

__attribute__((noinline)) static uint64_t sweep(const uint64_t* array, int times) {
  uint64_t sum = 0;
  for (int t = 0; t < times; t++)
    for (uint64_t i = 0; i < bytes / 8; i++) sum += array[i] ^ (uint64_t)t;
  return sum;
}

__attribute__((noinline)) static uint64_t jump(const uint64_t* array, uint64_t times) {
  uint64_t at = 1, sum = 0;
  for (uint64_t i = 0; i < times; i++) {
    at = at * 6364136223846793005ull + 1442695040888963407ull;
    sum += array[(at >> 33) % (bytes / 8)];
  }
  return sum;
}

int main(void) {
  uint64_t* first = calloc(bytes, 1);
  uint64_t* second = calloc(bytes, 1);
  for (uint64_t i = 0; i < bytes / 8; i++) first[i] = second[i] = i;
  uint64_t sum = sweep(first, 150);
  sum += jump(second, 12000000);
  sum += sweep(first, 151);
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
