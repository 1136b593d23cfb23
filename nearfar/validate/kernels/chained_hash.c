/* Look-ups in a hash table of chains, one entry a bucket on average, entries placed at random. */
#include <stddef.h>

#include "kernel.h"

const uint64_t kernel_operations = 500000;
const double kernel_accesses = 2;

struct entry {
  struct entry* next;
  uint64_t key;
  uint64_t value;
  uint64_t other[3];
};

static uint64_t n;
static struct entry** buckets;

static uint64_t bucket_of(uint64_t key) { return kernel_below(kernel_mix(key), n); }

void kernel_prepare(uint64_t bytes) {
  n = bytes / (sizeof(struct entry) + sizeof *buckets + sizeof(uint32_t));
  buckets = kernel_take(n * sizeof *buckets);
  struct entry* entries = kernel_take(n * sizeof *entries);
  uint32_t* deck = kernel_take(n * sizeof *deck);
  kernel_shuffle(deck, n);
  for (uint64_t i = 0; i < n; i++) {
    struct entry* entry = &entries[deck[i]];
    struct entry** bucket = &buckets[bucket_of(i)];
    *entry = (struct entry){.next = *bucket, .key = i, .value = i ^ 0x55};
    *bucket = entry;
  }
}

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = first; i < first + count; i++) {
    const uint64_t key = kernel_below(kernel_mix(~i), n);
    const struct entry* entry = buckets[bucket_of(key)];
    while (entry != NULL && entry->key != key) entry = entry->next;
    if (entry != NULL) sum += entry->value;
  }
  return sum;
}

uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = first; i < first + count; i++) sum += kernel_below(kernel_mix(~i), n) ^ 0x55;
  return sum;
}
