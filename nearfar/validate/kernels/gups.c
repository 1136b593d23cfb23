/* table[random] += number: independent random updates, as in the HPC Challenge's RandomAccess. */
#include "kernel.h"

const uint64_t kernel_operations = 3000000;
const double kernel_accesses = 1;

static uint64_t n, *table, total;

void kernel_prepare(uint64_t bytes) {
  n = bytes / sizeof *table;
  table = kernel_take(n * sizeof *table);
  for (uint64_t i = 0; i < n; i++) {
    table[i] = i;
    total += i;
  }
}

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  for (uint64_t i = first; i < first + count; i++) table[kernel_below(kernel_mix(i), n)] += i;
  return 0;
}

/* Every update is in the table's sum. */
uint64_t kernel_expected(uint64_t first, uint64_t count) {
  for (uint64_t i = first; i < first + count; i++) total += i;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < n; i++) sum += table[i];
  return sum - total;
}
