/* Distributes records by a key into 256 parts of an array: the step of a radix join or sort. */
#include <string.h>

#include "kernel.h"

const uint64_t kernel_operations = 6000000;
const double kernel_accesses = 0.5; /* sixteen bytes read and sixteen written, lines of 64 */

enum { parts = 256 };

struct record {
  uint64_t key;
  uint64_t value;
};

static uint64_t n, room, filled[parts], sums[parts];
static struct record *from, *to;

/* Each part has space for its expected records; a full part is overwritten from its beginning. */
void kernel_prepare(uint64_t bytes) {
  n = bytes / (2 * sizeof *from);
  room = (n / parts - 1) | 1; /* odd, so that parts do not begin in one set of a cache */
  from = kernel_take(n * sizeof *from);
  to = kernel_take(room * parts * sizeof *to);
  for (uint64_t i = 0; i < n; i++) from[i] = (struct record){kernel_mix(i), i};
  /* Parts that advance in step would collide in one bank of DRAM. So they start at different
   * places, as after a long run. */
  for (uint64_t part = 0; part < parts; part++)
    filled[part] = kernel_below(kernel_mix(~part), room);
}

static void distribute(uint64_t begin, uint64_t end) {
  for (uint64_t i = begin; i < end; i++) {
    const uint64_t part = from[i].key >> 56;
    to[part * room + filled[part]] = from[i];
    sums[part] += from[i].value;
    if (++filled[part] == room) filled[part] = 0;
  }
}

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  memset(sums, 0, sizeof sums);
  for (uint64_t begin = first % n; count > 0; begin = 0) {
    const uint64_t some = count < n - begin ? count : n - begin;
    distribute(begin, begin + some);
    count -= some;
  }
  return 0;
}

/* The last record of each part must belong to it, and the records moved must have the right sum. */
uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t wrong = 0, sum = 0;
  for (uint64_t part = 0; part < parts; part++) {
    sum += sums[part];
    const uint64_t last = filled[part] > 0 ? filled[part] - 1 : room - 1;
    const struct record* record = &to[part * room + last];
    wrong += record->key >> 56 != part || kernel_mix(record->value) != record->key;
  }
  for (uint64_t i = first; i < first + count; i++) sum -= i % n;
  return wrong + sum;
}
