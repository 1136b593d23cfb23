/* y = A x for a sparse matrix of SIZE rows with 16 entries each, in random columns of 8 x SIZE. */
#include "kernel.h"

enum { per_row = 16, columns_per_row = 8 };

static KEEP void multiply(const uint32_t* row_start, const uint32_t* column, const double* value,
                          const double* x, double* y, uint64_t rows) {
  for (uint64_t row = 0; row < rows; row++) {
    double sum = 0;
    for (uint32_t i = row_start[row]; i < row_start[row + 1]; i++) sum += value[i] * x[column[i]];
    y[row] = sum;
  }
}

int main(int count, char** words) {
  struct kernel kernel = kernel_arguments(count, words, 1 << 19, 3);
  const uint64_t rows = kernel.size;
  const uint64_t columns = rows * columns_per_row;
  uint32_t* row_start = kernel_allocate((rows + 1) * sizeof *row_start);
  uint32_t* column = kernel_allocate(rows * per_row * sizeof *column);
  double* value = kernel_allocate(rows * per_row * sizeof *value);
  double* x = kernel_allocate(columns * sizeof *x);
  double* y = kernel_allocate(rows * sizeof *y);
  uint64_t expected = 0;
  for (uint64_t row = 0; row <= rows; row++) row_start[row] = (uint32_t)(row * per_row);
  for (uint64_t i = 0; i < rows * per_row; i++) {
    column[i] = (uint32_t)(kernel_mix(i) % columns);
    value[i] = 1;
    expected += column[i];
  }
  for (uint64_t i = 0; i < columns; i++) x[i] = (double)i;
  kernel_begin(&kernel);
  for (uint64_t i = 0; i < kernel.repetitions; i++) multiply(row_start, column, value, x, y, rows);
  kernel_end(&kernel, (double)(rows * per_row * kernel.repetitions));
  uint64_t result = 0;
  for (uint64_t row = 0; row < rows; row++) result += (uint64_t)y[row];
  free(row_start);
  free(column);
  free(value);
  free(x);
  free(y);
  return kernel_check(&kernel, result, expected);
}
