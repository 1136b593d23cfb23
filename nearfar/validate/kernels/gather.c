/* Sum of table[index[i]]: independent random reads, the index read in sequence. */
#include "kernel.h"

const uint64_t kernel_operations = 6000000;
const double kernel_accesses = 1;

static uint64_t n, *table;
static uint32_t* chosen;

void kernel_prepare(uint64_t bytes) {
  n = bytes / (sizeof *table + sizeof *chosen);
  table = kernel_take(n * sizeof *table);
  chosen = kernel_take(n * sizeof *chosen);
  for (uint64_t i = 0; i < n; i++) {
    table[i] = kernel_mix(i);
    chosen[i] = (uint32_t)kernel_below(kernel_mix(~i), n);
  }
}

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t from = first % n; count > 0; from = 0) {
    const uint64_t part = count < n - from ? count : n - from;
    for (uint64_t i = from; i < from + part; i++) sum += table[chosen[i]];
    count -= part;
  }
  return sum;
}

uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = first; i < first + count; i++)
    sum += kernel_mix(kernel_below(kernel_mix(~(i % n)), n));
  return sum;
}
