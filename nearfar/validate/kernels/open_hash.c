/* Look-ups in a hash table with linear probing, half full; half of the keys are there. */
#include "kernel.h"

const uint64_t kernel_operations = 1000000;
const double kernel_accesses = 1;

struct entry {
  uint64_t key; /* 0: empty */
  uint64_t value;
};

static uint64_t slots, keys;
static struct entry* table;

static uint64_t key_of(uint64_t number) { return kernel_mix(number) | 1; }

static uint64_t slot_of(uint64_t key) { return kernel_below(key * 0xD6E8FEB86659FD93ull, slots); }

void kernel_prepare(uint64_t bytes) {
  slots = bytes / sizeof *table;
  keys = slots / 2;
  table = kernel_take(slots * sizeof *table);
  for (uint64_t i = 0; i < keys; i++) {
    const uint64_t key = key_of(i);
    uint64_t slot = slot_of(key);
    while (table[slot].key != 0) slot = slot + 1 == slots ? 0 : slot + 1;
    table[slot] = (struct entry){key, i};
  }
}

static uint64_t asked(uint64_t operation) { return kernel_below(kernel_mix(~operation), 2 * keys); }

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = first; i < first + count; i++) {
    const uint64_t key = key_of(asked(i));
    uint64_t slot = slot_of(key);
    while (table[slot].key != 0 && table[slot].key != key) slot = slot + 1 == slots ? 0 : slot + 1;
    if (table[slot].key == key) sum += table[slot].value;
  }
  return sum;
}

uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = first; i < first + count; i++) sum += asked(i) < keys ? asked(i) : 0;
  return sum;
}
