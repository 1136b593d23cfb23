/* Allocation-heavy work as programs do it: trees of small nodes that are built, walked and given
 * back (the binary-trees benchmark), and a table of strings of 8 to 135 bytes that are replaced at
 * random. With "wide", it goes through 128 MiB at random instead: many more pages than a TLB
 * holds. Checks its sums; prints CPU seconds. Sizes and counts are arguments of the time, not
 * of the pattern. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nearfar/mark.h"

struct tree {
  struct tree* left;
  struct tree* right;
  long value;
};

static struct tree* build(int depth) {
  struct tree* tree = malloc(sizeof *tree);
  if (!tree) abort();
  tree->left = tree->right = 0;
  tree->value = depth;
  if (depth > 0) {
    tree->left = build(depth - 1);
    tree->right = build(depth - 1);
  }
  return tree;
}

static long sum(const struct tree* tree) {
  return tree ? 1 + sum(tree->left) + sum(tree->right) : 0;
}

static void drop(struct tree* tree) {
  if (!tree) return;
  drop(tree->left);
  drop(tree->right);
  free(tree);
}

static unsigned long dice = 88172645463325252ull;
static unsigned long roll(void) {
  dice ^= dice << 13;
  dice ^= dice >> 7;
  return dice ^= dice << 17;
}

static long strings(size_t count, size_t rounds) {
  char** table = calloc(count, sizeof *table);
  long total = 0;
  for (size_t i = 0; i < rounds; ++i) {
    const unsigned long random = roll();
    char** slot = &table[random % count];
    const size_t size = 8 + (random >> 40) % 128;
    if (*slot) total += (*slot)[0];
    free(*slot);
    *slot = malloc(size);
    if (!*slot) abort();
    memset(*slot, (int)(size & 63), size);
  }
  for (size_t i = 0; i < count; ++i) free(table[i]);
  free(table);
  return total;
}

static long wide(size_t bytes, size_t touches) {
  unsigned char* table = malloc(bytes);
  if (!table) abort();
  memset(table, 1, bytes);
  long total = 0;
  for (size_t i = 0; i < touches; ++i) total += table[roll() % bytes];
  free(table);
  return total;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 10;
  if (argc > 2 && strcmp(argv[2], "wide") == 0) {
    const size_t touches = (size_t)rounds * 1000000;
    return wide((size_t)128 << 20, touches) != (long)touches;
  }
  const int phases = argc > 2;
  long nodes = 0;
  if (phases) NEARFAR_BEGIN("trees");
  for (int i = 0; i < rounds; ++i) {
    struct tree* tree = build(17);
    nodes += sum(tree);
    drop(tree);
  }
  if (phases) NEARFAR_END("trees", 0);
  if (phases) NEARFAR_BEGIN("strings");
  const long total = strings(100000, (size_t)rounds * 300000);
  if (phases) NEARFAR_END("strings", 0);
  if (nodes != rounds * ((1l << 18) - 1) || total == 0) return 1;
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  printf("%.6f\n", (double)t.tv_sec + (double)t.tv_nsec * 1e-9);
  return 0;
}
