/* Sorts pointers to records by the records' keys, merging from below: comparisons miss. */
#include "kernel.h"

const uint64_t kernel_operations = 200000;
const double kernel_accesses = 10;

struct record {
  uint64_t key;
  uint64_t other[7];
};

/* Number of pointers sorted at a time: their records are 6 MiB, spread over all memory. */
enum { block = 50000 };

static uint64_t n;
static struct record* records;
static struct record *kept[block], *spare[block];

void kernel_prepare(uint64_t bytes) {
  n = bytes / sizeof *records;
  records = kernel_take(n * sizeof *records);
  for (uint64_t i = 0; i < n; i++) records[i].key = kernel_mix(i);
}

static void merge(struct record** from, struct record** to, uint64_t low, uint64_t middle,
                  uint64_t high) {
  uint64_t left = low, right = middle;
  for (uint64_t out = low; out < high; out++)
    to[out] = right == high || (left < middle && from[left]->key <= from[right]->key)
                  ? from[left++]
                  : from[right++];
}

static struct record** sort(uint64_t first, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    kept[i] = &records[kernel_below(kernel_mix(~(first + i)), n)];
  struct record **from = kept, **to = spare;
  for (uint64_t width = 1; width < count; width *= 2) {
    for (uint64_t low = 0; low < count; low += 2 * width) {
      const uint64_t middle = low + width < count ? low + width : count;
      const uint64_t high = low + 2 * width < count ? low + 2 * width : count;
      merge(from, to, low, middle, high);
    }
    struct record** other = from;
    from = to;
    to = other;
  }
  return from;
}

/* How often neighbours are out of order, and the sum of the keys. */
uint64_t kernel_perform(uint64_t first, uint64_t count) {
  uint64_t found = 0;
  for (uint64_t at = 0; at < count; at += block) {
    const uint64_t part = count - at < block ? count - at : block;
    struct record** sorted = sort(first + at, part);
    for (uint64_t i = 1; i < part; i++) found += sorted[i - 1]->key > sorted[i]->key;
    for (uint64_t i = 0; i < part; i++) found += sorted[i]->key;
  }
  return found;
}

uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = first; i < first + count; i++)
    sum += kernel_mix(kernel_below(kernel_mix(~i), n));
  return sum;
}
