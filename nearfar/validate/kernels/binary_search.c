/* Binary search in a sorted array, with branches. */
#include "kernel.h"

const uint64_t kernel_operations = 150000;
const double kernel_accesses = 5;

static uint64_t n, *sorted;

void kernel_prepare(uint64_t bytes) {
  n = bytes / sizeof *sorted;
  sorted = kernel_take(n * sizeof *sorted);
  for (uint64_t i = 0; i < n; i++) sorted[i] = 3 * i;
}

static uint64_t asked(uint64_t operation) { return kernel_below(kernel_mix(~operation), 3 * n); }

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = first; i < first + count; i++) {
    const uint64_t key = asked(i);
    uint64_t low = 0, high = n; /* sorted[low] <= key < sorted[high] */
    while (high - low > 1) {
      const uint64_t middle = low + (high - low) / 2;
      if (sorted[middle] <= key)
        low = middle;
      else
        high = middle;
    }
    sum += low;
  }
  return sum;
}

uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = first; i < first + count; i++) sum += asked(i) / 3;
  return sum;
}
