// std::sort of SIZE 32-bit numbers, filled anew for each of REPETITIONS.
#include <algorithm>

#include "kernel.h"

static KEEP void sort(uint32_t* values, uint64_t size) { std::sort(values, values + size); }

int main(int count, char** words) {
  kernel kernel = kernel_arguments(count, words, 4 << 20, 1);
  auto* values = static_cast<uint32_t*>(kernel_allocate(kernel.size * sizeof(uint32_t)));
  uint64_t expected = 0;
  for (uint64_t i = 0; i < kernel.size; i++) {
    values[i] = static_cast<uint32_t>(kernel_mix(i));
    expected += values[i];
  }
  kernel_begin(&kernel);
  for (uint64_t r = 0; r < kernel.repetitions; r++) {
    for (uint64_t i = 0; i < kernel.size; i++) values[i] = static_cast<uint32_t>(kernel_mix(i + r));
    if (r + 1 == kernel.repetitions)  // the last fill is the one whose sum is known
      for (uint64_t i = 0; i < kernel.size; i++) values[i] = static_cast<uint32_t>(kernel_mix(i));
    sort(values, kernel.size);
  }
  kernel_end(&kernel, (double)(kernel.size * kernel.repetitions));
  uint64_t sum = values[0];
  for (uint64_t i = 1; i < kernel.size; i++) sum += values[i] >= values[i - 1] ? values[i] : 0;
  free(values);
  return kernel_check(&kernel, sum, expected);
}
