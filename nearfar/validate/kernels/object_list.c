/* Walks a linked list whose entries point to objects of two lines, both placed at random. */
#include "kernel.h"

const uint64_t kernel_operations = 300000;
const double kernel_accesses = 3;

struct object {
  uint64_t first;
  uint64_t between[14];
  uint64_t last;
};

struct entry {
  struct entry* next;
  struct object* object;
};

static uint64_t n;
static struct entry *entries, *at;
static uint32_t *entry_deck, *object_deck;

void kernel_prepare(uint64_t bytes) {
  n = bytes / (sizeof *entries + sizeof(struct object) + 2 * sizeof *entry_deck);
  entries = kernel_take(n * sizeof *entries);
  struct object* objects = kernel_take(n * sizeof *objects);
  entry_deck = kernel_take(n * sizeof *entry_deck);
  object_deck = kernel_take(n * sizeof *object_deck);
  kernel_shuffle(entry_deck, n);
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t other = kernel_below(kernel_mix(i), n);
    object_deck[i] = (uint32_t)other; /* some objects have several entries, some none */
    objects[i] = (struct object){.first = i, .last = 2 * i};
  }
  for (uint64_t i = 0; i < n; i++)
    entries[entry_deck[i]] =
        (struct entry){&entries[entry_deck[i + 1 == n ? 0 : i + 1]], &objects[object_deck[i]]};
  at = &entries[entry_deck[0]];
}

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  (void)first; /* it continues where the last run ended */
  struct entry* entry = at;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    sum += entry->object->first + entry->object->last;
    entry = entry->next;
  }
  at = entry;
  return sum;
}

uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = first; i < first + count; i++) sum += 3 * (uint64_t)object_deck[i % n];
  return sum;
}
