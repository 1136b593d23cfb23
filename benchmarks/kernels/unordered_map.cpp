// Look-ups in a std::unordered_map of SIZE keys, REPETITIONS x SIZE/2 of them.
#include <unordered_map>

#include "kernel.h"

static KEEP uint64_t look_up_all(const std::unordered_map<uint64_t, uint64_t>& map, uint64_t keys,
                                 uint64_t look_ups) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < look_ups; i++) {
    const auto found = map.find(kernel_mix(i) % keys);
    if (found != map.end()) sum += found->second;
  }
  return sum;
}

int main(int count, char** words) {
  kernel kernel = kernel_arguments(count, words, 1 << 21, 2);
  const uint64_t look_ups = kernel.size / 2 * kernel.repetitions;
  std::unordered_map<uint64_t, uint64_t> map;
  map.reserve(kernel.size);
  // Inserted in an order unlike the buckets', as in a map that has lived.
  for (uint64_t i = 0; i < kernel.size; i++) map[kernel_mix(i) % kernel.size] = 0;
  for (uint64_t i = 0; i < kernel.size; i++) map[i] = i;
  kernel_begin(&kernel);
  const uint64_t sum = look_up_all(map, kernel.size, look_ups);
  kernel_end(&kernel, (double)look_ups);
  uint64_t expected = 0;
  for (uint64_t i = 0; i < look_ups; i++) expected += kernel_mix(i) % kernel.size;
  return kernel_check(&kernel, sum, expected);
}
