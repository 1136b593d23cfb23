/* y = A x with eight entries in a row at random columns: streams of A, gathers of x. */
#include "kernel.h"

const uint64_t kernel_operations = 1000000;
const double kernel_accesses = 9;

enum { in_row = 8 };

static uint64_t rows, columns;
static double *value, *x, *y;
static uint32_t* column;

static double entry_of(uint64_t k) { return (double)(kernel_mix(k) & 15); }

static uint64_t column_of(uint64_t k) { return kernel_below(kernel_mix(~k), columns); }

/* x gets a third of the memory: more than a cache holds. */
void kernel_prepare(uint64_t bytes) {
  rows = bytes * 2 / 3 / (in_row * (sizeof *value + sizeof *column) + sizeof *y);
  columns = bytes / 3 / sizeof *x;
  value = kernel_take(rows * in_row * sizeof *value);
  column = kernel_take(rows * in_row * sizeof *column);
  x = kernel_take(columns * sizeof *x);
  y = kernel_take(rows * sizeof *y);
  for (uint64_t i = 0; i < columns; i++) x[i] = (double)(i & 255);
  for (uint64_t k = 0; k < rows * in_row; k++) {
    value[k] = entry_of(k);
    column[k] = (uint32_t)column_of(k);
  }
}

static double multiply(uint64_t from, uint64_t to) {
  double total = 0;
  for (uint64_t row = from; row < to; row++) {
    double sum = 0;
    for (uint64_t k = row * in_row; k < (row + 1) * in_row; k++) sum += value[k] * x[column[k]];
    y[row] = sum;
    total += sum;
  }
  return total;
}

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  double total = 0;
  for (uint64_t from = first % rows; count > 0; from = 0) {
    const uint64_t part = count < rows - from ? count : rows - from;
    total += multiply(from, from + part);
    count -= part;
  }
  return (uint64_t)total;
}

/* Whole numbers below 2^53 in any order: exact. */
uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t total = 0;
  for (uint64_t i = first; i < first + count; i++)
    for (uint64_t k = i % rows * in_row; k < (i % rows + 1) * in_row; k++)
      total += (kernel_mix(k) & 15) * (column[k] & 255);
  return total;
}
