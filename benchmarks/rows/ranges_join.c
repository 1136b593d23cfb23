/* A hash join without partitions: 2,000,000 rows of 16 bytes in a table of chains, probed by
 * 8,000,000 foreign keys, Zipf's law with exponent 1 over the order of the rows' keys, as of a
 * dimension whose old rows are referred to most; each match reads the row's 32 bytes of payload. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { rows = 2000000, probes = 8000000, buckets = 1 << 21 };

struct row {
  uint64_t key;
  int32_t next;
  int32_t payload;
};
struct payload {
  uint64_t words[4];
};

static uint64_t state = 88172645463325252ull;
static double random_unit(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) / 9007199254740992.0;
}

static uint32_t bucket_of(uint64_t key) {
  return (uint32_t)((key * 0x9E3779B97F4A7C15ull) >> 43) % buckets;
}

__attribute__((noinline)) static int32_t *make_buckets(void) {
  int32_t *heads = malloc(buckets * sizeof *heads);
  for (int i = 0; i < buckets; ++i) heads[i] = -1;
  return heads;
}
__attribute__((noinline)) static struct row *make_rows(void) {
  return malloc(rows * sizeof(struct row));
}
__attribute__((noinline)) static struct payload *make_payloads(void) {
  return malloc(rows * sizeof(struct payload));
}

int main(void) {
  int32_t *heads = make_buckets();
  struct row *table = make_rows();
  struct payload *payloads = make_payloads();
  for (int i = 0; i < rows; ++i) {
    const uint32_t at = bucket_of((uint64_t)i);
    table[i] = (struct row){(uint64_t)i, heads[at], i};
    heads[at] = i;
    for (int word = 0; word < 4; ++word) payloads[i].words[word] = (uint64_t)i + (uint64_t)word;
  }
  uint64_t sum = 0;
  const double last = log(rows);
  for (int i = 0; i < probes; ++i) {
    const uint64_t key = (uint64_t)exp(random_unit() * last) - 1;
    for (int32_t at = heads[bucket_of(key)]; at >= 0; at = table[at].next) {
      if (table[at].key != key) continue;
      const struct payload *match = &payloads[table[at].payload];
      sum += match->words[0] + match->words[3];
      break;
    }
  }
  printf("%llu\n", (unsigned long long)sum);
  free(heads);
  free(table);
  free(payloads);
  return 0;
}
