/* Merges two sorted arrays into a third, with branches. */
#include "kernel.h"

const uint64_t kernel_operations = 16000000;
const double kernel_accesses = 0.25; /* eight bytes read and eight written, lines of 64 */

static uint64_t n, *left, *right, *merged;

void kernel_prepare(uint64_t bytes) {
  n = bytes / (4 * sizeof *left);
  left = kernel_take(n * sizeof *left);
  right = kernel_take(n * sizeof *right);
  merged = kernel_take(2 * n * sizeof *merged);
  /* Each pair of places in the result has one number of either array, in an order that no branch
   * predictor can know. */
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t swapped = kernel_mix(i) & 1;
    left[i] = 2 * i + swapped;
    right[i] = 2 * i + !swapped;
  }
}

static void merge(uint64_t from, uint64_t pairs) {
  uint64_t l = from, r = from, out = 2 * from;
  const uint64_t to = from + pairs;
  while (l < to && r < to) {
    if (left[l] < right[r])
      merged[out++] = left[l++];
    else
      merged[out++] = right[r++];
  }
  while (l < to) merged[out++] = left[l++];
  while (r < to) merged[out++] = right[r++];
}

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  for (uint64_t from = first / 2 % n, left_over = count / 2; left_over > 0; from = 0) {
    const uint64_t part = left_over < n - from ? left_over : n - from;
    merge(from, part);
    left_over -= part;
  }
  return 0;
}

uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t wrong = 0;
  const uint64_t pairs = count / 2 < n ? count / 2 : n;
  for (uint64_t k = first / 2; k < first / 2 + pairs; k++)
    wrong += merged[2 * (k % n)] != 2 * (k % n) || merged[2 * (k % n) + 1] != 2 * (k % n) + 1;
  return wrong;
}
