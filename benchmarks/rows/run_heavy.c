/* Allocation-heavy work as programs do it: trees of small nodes that are built, walked and given
 * back (the binary-trees benchmark), and a table of strings of 8 to 135 bytes that are replaced at
 * random. Checks its sums.
 *
 *   heavy ROUNDS           trees, then strings; prints CPU seconds
 *   heavy turns [phases]   does each line of its input, such as "trees 4", and answers "done"
 *
 * In turns it keeps its tables, and "wide" goes through 128 MiB at random: many more pages than a
 * TLB holds. With "phases", what it does is a phase until it is told to do something else. */
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

static int trees(size_t rounds) {
  size_t nodes = 0;
  for (size_t i = 0; i < rounds; ++i) {
    struct tree* tree = build(17);
    nodes += (size_t)sum(tree);
    drop(tree);
  }
  return nodes == rounds * ((1ul << 18) - 1);
}

static unsigned long dice = 88172645463325252ull;
static unsigned long roll(void) {
  dice ^= dice << 13;
  dice ^= dice >> 7;
  return dice ^= dice << 17;
}

enum { STRINGS = 100000 };
static char** table;

static int strings(size_t rounds) {
  if (!table) table = calloc(STRINGS, sizeof *table);
  if (!table) abort();
  int right = 1;
  for (size_t i = 0; i < rounds; ++i) {
    const unsigned long random = roll();
    char** slot = &table[random % STRINGS];
    const size_t size = 8 + (random >> 40) % 128;
    /* All bytes of a string are alike. */
    if (*slot) right &= (*slot)[0] == (*slot)[7];
    free(*slot);
    *slot = malloc(size);
    if (!*slot) abort();
    memset(*slot, (int)(size & 63), size);
  }
  return right;
}

static void drop_strings(void) {
  for (size_t i = 0; i < STRINGS; ++i) free(table[i]);
  free(table);
}

enum { WIDE = 128 << 20 };

static int wide(size_t thousands) {
  static unsigned char* bytes;
  if (!bytes) {
    bytes = malloc(WIDE);
    if (!bytes) abort();
    memset(bytes, 1, WIDE);
  }
  size_t total = 0;
  for (size_t i = 0; i < 1000 * thousands; ++i) total += bytes[roll() % WIDE];
  return total == 1000 * thousands;
}

static int turns(int phases) {
  char now[16] = "", what[16];
  size_t count;
  while (scanf("%15s %zu", what, &count) == 2) {
    if (phases && strcmp(now, what) != 0) {
      strcpy(now, what);
      NEARFAR_BEGIN(now);
    }
    const int right = strcmp(what, "trees") == 0     ? trees(count)
                      : strcmp(what, "strings") == 0 ? strings(1000 * count)
                      : strcmp(what, "wide") == 0    ? wide(count)
                                                     : 0;
    if (!right) return 1;
    puts("done");
    fflush(stdout);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "turns") == 0) return turns(argc > 2);
  const size_t rounds = argc > 1 ? (size_t)atol(argv[1]) : 10;
  if (!trees(rounds) || !strings(rounds * 300000)) return 1;
  drop_strings();
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  printf("%.6f\n", (double)t.tv_sec + (double)t.tv_nsec * 1e-9);
  return 0;
}
