/* Sums SIZE columns of a table whose rows are 4160 bytes apart (a page and a line): each access
 * is a new line in a new page and set. REPETITIONS passes over 16384 rows. */
#include "kernel.h"

enum { row_bytes = 4160, rows = 16384 };

static KEEP uint64_t sum_column(const char* table, uint64_t column) {
  uint64_t sum = 0;
  for (uint64_t row = 0; row < rows; row++)
    sum += *(const uint64_t*)(table + row * row_bytes + column * sizeof(uint64_t));
  return sum;
}

int main(int count, char** words) {
  struct kernel kernel = kernel_arguments(count, words, 64, 2);
  const uint64_t columns = row_bytes / sizeof(uint64_t);
  char* table = kernel_allocate((uint64_t)rows * row_bytes);
  for (uint64_t i = 0; i < rows * columns; i++) ((uint64_t*)table)[i] = i % columns;
  uint64_t sum = 0;
  uint64_t expected = 0;
  kernel_begin(&kernel);
  for (uint64_t r = 0; r < kernel.repetitions; r++)
    for (uint64_t column = 0; column < kernel.size; column++)
      sum += sum_column(table, column * 8 % columns);
  kernel_end(&kernel, (double)(rows * kernel.size * kernel.repetitions));
  for (uint64_t column = 0; column < kernel.size; column++) expected += column * 8 % columns * rows;
  free(table);
  return kernel_check(&kernel, sum, expected * kernel.repetitions);
}
