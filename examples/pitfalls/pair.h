/* Two numbers of 8 bytes that must change together: shared by pair_*.c. `PROGRAM POOL N` changes
 * them N times; `PROGRAM POOL check` checks it. */
#ifndef PAIR_H
#define PAIR_H

#include <emmintrin.h>
#include <libpmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
  _Alignas(64) uint64_t from;
  uint64_t to; /* always from + 1 */
};
struct pairs {
  struct pair pairs[2];
  _Alignas(64) uint64_t current;
};

void change(struct pairs* all, uint64_t from); /* differs by program */

static inline void set(struct pair* pair, uint64_t from) {
  _mm_store_si128((__m128i*)pair, _mm_set_epi64x((long long)from + 1, (long long)from));
}

int main(int count, char** words) {
  if (count != 3) {
    fprintf(stderr, "usage: %s POOL CHANGES|check\n", words[0]);
    return 2;
  }
  size_t bytes = 0;
  struct pairs* all = pmem_map_file(words[1], sizeof *all, PMEM_FILE_CREATE, 0600, &bytes, NULL);
  if (all == NULL) {
    perror(words[1]);
    return 2;
  }
  if (strcmp(words[2], "check") == 0) {
    const struct pair* one = &all->pairs[all->current];
    if (one->from == 0 || one->to == one->from + 1) return 0;
    printf("from %d to %d\n", (int)one->from, (int)one->to);
    return 1;
  }
  for (uint64_t i = 0, n = strtoul(words[2], NULL, 10); i < n; ++i) change(all, i + 1);
  pmem_unmap(all, bytes);
  return 0;
}

#endif
