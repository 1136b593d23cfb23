/* A hash table whose look-ups read 16 of an item's 96 bytes, and sometimes its value.
 *
 * With -DSPLIT the items are split as nearfar proposes: keys and chains in an array of their own.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t items = 300000;
static uint32_t buckets;

#ifdef SPLIT
struct item {
  uint64_t key;
  uint64_t next; /* index + 1; 0: the last one */
};
struct rest {
  char name[64];
  uint64_t value;
  uint64_t hits;
};
#define REST(i) rests[i]
static struct rest* rests;
#else
struct item {
  uint64_t key;
  uint64_t next;
  char name[64];
  uint64_t value;
  uint64_t hits;
};
#define REST(i) table[i]
#endif
static struct item* table;
static uint32_t* first;

static uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

static void insert(uint32_t i) {
  uint64_t const key = mixed(i);
  table[i].key = key;
  table[i].next = first[key % buckets];
  first[key % buckets] = i + 1;
  memset(REST(i).name, 'x', sizeof REST(i).name);
  REST(i).value = i;
}

static uint64_t find(uint64_t key) {
  for (uint64_t at = first[key % buckets]; at != 0; at = table[at - 1].next)
    if (table[at - 1].key == key) return at;
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1) items = (uint32_t)strtoul(argv[1], NULL, 10);
  buckets = items / 4;
  first = calloc(buckets, sizeof *first);
  table = calloc(items, sizeof *table);
#ifdef SPLIT
  rests = calloc(items, sizeof *rests);
#endif
  /* Neighbours in a chain are far apart. */
  for (uint32_t i = 0; i < items; ++i) insert((uint32_t)(i * 7919ull % items));
  uint64_t sum = 0;
  for (uint64_t i = 0; i < 2ull * items; ++i) {
    /* One in eight is there. */
    uint64_t const at = find(mixed(mixed(i) % (8ull * items)));
    if (at != 0) {
      sum += REST(at - 1).value;
      ++REST(at - 1).hits;
    }
  }
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
