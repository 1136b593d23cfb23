/* Two structures on which nothing of the extrapolation was ever tuned, for its intervals.
 * growing_more skiplist|graph N */
#include <nearfar/mark.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 31) * 0x7FB5D329728EA185ull;
  x = (x ^ x >> 27) * 0x81DADEF4BC2DD44Dull;
  return x ^ x >> 33;
}

enum { levels = 20, degree = 8 };
struct tower {
  uint64_t key;
  int height;
  struct tower* next[];
};

/* Skip list: towers of random height, a look-up passes log n of them. */
static uint64_t skiplist(uint64_t n) {
  struct tower* head = calloc(1, sizeof *head + levels * sizeof head);
  uint64_t found = 0;
  NEARFAR_BEGIN("insert");
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t key = mix(i);
    const int height = 1 + __builtin_ctzll(mix(key) | 1ull << (levels - 1));
    struct tower* fresh = malloc(sizeof *fresh + (size_t)height * sizeof fresh);
    fresh->key = key;
    fresh->height = height;
    struct tower* at = head;
    for (int level = levels - 1; level >= 0; level--) {
      while (at->next[level] && at->next[level]->key < key) at = at->next[level];
      if (level < height) {
        fresh->next[level] = at->next[level];
        at->next[level] = fresh;
      }
    }
  }
  NEARFAR_END("insert", n);
  NEARFAR_BEGIN("get");
  for (uint64_t i = 0; i < 4 * n; i++) {
    const uint64_t key = mix(mix(i * 7 + 1) % n);
    struct tower* at = head;
    for (int level = levels - 1; level >= 0; level--)
      while (at->next[level] && at->next[level]->key < key) at = at->next[level];
    found += at->next[0] && at->next[0]->key == key;
  }
  NEARFAR_END("get", 4 * n);
  return found;
}

/* Rank flows along random edges: the edges in order, the ranks of their ends at random. */
static uint64_t graph(uint64_t n) {
  uint32_t* edges = malloc(n * degree * sizeof *edges);
  double *rank = malloc(n * 8), *next = malloc(n * 8);
  for (uint64_t i = 0; i < n * degree; i++) edges[i] = (uint32_t)(mix(i) % n);
  for (uint64_t i = 0; i < n; i++) rank[i] = 1.0;
  NEARFAR_BEGIN("rank");
  for (int round = 0; round < 4; round++) {
    for (uint64_t i = 0; i < n; i++) {
      double sum = 0;
      for (int j = 0; j < degree; j++) sum += rank[edges[i * degree + (uint64_t)j]];
      next[i] = 0.15 + 0.85 * sum / degree;
    }
    double* other = rank;
    rank = next;
    next = other;
  }
  NEARFAR_END("rank", 4 * n * degree);
  return (uint64_t)rank[n / 2];
}

int main(int count, char** words) {
  if (count != 1 && count != 3) return 2;
  const uint64_t n = count == 3 ? strtoull(words[2], NULL, 10) : 2000;
  const int is_graph = count == 3 && !strcmp(words[1], "graph");
  printf("%llu\n", (unsigned long long)(is_graph ? graph(n) : skiplist(n)));
  return 0;
}
