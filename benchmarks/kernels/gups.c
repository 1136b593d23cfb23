/* Random read-modify-writes of a table of SIZE 8-byte words; REPETITIONS x SIZE/2 of them. */
#include "kernel.h"

static KEEP void update(uint64_t* table, uint64_t words, uint64_t updates) {
  for (uint64_t i = 0; i < updates; i++) {
    const uint64_t value = kernel_mix(i);
    table[value % words] ^= value;
  }
}

int main(int count, char** words) {
  struct kernel kernel = kernel_arguments(count, words, 16 << 20, 1);
  const uint64_t updates = kernel.size / 2;
  uint64_t* table = kernel_allocate(kernel.size * sizeof *table);
  for (uint64_t i = 0; i < kernel.size; i++) table[i] = i;
  kernel_begin(&kernel);
  for (uint64_t r = 0; r < kernel.repetitions; r++) update(table, kernel.size, updates);
  kernel_end(&kernel, (double)(updates * kernel.repetitions));
  /* An even number of equal updates undoes itself; an odd one is undone by one more. */
  if (kernel.repetitions % 2 == 1) update(table, kernel.size, updates);
  uint64_t right = 0;
  for (uint64_t i = 0; i < kernel.size; i++) right += table[i] == i;
  free(table);
  return kernel_check(&kernel, right, kernel.size);
}
