/* Words in chained blocks of their own: look-ups compare hashes; a hit reads the text. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t words = 500000;
static uint32_t buckets;

#ifdef SPLIT
struct rest {
  char text[80];
  uint64_t uses;
  uint64_t line;
};
struct word {
  struct word* next;
  uint64_t hash;
  struct rest* rest;
};
#define REST(w) (w)->rest
#else
struct word {
  struct word* next;
  uint64_t hash;
  char text[80];
  uint64_t uses;
  uint64_t line;
};
#define REST(w) (w)
#endif
static struct word** heads;

static uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

static void add(uint64_t hash, uint32_t line) {
  struct word* word = malloc(sizeof *word);
#ifdef SPLIT
  word->rest = malloc(sizeof *word->rest);
#endif
  word->hash = hash;
  word->next = heads[hash % buckets];
  heads[hash % buckets] = word;
  memset(REST(word)->text, 'w', sizeof REST(word)->text);
  REST(word)->uses = 0;
  REST(word)->line = line;
}

__attribute__((noinline)) static struct word* find(uint64_t hash) {
  for (struct word* word = heads[hash % buckets]; word; word = word->next)
    if (word->hash == hash) return word;
  return NULL;
}

int main(int argc, char** argv) {
  if (argc > 1) words = (uint32_t)strtoul(argv[1], NULL, 10);
  buckets = words / 6;
  heads = calloc(buckets, sizeof *heads);
  for (uint32_t i = 0; i < words; ++i) add(mixed(i), i);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < 2ull * words; ++i) {
    /* One in six is there. */
    struct word* const word = find(mixed(mixed(i + 77) % (6ull * words)));
    if (word) {
      ++REST(word)->uses;
      sum += REST(word)->line + (uint64_t)REST(word)->text[i % 80];
    }
  }
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
