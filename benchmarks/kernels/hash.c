/* Look-ups in an open-addressing table of SIZE slots, 60 % full; REPETITIONS x SIZE/4 of them. */
#include "kernel.h"

struct slot {
  uint64_t key;
  uint64_t value;
};

static uint64_t place(uint64_t key) { return (key * 0x9E3779B97F4A7C15ull) >> 20; }

static KEEP uint64_t look_up_all(const struct slot* slots, uint64_t mask, uint64_t keys,
                                 uint64_t look_ups) {
  uint64_t sum = 0;
  uint64_t state = 12345;
  for (uint64_t i = 0; i < look_ups; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const uint64_t key = 1 + state % keys;
    for (uint64_t at = place(key);; at++) {
      const struct slot* slot = &slots[at & mask];
      if (slot->key == key) {
        sum += slot->value;
        break;
      }
      if (slot->key == 0) break;
    }
  }
  return sum;
}

int main(int count, char** words) {
  struct kernel kernel = kernel_arguments(count, words, 1 << 23, 1);
  uint64_t slots_count = 1;
  while (slots_count < kernel.size) slots_count *= 2;
  const uint64_t mask = slots_count - 1;
  const uint64_t keys = slots_count * 6 / 10;
  const uint64_t look_ups = slots_count / 4 * kernel.repetitions;
  struct slot* slots = kernel_allocate(slots_count * sizeof *slots);
  for (uint64_t i = 0; i < slots_count; i++) slots[i] = (struct slot){0, 0};
  for (uint64_t key = 1; key <= keys; key++) {
    uint64_t at = place(key);
    while (slots[at & mask].key != 0) at++;
    slots[at & mask] = (struct slot){key, key};
  }
  kernel_begin(&kernel);
  const uint64_t sum = look_up_all(slots, mask, keys, look_ups);
  kernel_end(&kernel, (double)look_ups);
  uint64_t expected = 0;
  uint64_t state = 12345;
  for (uint64_t i = 0; i < look_ups; i++) { /* every key is there, and is its own value */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    expected += 1 + state % keys;
  }
  free(slots);
  return kernel_check(&kernel, sum, expected);
}
