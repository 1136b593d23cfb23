/* sum of table[index[i]]: SIZE independent random reads of a table of 8 x SIZE bytes a time. */
#include "kernel.h"

static KEEP uint64_t gather(const uint64_t* table, const uint32_t* index, uint64_t n) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < n; i++) sum += table[index[i]];
  return sum;
}

int main(int count, char** words) {
  struct kernel kernel = kernel_arguments(count, words, 8 << 20, 2);
  const uint64_t n = kernel.size;
  uint64_t* table = kernel_allocate(n * sizeof *table);
  uint32_t* index = kernel_allocate(n * sizeof *index);
  uint64_t expected = 0;
  for (uint64_t i = 0; i < n; i++) {
    table[i] = i;
    index[i] = (uint32_t)(kernel_mix(i) % n);
    expected += index[i];
  }
  uint64_t sum = 0;
  kernel_begin(&kernel);
  for (uint64_t r = 0; r < kernel.repetitions; r++) sum += gather(table, index, n);
  kernel_end(&kernel, (double)(n * kernel.repetitions));
  free(table);
  free(index);
  return kernel_check(&kernel, sum, expected * kernel.repetitions);
}
