/* Joins rows on a string of 24 characters: hash, chain of row numbers, comparison of strings. */
#include <string.h>

#include "kernel.h"

const uint64_t kernel_operations = 400000;
const double kernel_accesses = 3;

enum { length = 24 };

struct row {
  char name[length];
  uint64_t amount;
};

static uint64_t n;
static struct row *inner, *outer;
static uint32_t *head, *next; /* row + 1; 0: none */

static void write_name(char* name, uint64_t number) {
  memset(name, 'a', length);
  for (int i = 0; i < 16; i++, number >>= 4) name[i + 4] = (char)('a' + (number & 15));
}

static uint64_t hash(const char* name) {
  uint64_t words[3], value = 0;
  memcpy(words, name, sizeof words);
  for (int i = 0; i < 3; i++) value = kernel_mix(value ^ words[i]);
  return kernel_below(value, n);
}

static uint64_t partner(uint64_t row) { return kernel_below(kernel_mix(~row), 2 * n); }

void kernel_prepare(uint64_t bytes) {
  n = bytes / (2 * sizeof(struct row) + 2 * sizeof(uint32_t));
  inner = kernel_take(n * sizeof *inner);
  outer = kernel_take(n * sizeof *outer);
  head = kernel_take(n * sizeof *head);
  next = kernel_take(n * sizeof *next);
  for (uint64_t i = 0; i < n; i++) {
    write_name(inner[i].name, i);
    inner[i].amount = i;
    write_name(outer[i].name, partner(i));
    const uint64_t bucket = hash(inner[i].name);
    next[i] = head[bucket];
    head[bucket] = (uint32_t)(i + 1);
  }
}

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = first; i < first + count; i++) {
    const struct row* row = &outer[i % n];
    uint32_t found = head[hash(row->name)];
    while (found != 0 && memcmp(inner[found - 1].name, row->name, length) != 0)
      found = next[found - 1];
    if (found != 0) sum += inner[found - 1].amount;
  }
  return sum;
}

uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = first; i < first + count; i++) sum += partner(i % n) < n ? partner(i % n) : 0;
  return sum;
}
