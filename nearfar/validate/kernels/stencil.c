/* Each point of a plane becomes the mean of its four neighbours, from one plane to the other. */
#include "kernel.h"

const uint64_t kernel_operations = 32768000;
const double kernel_accesses = 0.25;

/* A row is 32 KiB: three of them stay in a second-level cache, not in a first-level one. */
enum { width = 4096 };

static uint64_t rows;
static double *now, *then;

void kernel_prepare(uint64_t bytes) {
  rows = bytes / (2 * width * sizeof *now);
  now = kernel_take(rows * width * sizeof *now);
  then = kernel_take(rows * width * sizeof *then);
  for (uint64_t i = 0; i < rows * width; i++) now[i] = (double)(kernel_mix(i) & 1023);
}

static double* row_of(double* plane, uint64_t number) {
  return plane + (1 + number % (rows - 2)) * width;
}

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  for (uint64_t row = first / width; row < (first + count) / width; row++) {
    const double* here = row_of(now, row);
    double* there = row_of(then, row);
    for (uint64_t i = 1; i + 1 < width; i++)
      there[i] = 0.25 * (here[i - 1] + here[i + 1] + here[i - width] + here[i + width]);
  }
  return 0;
}

/* Quarters of whole numbers: exact. One point in 61 is checked. */
uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t wrong = 0;
  for (uint64_t row = first / width; row < (first + count) / width; row++) {
    const uint64_t at = (1 + row % (rows - 2)) * width;
    for (uint64_t i = at + 1; i < at + width - 1; i += 61) {
      const uint64_t sum = (kernel_mix(i - 1) & 1023) + (kernel_mix(i + 1) & 1023) +
                           (kernel_mix(i - width) & 1023) + (kernel_mix(i + width) & 1023);
      wrong += then[i] != 0.25 * (double)sum;
    }
  }
  return wrong;
}
